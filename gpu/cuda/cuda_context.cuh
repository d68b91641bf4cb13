// The Context of one thread on a GPU: thin wrappers, and the checked build's fault log.
#pragma once

#include "gpu/core/context.h"

namespace assay {

// Totals are exact; which faults of a kind are kept is chance. A ring for each kind, or the first
// ones of the commonest kind would crowd out the others.
struct CudaFaultLog {
  static constexpr int kKept = 64;
  unsigned long long total[kAccessKinds];
  Fault kept[kAccessKinds][kKept];
};

class CudaContext {
 public:
  __device__ explicit CudaContext(CudaFaultLog* log) : log_(log) {}

  __device__ Index3 Block() const {
    return {static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y),
            static_cast<int>(blockIdx.z)};
  }
  __device__ int Thread() const { return static_cast<int>(threadIdx.x); }
  __device__ void Barrier() const { __syncthreads(); }

  template <class T>
  __device__ T ShuffleXor(T value, int mask) const {
    return __shfl_xor_sync(~0u, value, mask);
  }
  __device__ float WarpSum(float value) const {
#pragma unroll
    for (int apart = kWarpSize / 2; apart > 0; apart /= 2) value += ShuffleXor(value, apart);
    return value;
  }

  __device__ void Mma(float (&c)[4], const std::uint32_t (&a)[4],
                      const std::uint32_t (&b)[2]) const {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }

  // What the launch granted, not what the kernel asks for: an overflow is then a named fault.
  template <class T>
  __device__ std::span<T> Shared(int count) {
    extern __shared__ __align__(16) std::byte shared[];
    const int begin = shared_end_;
    const int wanted = begin + count * static_cast<int>(sizeof(T));
    shared_end_ = wanted < GrantedShared() ? wanted : GrantedShared();
    return {reinterpret_cast<T*>(shared + begin),
            static_cast<std::size_t>(shared_end_ - begin) / sizeof(T)};
  }

  template <class T>
  __device__ T AtomicAdd(T* target, T value) const {
    return atomicAdd(target, value);
  }

  __device__ void Report(Fault fault) const {
    const int kind = static_cast<int>(fault.kind);
    const unsigned long long place = AtomicAdd(&log_->total[kind], 1ull);
    if (place >= CudaFaultLog::kKept) return;
    fault.block = Block();
    fault.thread = Thread();
    log_->kept[kind][place] = fault;
  }
  __device__ void NoteRead(std::uint8_t*, Index) const {}  // the ledger is the host executor's

 private:
  __device__ static int GrantedShared() {
    unsigned bytes;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    return static_cast<int>(bytes);
  }

  CudaFaultLog* log_;
  int shared_end_ = 0;
};

static_assert(Context<CudaContext>);

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads)
    RunKernel(const __grid_constant__ typename Kernel::Args args, CudaFaultLog* log) {
  CudaContext context(log);
  Kernel{}(context, args);
}

}  // namespace assay
