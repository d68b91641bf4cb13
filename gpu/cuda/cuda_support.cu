#include <atomic>
#include <mutex>
#include <set>

#include "gpu/cuda/cuda_memory.h"
#include "gpu/cuda/cuda_support.h"
#include "gpu/run/device_fault.h"
#include "reference/error.h"

namespace assay {

namespace {

bool IsKernelsFault(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
    case cudaErrorLaunchTimeout:
      return true;
    default:
      return false;
  }
}

}  // namespace

void CheckCuda(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return;
  const std::string message = std::string("CUDA: ") + cudaGetErrorString(error) + " (" +
                              cudaGetErrorName(error) + ") in " + doing;
  static std::atomic<bool> dead = false;
  if (IsKernelsFault(error) && !dead.exchange(true)) throw DeviceFault(message, doing);
  throw EnvironmentError(dead ? message +
                                    ": a kernel of an earlier case stopped the GPU; run this "
                                    "case in another process"
                              : message);
}

CudaMemory::~CudaMemory() { cudaFree(data_); }

void CudaMemory::Reserve(std::size_t bytes) {
  if (bytes <= bytes_) return;
  CheckCuda(cudaFree(data_), "freeing device memory");
  data_ = nullptr;
  bytes_ = 0;
  CheckCuda(cudaMalloc(reinterpret_cast<void**>(&data_), bytes), "allocating device memory");
  bytes_ = bytes;
}

void ReadCuda(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) CheckCuda(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "download");
}

void WriteCuda(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) CheckCuda(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "upload");
}

const char* NameOnHost(const char* name) {
  cudaPointerAttributes where{};
  if (cudaPointerGetAttributes(&where, name) != cudaSuccess) cudaGetLastError();
  if (where.type != cudaMemoryTypeDevice) return name;
  constexpr std::size_t kMost = 64;
  std::string text;
  char letter = 0;
  do {
    ReadCuda(&letter, name + text.size(), 1);
    if (letter != 0) text += letter;
  } while (letter != 0 && text.size() < kMost);
  static std::mutex mutex;
  static std::set<std::string> kept;
  const std::lock_guard lock(mutex);
  return kept.insert(text).first->c_str();
}

int Devices() {
  int devices = 0;
  CheckCuda(cudaGetDeviceCount(&devices), "counting the GPUs");
  return devices;
}

void UseDeviceOf(int rank) { CheckCuda(cudaSetDevice(rank % Devices()), "choosing a GPU"); }

std::optional<std::string> CudaProblem() {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaSuccess && devices > 0) return std::nullopt;
  return std::string("device=cuda: no usable GPU (") +
         (error == cudaSuccess ? "no device" : cudaGetErrorString(error)) +
         "); check nvidia-smi, or use device=host";
}

std::string CudaName() {
  cudaDeviceProp properties;
  int driver = 0, runtime = 0;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return "no usable GPU";
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const auto version = [](int v) {
    return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10);
  };
  return std::string(properties.name) + ", driver API " + version(driver) + ", CUDA runtime " +
         version(runtime);
}

}  // namespace assay
