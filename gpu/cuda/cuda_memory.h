// Device memory that is freed, and CUDA errors as exceptions.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace assay {

// Throws EnvironmentError naming the error and what was being done; DeviceFault where a kernel made
// the GPU stop. The first DeviceFault of the process is the cause, later ones are its echo.
void CheckCuda(cudaError_t error, const char* doing);

class CudaMemory {
 public:
  CudaMemory() = default;
  explicit CudaMemory(std::size_t bytes) { Reserve(bytes); }
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;
  ~CudaMemory();

  void Reserve(std::size_t bytes);  // keeps no contents
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

void ReadCuda(void* to, const void* from, std::size_t bytes);   // to the host
void WriteCuda(void* to, const void* from, std::size_t bytes);  // from the host
// A name that a kernel gave: that of a tensor is the host's, one written in the kernel (shared
// memory) lies on the GPU and is fetched. Lives as long as the process.
const char* NameOnHost(const char* name);
int Devices();  // GPUs that this process sees
// Ranks take the GPUs in turn; this thread uses that of `rank`.
void UseDeviceOf(int rank);

}  // namespace assay
