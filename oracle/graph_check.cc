#include "oracle/graph_check.h"

#include <fmt/format.h>

#include "oracle/same_bits.h"
#include "oracle/stage_check.h"

namespace assay {
namespace {

std::string StageOf(const std::string& tensor) {
  return tensor == "output" ? "blend" : "selection";
}

Finding ToFinding(const CaseContext& context, const RunRecord& graph, std::string_view error_class,
                  std::string_view what, const BitDifference& difference, std::string_view left,
                  std::string_view right) {
  Finding finding =
      NewFinding(context, "graph", error_class, KernelOf(graph, StageOf(difference.tensor)));
  finding.summary = fmt::format("{}: {} at {}: {} and {}; {} of {} elements", what,
                                difference.tensor, difference.where, difference.left,
                                difference.right, difference.count, difference.total);
  difference.AddTo(finding, left, right);
  return finding;
}

}  // namespace

std::vector<Finding> CheckGraph(const CaseContext& context, const RunRecord& graph,
                                const RunRecord& plain, const FreeOrder* free) {
  RunRecord first = graph;
  first.output = graph.first_replay;
  if (const auto difference = FirstDifference(context, first, graph, Compared::kResults, free))
    return {ToFinding(context, graph, "replays_differ", "two replays of the graph differ",
                      *difference, "first_replay", "second_replay")};
  if (const auto difference = FirstDifference(context, plain, graph, Compared::kResults, free))
    return {ToFinding(context, graph, "differs_from_plain",
                      "the replayed graph and the plain launches differ", *difference, "plain",
                      "replayed")};
  return {};
}

}  // namespace assay
