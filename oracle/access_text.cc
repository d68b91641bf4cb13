#include "oracle/access_text.h"

#include <fmt/format.h>

namespace assay {
namespace {

struct PlacedTensor {
  WeightTensor tensor;
  ScaleShape shape;
};

std::optional<PlacedTensor> PlaceScales(const CaseContext& context, const std::string& name) {
  const auto tensor = ParseWeightTensor(name);
  if (!tensor || !tensor->scales) return std::nullopt;
  const auto shape = ShapeOfScales(*tensor, context.layer.problem);
  if (!shape) return std::nullopt;
  return PlacedTensor{*tensor, *shape};
}

// For tensors other than scales: the logical weight, and the byte that the layer's placement gives
// it.
std::string PlainMeantText(const AccessFault& fault) {
  const auto tensor = ParseWeightTensor(fault.tensor);
  const std::string who =
      tensor ? fmt::format("{} {} ", ExpertName(tensor->expert), ProjectionName(tensor->projection))
             : "";
  const std::string owner = fault.owner_byte >= 0 ? fmt::format(", byte {}", fault.owner_byte) : "";
  return fmt::format("{}row {} column {}{}", who, fault.weight.row, fault.weight.column, owner);
}

}  // namespace

std::optional<AccessReport> ReportOf(AccessKind kind, const RunRecord& run,
                                     const RunRecord* replay) {
  const KindTotals& own = run.faults[static_cast<int>(kind)];
  const KindTotals* details = replay ? &replay->faults[static_cast<int>(kind)] : nullptr;
  const bool from_replay = details != nullptr && details->count > 0;
  if (own.count == 0 && !from_replay) return std::nullopt;
  AccessReport report{from_replay ? *details : own, from_replay, own.count == 0};
  if (own.count > 0) report.totals.count = own.count;
  return report;
}

std::int64_t LowestByte(const KindTotals& totals) {
  return totals.lowest_byte >= 0 ? totals.lowest_byte : totals.first.byte;
}

std::string MeantText(const CaseContext& context, const AccessFault& fault) {
  if (fault.weight.row < 0) return "not said by the kernel";
  const auto placed = PlaceScales(context, fault.tensor);
  if (!placed) return PlainMeantText(fault);
  const std::int64_t scale = placed->shape.placement.UnitOf(fault.weight);
  if (fault.weight.row >= placed->shape.rows || scale >= placed->shape.Scales())
    return fmt::format("row {} column {}, which the tensor does not have", fault.weight.row,
                       fault.weight.column);
  return fmt::format("{}, byte {}", ScaleText(placed->tensor, placed->shape, scale),
                     scale * placed->shape.width);
}

std::string OwnerText(const CaseContext& context, const std::string& tensor, std::int64_t byte) {
  const auto placed = PlaceScales(context, tensor);
  if (!placed || byte < 0 || byte >= placed->shape.Bytes()) return fmt::format("byte {}", byte);
  return fmt::format("{}, byte {}",
                     ScaleText(placed->tensor, placed->shape, byte / placed->shape.width), byte);
}

void AddAccess(Finding& finding, const AccessReport& report) {
  const AccessFault& first = report.totals.first;
  if (first.rank > 0) AddEvidence(finding, "rank", fmt::to_string(first.rank));
  AddEvidence(finding, "block", BlockText(first.block));
  AddEvidence(finding, "thread", fmt::to_string(first.thread));
  if (first.line > 0)
    AddEvidence(finding, "source",
                fmt::format("{}{}{}", first.file, first.file.empty() ? "line " : ":", first.line));
  AddEvidence(finding, "accesses", fmt::to_string(report.totals.count));
  if (report.only_replay)
    AddEvidence(finding, "seen_by", "the host replay only");
  else if (report.from_replay)
    AddEvidence(finding, "seen_by", "the GPU (count) and the host replay (first access)");
}

}  // namespace assay
