#include "oracle/case_context.h"

#include <fmt/format.h>

#include <cmath>

#include "oracle/bf16_value.h"

namespace assay {

Finding NewFinding(const CaseContext& context, std::string_view check, std::string_view error_class,
                   std::string_view kernel) {
  Finding finding;
  finding.check = check;
  finding.path = Token(context.landing.landed);
  finding.kernel = kernel;
  finding.error_class = error_class;
  return finding;
}

void AddEvidence(Finding& finding, std::string_view key, std::string value) {
  finding.evidence.emplace_back(key, std::move(value));
}

std::string NumberText(double value) {
  return std::isnan(value) ? "NaN" : fmt::format("{}", value);
}

std::string IntervalText(const Interval& interval) {
  if (std::isnan(interval.low) || std::isnan(interval.high)) return "NaN only";
  return fmt::format("[{}, {}]{}", NumberText(interval.low), NumberText(interval.high),
                     interval.nan ? " or NaN" : "");
}

std::string Bf16Text(std::uint16_t bits) {
  return fmt::format("0x{:04x} ({})", bits, NumberText(ValueOfBf16(bits)));
}

std::string BlockText(const Dim3& block) {
  return fmt::format("({}, {}, {})", block.x, block.y, block.z);
}

std::string CountText(std::int64_t count, std::int64_t total) {
  return fmt::format("{} of {}", count, total);
}

}  // namespace assay
