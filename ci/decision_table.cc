#include "ci/decision_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "ci/words.h"
#include "fuzz/case.h"
#include "gpu/run/data_rules.h"

namespace assay {
namespace {

constexpr int kRows[] = {1, 2, 3, 4, 8, 65};

Problem PlainProblem(Format format, Layout layout, int rows) {
  Problem problem;
  problem.rows = rows;
  problem.format = format;
  problem.layout = layout;
  return problem;
}

// What the path does where it does most: runs, or the answer at its own number of rows (the last
// rule that is not about rows).
std::string BestAnswer(PathId path, Format format, Layout layout) {
  std::string answer = "-";
  for (int rows : kRows) {
    const Landing landing = Land(path, PlainProblem(format, layout, rows));
    const Decision& first = landing.decisions.front();
    if (first.kind == Decision::Kind::kRuns) return "runs";
    // The text begins with the path, which has its own column.
    if (first.rule != "rows") answer = landing.ToText().substr(Token(path).size() + 1);
  }
  return answer;
}

using Change = void (*)(Problem&);

// One feature at a time, on top of a plain layer.
constexpr Change kChanges[] = {
    [](Problem&) {},
    [](Problem& p) { p.router = RouterKind::kSigmoidBias; },
    [](Problem& p) { p.router = RouterKind::kSqrtsoftplusBias; },
    [](Problem& p) { p.router = RouterKind::kSoftmaxBias, p.zero_experts = 2; },
    [](Problem& p) { p.router = RouterKind::kHash; },
    [](Problem& p) { p.router = RouterKind::kGroupedSigmoidBias; },
    [](Problem& p) { p.groups = p.groups_kept = 2; },
    [](Problem& p) {
      p.router = RouterKind::kGroupedSigmoidBias;
      p.experts = p.groups = p.groups_kept = 64;
    },
    [](Problem& p) { p.router = RouterKind::kTopkSoftmax; },
    [](Problem& p) { p.router = RouterKind::kSigmoidTop1; },
    [](Problem& p) { p.router = RouterKind::kSigmoidBias, p.fp32_gate = true; },
    [](Problem& p) { p.zero_experts = 2; },
    [](Problem& p) { p.gate_format = Format::kMxfp4; },
    [](Problem& p) { p.pre_expert_norm = true; },
    [](Problem& p) { p.expert_bias = true; },
    [](Problem& p) { p.router = RouterKind::kSigmoidTop1, p.top_k = 1; },
    [](Problem& p) { p.pre_norm = true; },
    [](Problem& p) { p.fp32_gate = true; },
    [](Problem& p) { p.gate_format = Format::kNvfp4; },
    [](Problem& p) { p.activation = Activation::kGeluTanh; },
    [](Problem& p) { p.limit = 7; },
    [](Problem& p) { p.shared = Format::kNvfp4; },
    [](Problem& p) { p.shared = Format::kMxfp4; },
    [](Problem& p) { p.shared = Format::kBf16; },
    [](Problem& p) { p.shared = p.format, p.shared_inter = 2 * p.inter; },
    [](Problem& p) { p.shared = p.format, p.shared_gate = SharedGate::kNone; },
    [](Problem& p) { p.lora = Lora::kFold; },
    [](Problem& p) { p.lora = Lora::kRefuse; },
    [](Problem& p) { p.ep = 2; },
    [](Problem& p) { p.graph = true; },
    [](Problem& p) { p.hidden += 8; },
    [](Problem& p) { p.inter += 8; },
    [](Problem& p) { p.experts = 1024; },
    [](Problem& p) { p.experts = 64, p.top_k = 33; }};

struct Rule {
  std::set<PathId> paths;
  std::string effect, example;
};

void Note(PathId path, const Problem& problem, std::map<std::string, Rule>& rules) {
  const Decision decision = Decide(path, problem);
  if (decision.kind == Decision::Kind::kRuns) return;
  Rule& rule = rules[decision.rule];
  rule.paths.insert(path);
  const std::string line = ToLine(Case{path, problem, Checks::kStandard, Device::kHost});
  if (!rule.example.empty() && rule.example.size() <= line.size()) return;
  rule.example = line;
  rule.effect = decision.kind == Decision::Kind::kRefuses
                    ? "refuses"
                    : fmt::format("goes to {}", Token(decision.to));
}

std::map<std::string, Rule> SweepRules() {
  std::map<std::string, Rule> rules;
  for (const PathId path : AllOf<PathId>()) {
    for (const Format format : AllOf<Format>()) {
      for (const Layout layout : AllOf<Layout>()) {
        for (int rows : kRows) {
          for (const Change change : kChanges) {
            Problem problem = PlainProblem(format, layout, rows);
            change(problem);
            if (!Impossible(problem)) Note(path, problem, rules);
          }
        }
      }
    }
  }
  return rules;
}

std::string PathsThatRun(Format format, Layout layout) {
  std::string paths;
  for (const PathId path : AllOf<PathId>()) {
    if (BestAnswer(path, format, layout) != "runs") continue;
    paths += (paths.empty() ? "" : " ") + std::string(Token(path));
  }
  return paths.empty() ? "-" : paths;
}

// Whether every cell of the row ends in a refusal for want of building.
bool IsNotBuilt(PathId path, Format format) {
  for (const Layout layout : AllOf<Layout>()) {
    if (BestAnswer(path, format, layout).find("refused (not_built") == std::string::npos)
      return false;
  }
  return true;
}

template <typename E>
bool HoldsForAll(const std::function<bool(E)>& holds) {
  const std::vector<E> all = AllOf<E>();
  return std::all_of(all.begin(), all.end(), holds);
}

// "5 formats not built yet: a b c d e", or nothing.
std::string Named(std::string_view what, const std::vector<std::string>& names) {
  return names.empty()
             ? ""
             : fmt::format("{} {} not built yet: {}\n", names.size(), what, fmt::join(names, " "));
}

}  // namespace

Table DecisionTable() {
  std::vector<std::string> header = {"path", "format"};
  for (const Layout layout : AllOf<Layout>()) header.emplace_back(Token(layout));
  Table table(header);
  for (const PathId path : AllOf<PathId>()) {
    for (const Format format : AllOf<Format>()) {
      std::vector<std::string> row = {std::string(Token(path)), std::string(Token(format))};
      for (const Layout layout : AllOf<Layout>()) {
        row.push_back(BestAnswer(path, format, layout));
      }
      if (!IsNotBuilt(path, format)) table.Add(row);
    }
  }
  return table;
}

std::string NotBuiltText() {
  std::vector<std::string> paths, formats;
  for (const PathId path : AllOf<PathId>()) {
    const auto lacks = [path](Format format) { return IsNotBuilt(path, format); };
    if (HoldsForAll<Format>(lacks)) paths.emplace_back(Token(path));
  }
  for (const Format format : AllOf<Format>()) {
    const auto lacks = [format](PathId path) { return IsNotBuilt(path, format); };
    if (HoldsForAll<PathId>(lacks)) formats.emplace_back(Token(format));
  }
  return Named("paths", paths) + Named("formats", formats);
}

Table RulesTable() {
  Table table({"rule", "paths", "the path", "for example"});
  for (const auto& [name, rule] : SweepRules()) {
    std::string paths;
    for (PathId path : rule.paths) paths += (paths.empty() ? "" : " ") + std::string(Token(path));
    table.Add({name, paths, rule.effect, rule.example});
  }
  for (const DataRule& rule : DataRules())
    table.Add({std::string(rule.rule), "all", "refuses by the data", std::string(rule.why)});
  return table;
}

Table FormatsTable() {
  std::vector<std::string> header = {"format"};
  for (const Layout layout : AllOf<Layout>())
    header.push_back("paths, " + std::string(Token(layout)));
  Table table(header);
  for (const Format format : AllOf<Format>()) {
    std::vector<std::string> row = {std::string(Token(format))};
    for (const Layout layout : AllOf<Layout>()) row.push_back(PathsThatRun(format, layout));
    table.Add(row);
  }
  return table;
}

}  // namespace assay
