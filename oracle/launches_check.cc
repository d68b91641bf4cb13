#include "oracle/launches_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace assay {
namespace {

std::string At(const std::vector<std::string>& names, std::size_t index) {
  return index < names.size() ? names[index] : "nothing";
}

// The first name that `names` holds more often than `others` does, with the index of the first
// launch in excess; size of `names` if there is none.
std::size_t FirstExcess(const std::vector<std::string>& names,
                        const std::vector<std::string>& others) {
  std::map<std::string_view, std::int64_t> left;
  for (const std::string& name : others) ++left[name];
  for (std::size_t i = 0; i < names.size(); ++i)
    if (--left[names[i]] < 0) return i;
  return names.size();
}

Finding ToFinding(const CaseContext& context, std::string_view error_class,
                  const std::string& kernel, const std::string& summary,
                  const std::vector<std::string>& expected, const std::vector<std::string>& got) {
  Finding finding = NewFinding(context, "launches", error_class, kernel);
  finding.summary = summary;
  const auto differ = std::mismatch(expected.begin(), expected.end(), got.begin(), got.end());
  const auto index = static_cast<std::size_t>(differ.first - expected.begin());
  AddEvidence(
      finding, "first_difference",
      fmt::format("launch {}: expected {}, got {}", index, At(expected, index), At(got, index)));
  AddEvidence(finding, "expected", fmt::format("{}", fmt::join(expected, " ")));
  AddEvidence(finding, "got", fmt::format("{}", fmt::join(got, " ")));
  return finding;
}

}  // namespace

std::vector<Finding> CheckLaunches(const CaseContext& context, const RunRecord& run,
                                   const std::vector<std::string>& expected) {
  std::vector<std::string> got;
  for (const LaunchInfo& launch : run.launches) got.push_back(launch.kernel);
  std::vector<Finding> findings;
  if (got == expected) return findings;
  const auto add = [&](std::string_view error_class, const std::string& kernel,
                       const std::string& summary) {
    findings.push_back(ToFinding(context, error_class, kernel, summary, expected, got));
  };
  const std::size_t extra = FirstExcess(got, expected), missing = FirstExcess(expected, got);
  if (extra < got.size())
    add("undeclared_kernel", got[extra],
        fmt::format("launch {} is {}, which the path does not declare there", extra, got[extra]));
  if (missing < expected.size())
    add("missing_kernel", expected[missing],
        fmt::format("{} was declared and not launched", expected[missing]));
  if (findings.empty()) add("wrong_order", "", "the declared kernels ran in another order");
  return findings;
}

std::vector<std::string> FoldedKernels(const RunRecord& run) {
  std::vector<std::string> names;
  for (const LaunchInfo& launch : run.launches)
    if (std::find(names.begin(), names.end(), launch.kernel) == names.end())
      names.push_back(launch.kernel);
  return names;
}

}  // namespace assay
