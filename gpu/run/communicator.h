// Joins the ranks of an expert-parallel step. Every rank calls the same operations in the same
// order.
#pragma once

#include <cstddef>

namespace assay {

struct Bf16;  // gpu/kernels/numeric.h

class Communicator {
 public:
  virtual ~Communicator() = default;
  // Adds the ranks' BF16 values element by element, rounding each addition to BF16 (the order of
  // the ranks is the implementation's); every rank ends with the same bits. `data` lies in the
  // executor's memory. Throws EnvironmentError if another rank gave up.
  virtual void AllReduce(Bf16* data, std::size_t count) = 0;
  // `bytes` of host memory, from rank 0 to all.
  virtual void Broadcast(void* data, std::size_t bytes) = 0;
};

// How a communicator reaches the executor's memory.
struct StagedMemory {
  void (*read)(void* to, const void* from, std::size_t bytes);   // to the host
  void (*write)(void* to, const void* from, std::size_t bytes);  // from the host
};

}  // namespace assay
