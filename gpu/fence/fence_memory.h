// Device memory in which every operand meets unmapped addresses: an access past its fence traps,
// whatever becomes of the value. CUDA's virtual-memory API; addresses are never used twice, so that
// a stale pointer traps as well.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <deque>
#include <map>
#include <vector>

#include "gpu/fence/fence_plan.h"

namespace assay {

// Throws EnvironmentError that names the driver's function and error.
class FenceMemory {
 public:
  static constexpr std::size_t kGuard = std::size_t{64} << 20;  // unmapped on both sides, at least

  FenceMemory();
  FenceMemory(const FenceMemory&) = delete;
  FenceMemory& operator=(const FenceMemory&) = delete;
  ~FenceMemory();

  struct Block {
    std::byte* data = nullptr;   // of the operand, as kernels address it
    std::byte* alias = nullptr;  // the same bytes, always writable
    std::byte* whole = nullptr;  // alias of all mapped bytes around it
    std::size_t mapped = 0;
  };
  // `bytes` at a fresh address, flush with `side`; read-only for kernels where asked. With `slack`
  // mapped memory lies on both sides instead of the fence.
  Block Map(std::size_t bytes, Side side, bool read_only, bool slack);
  // Waits for the GPU, then takes all blocks away: their addresses trap from now on.
  void Unmap();

 private:
  struct Handle {
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr alias = 0;
    std::size_t bytes = 0;
  };
  Handle& Take(std::size_t bytes);
  CUdeviceptr FreshAddress(std::size_t bytes);
  CUdeviceptr MapAt(CUdeviceptr address, const Handle& handle, bool read_only);

  std::size_t granularity_ = 0;
  CUdeviceptr reserved_ = 0, next_ = 0;
  std::deque<Handle> handles_;
  std::multimap<std::size_t, Handle*> free_;
  std::vector<Handle*> taken_;
  std::vector<std::pair<CUdeviceptr, std::size_t>> maps_;
};

}  // namespace assay
