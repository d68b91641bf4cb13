#include "oracle/ownership_check.h"

#include <fmt/format.h>

#include "oracle/access_text.h"

namespace assay {
namespace {

// Group and row of the byte that was read against those of the byte that was meant; scales only.
std::string_view OwnerClass(const CaseContext& context, const AccessFault& fault) {
  const auto tensor = ParseWeightTensor(fault.tensor);
  if (!tensor || !tensor->scales || fault.weight.row < 0) return "wrong_owner";
  const auto shape = ShapeOfScales(*tensor, context.layer.problem);
  if (!shape || fault.byte < 0 || fault.byte >= shape->Bytes()) return "wrong_owner";
  const std::int64_t scale = fault.byte / shape->width;
  const bool row = shape->RowOf(scale) == fault.weight.row / shape->band * shape->band;
  const bool group = shape->GroupOf(scale) == fault.weight.column / shape->group;
  if (row) return "wrong_group";
  return group ? "wrong_row" : "wrong_row_and_group";
}

Finding OwnerFinding(const CaseContext& context, const AccessReport& report) {
  const AccessFault& first = report.totals.first;
  Finding finding = NewFinding(context, "ownership", OwnerClass(context, first), first.kernel);
  const std::string meant = MeantText(context, first);
  const std::string read = OwnerText(context, first.tensor, first.byte);
  finding.summary = fmt::format("{} reads {} for another weight: meant {}, read {}, {} accesses",
                                first.kernel, first.tensor, meant, read, report.totals.count);
  AddEvidence(finding, "tensor", first.tensor);
  AddEvidence(finding, "byte", fmt::to_string(first.byte));
  AddEvidence(finding, "extent", fmt::to_string(first.extent));
  AddEvidence(finding, "meant", meant);
  AddEvidence(finding, "read", read);
  AddEvidence(finding, "for_weight",
              fmt::format("row {} column {}", first.weight.row, first.weight.column));
  if (first.owner_byte >= 0) AddEvidence(finding, "owner_byte", fmt::to_string(first.owner_byte));
  AddAccess(finding, report);
  return finding;
}

Finding UnroutedFinding(const CaseContext& context, const AccessReport& report) {
  const AccessFault& first = report.totals.first;
  Finding finding = NewFinding(context, "ownership", "unrouted_expert", first.kernel);
  finding.summary = fmt::format("{} reads {} of an expert that no token routes to, {} accesses",
                                first.kernel, first.tensor, report.totals.count);
  AddEvidence(finding, "tensor", first.tensor);
  AddEvidence(finding, "byte", fmt::to_string(LowestByte(report.totals)));
  AddEvidence(finding, "extent", fmt::to_string(first.extent));
  AddEvidence(finding, "read", OwnerText(context, first.tensor, first.byte));
  AddAccess(finding, report);
  return finding;
}

}  // namespace

std::vector<Finding> CheckOwners(const CaseContext& context, const RunRecord& run,
                                 const RunRecord* replay) {
  std::vector<Finding> findings;
  if (const auto report = ReportOf(AccessKind::kWrongOwner, run, replay))
    findings.push_back(OwnerFinding(context, *report));
  if (const auto report = ReportOf(AccessKind::kUnrouted, run, replay))
    findings.push_back(UnroutedFinding(context, *report));
  return findings;
}

}  // namespace assay
