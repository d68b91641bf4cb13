// A stream, and a step captured from it that can be launched again.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "gpu/cuda/cuda_memory.h"

namespace assay {

// Waits for the default stream and lets it wait, as a plain launch would.
class CudaStream {
 public:
  CudaStream() { CheckCuda(cudaStreamCreate(&stream_), "creating a stream"); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream() { cudaStreamDestroy(stream_); }

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class CudaGraph {
 public:
  // `step` launches on `stream` and does not wait. Relaxed: kernels may be loaded on the way.
  template <class Step>
  CudaGraph(cudaStream_t stream, const Step& step) : stream_(stream) {
    CheckCuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "begin of capture");
    try {
      step();
    } catch (...) {
      cudaStreamEndCapture(stream, &graph_);
      cudaGraphDestroy(graph_);
      throw;
    }
    CheckCuda(cudaStreamEndCapture(stream, &graph_), "end of capture");
    CheckCuda(cudaGraphInstantiate(&executable_, graph_, 0), "instantiation of the graph");
  }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  ~CudaGraph() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }

  void Launch() const {
    CheckCuda(cudaGraphLaunch(executable_, stream_), "launch of the graph");
    CheckCuda(cudaStreamSynchronize(stream_), "replay of the graph");
  }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace assay
