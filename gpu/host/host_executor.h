// Runs kernels on the host: blocks over OpenMP threads, the threads of a block as fibers.
#pragma once

#include <memory>

#include "gpu/host/block_runner.h"

namespace assay {

class HostExecutor {
 public:
  explicit HostExecutor(int threads);

  template <class Kernel>
  LaunchReport Launch(const Kernel& kernel, const typename Kernel::Args& args) {
    const auto body = [&](HostContext& context) { kernel(context, args); };
    return LaunchBlocks(Kernel::Shape(args), {&body, &Call<decltype(body)>});
  }

 private:
  template <class Body>
  static void Call(const void* body, HostContext& context) {
    (*static_cast<const Body*>(body))(context);
  }
  LaunchReport LaunchBlocks(const LaunchShape& shape, ThreadBody body);
  LaunchReport RunParallel(const LaunchShape& shape, ThreadBody body, std::int64_t blocks);

  std::vector<std::unique_ptr<BlockRunner>> runners_;  // one per OpenMP thread
};

}  // namespace assay
