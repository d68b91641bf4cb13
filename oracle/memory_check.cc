#include "oracle/memory_check.h"

#include <fmt/format.h>

#include "oracle/access_text.h"

namespace assay {
namespace {

std::string WhereOutside(std::int64_t byte, std::int64_t extent) {
  if (byte < 0) return fmt::format("{} bytes before the start", -byte);
  if (byte == extent) return "the first byte past the end";
  if (byte > extent) return fmt::format("{} bytes past the last", byte - extent + 1);
  return "inside the tensor, before the part that the launch was given";
}

Finding AccessFinding(const CaseContext& context, AccessKind kind, const AccessReport& report) {
  const bool read = kind == AccessKind::kReadOutside;
  const AccessFault& first = report.totals.first;
  const std::int64_t byte = LowestByte(report.totals);
  Finding finding =
      NewFinding(context, "memory", read ? "read_outside" : "write_outside", first.kernel);
  finding.summary = fmt::format("{} {} {} outside {}: lowest byte {}, extent {} bytes, {} accesses",
                                first.kernel, read ? "reads" : "writes",
                                first.bytes == 1 ? "1 byte" : fmt::format("{} bytes", first.bytes),
                                first.tensor, byte, first.extent, report.totals.count);
  AddEvidence(finding, "tensor", first.tensor);
  AddEvidence(finding, "byte", fmt::to_string(byte));
  AddEvidence(finding, "extent", fmt::to_string(first.extent));
  AddEvidence(finding, "where", WhereOutside(byte, first.extent));
  AddEvidence(finding, "meant", MeantText(context, first));
  AddEvidence(finding, read ? "read" : "written",
              fmt::format("byte {}, {}", first.byte, WhereOutside(first.byte, first.extent)));
  AddEvidence(finding, "access_bytes", fmt::to_string(first.bytes));
  AddAccess(finding, report);
  return finding;
}

Finding SyncFinding(const CaseContext& context, const SyncFaultInfo& fault, std::int64_t count) {
  Finding finding = NewFinding(context, "memory", fault.kind, fault.kernel);
  finding.summary =
      fmt::format("{}: {} at a barrier, line {}", fault.kernel, fault.kind, fault.line);
  AddEvidence(finding, "block", BlockText(fault.block));
  AddEvidence(finding, "thread", fmt::to_string(fault.thread));
  AddEvidence(finding, "line", fmt::to_string(fault.line));
  if (fault.other_line > 0) AddEvidence(finding, "other_line", fmt::to_string(fault.other_line));
  AddEvidence(finding, "faults", fmt::to_string(count));
  return finding;
}

// One finding for each kernel and kind; the first fault is the one shown.
void AddSyncFindings(const CaseContext& context, const std::vector<SyncFaultInfo>& faults,
                     std::vector<Finding>& findings) {
  const auto same = [](const SyncFaultInfo& a, const SyncFaultInfo& b) {
    return a.kernel == b.kernel && a.kind == b.kind;
  };
  for (std::size_t i = 0; i < faults.size(); ++i) {
    bool seen = false;
    std::int64_t count = 0;
    for (std::size_t j = 0; j < faults.size(); ++j) {
      if (!same(faults[i], faults[j])) continue;
      seen = seen || j < i;
      ++count;
    }
    if (!seen) findings.push_back(SyncFinding(context, faults[i], count));
  }
}

}  // namespace

std::vector<Finding> CheckMemory(const CaseContext& context, const RunRecord& run,
                                 const RunRecord* replay) {
  std::vector<Finding> findings;
  for (const auto kind : {AccessKind::kReadOutside, AccessKind::kWriteOutside})
    if (const auto report = ReportOf(kind, run, replay))
      findings.push_back(AccessFinding(context, kind, *report));
  const bool own = !run.sync_faults.empty() || replay == nullptr;
  AddSyncFindings(context, own ? run.sync_faults : replay->sync_faults, findings);
  return findings;
}

bool SafeUnchecked(const RunRecord& checked) {
  const auto count = [&](AccessKind kind) { return checked.faults[static_cast<int>(kind)].count; };
  return count(AccessKind::kReadOutside) == 0 && count(AccessKind::kWriteOutside) == 0 &&
         count(AccessKind::kUnrouted) == 0 && checked.sync_faults.empty();
}

}  // namespace assay
