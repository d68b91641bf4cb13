// What a kernel may ask of the machine that runs it. Kernels are templates over a Context; they are
// `constexpr` so that nvcc (--expt-relaxed-constexpr) compiles them for host and device unmarked.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "gpu/core/fault.h"

namespace assay {

inline constexpr int kWarpSize = 32;

struct LaunchShape {
  Index3 grid;
  int threads;  // per block; a multiple of kWarpSize
  int shared_bytes = 0;
};

template <class C>
concept Context = requires(C& context, float value, float* target, std::uint8_t* ledger,
                           const Fault& fault, float (&sums)[4], const std::uint32_t (&a)[4],
                           const std::uint32_t (&b)[2]) {
  { context.Block() } -> std::same_as<Index3>;
  { context.Thread() } -> std::same_as<int>;
  context.Barrier();
  { context.ShuffleXor(value, 1) } -> std::same_as<float>;
  { context.WarpSum(value) } -> std::same_as<float>;  // tree over lanes: 16, 8, 4, 2, 1
  // One lane's part of D = A B + C on tensor cores, m16n8k16, BF16 pairs, FP32 sums.
  context.Mma(sums, a, b);
  { context.template Shared<float>(1) } -> std::same_as<std::span<float>>;  // what was granted
  { context.AtomicAdd(target, value) } -> std::same_as<float>;
  context.Report(fault);               // fills in block and thread
  context.NoteRead(ledger, Index{0});  // marks a byte as read; ledger may be null
};

constexpr int CeilDiv(int a, int b) { return (a + b - 1) / b; }
// By value: std::min takes references, and a reference to a static constant has no address on a
// GPU (nvcc makes a trap of it).
constexpr int Least(int a, int b) { return b < a ? b : a; }

}  // namespace assay
