#include "oracle/run_shape.h"

#include <fmt/format.h>

#include <stdexcept>

namespace assay {
namespace {

void Require(std::string_view tensor, std::size_t got, std::int64_t expected) {
  if (static_cast<std::int64_t>(got) == expected) return;
  throw std::logic_error(
      fmt::format("the runner returned {} elements of {}, the problem has {}; "
                  "report this as a fault of the harness",
                  got, tensor, expected));
}

}  // namespace

void RequireShape(const Problem& problem, const RunRecord& run) {
  Require("output", run.output.size(), std::int64_t{problem.rows} * problem.hidden);
  Require("ids", run.ids.size(), problem.Slots());
  Require("weights", run.weights.size(), problem.Slots());
  if (!run.stages.logits.empty())
    Require("logits", run.stages.logits.size(),
            std::int64_t{problem.rows} * problem.RouterOutputs());
}

std::uint64_t OutputHash(const RunRecord& run) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](std::uint8_t byte) { hash = (hash ^ byte) * 0x100000001b3u; };
  for (const std::uint16_t bits : run.output) {
    add(static_cast<std::uint8_t>(bits & 0xFF));
    add(static_cast<std::uint8_t>(bits >> 8));
  }
  return hash;
}

}  // namespace assay
