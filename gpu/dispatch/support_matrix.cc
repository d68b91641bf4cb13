#include "gpu/dispatch/support_matrix.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>

#include "gpu/dispatch/features.h"
#include "gpu/dispatch/guards.h"
#include "reference/tokens.h"

namespace assay {
namespace {

// Between them they lie on both sides of every path's bounds.
constexpr std::array kRows = {1, 2, 3, 4, 16, 17, 64, 65};
constexpr std::array kShared = {"none", "same", "nvfp4", "bf16"};

using Values = std::vector<std::string>;

template <class E>
Values TokenValues() {
  const auto tokens = Tokens<E>();
  return {tokens.begin(), tokens.end()};
}

std::vector<Values> MakeValues() {
  Values rows, features = {"plain"};
  for (const int count : kRows) rows.push_back(std::to_string(count));
  for (const Feature& feature : Features()) features.emplace_back(feature.name);
  return {rows,
          TokenValues<Format>(),
          TokenValues<Layout>(),
          Values(kShared.begin(), kShared.end()),
          TokenValues<RouterKind>(),
          features};
}

const std::vector<Values>& AllValues() {
  static const std::vector<Values> values = MakeValues();
  return values;
}

std::optional<Format> SharedOf(int choice, Format routed) {
  if (choice == 0) return std::nullopt;
  return choice == 1 ? routed : choice == 2 ? Format::kNvfp4 : Format::kBf16;
}

// Advances the last axis first; false after the last combination.
bool Next(std::vector<int>& point) {
  for (int axis = kSupportAxisCount - 1; axis >= 0; --axis) {
    if (++point[axis] < static_cast<int>(AllValues()[axis].size())) return true;
    point[axis] = 0;
  }
  return false;
}

std::string RuleText(const Guard& guard) {
  const bool refuses = guard.kind == Decision::Kind::kRefuses;
  return (refuses ? "refuses (" : "-> batched (") + std::string(guard.rule) + ")";
}

// The guards that decide: of the path, and of the one that it falls back to.
using Deciding = std::pair<const Guard*, const Guard*>;

Deciding DecidingGuards(PathId path, const Problem& problem) {
  const Guard* first = FirstGuard(path, problem);
  const bool falls = first != nullptr && first->kind == Decision::Kind::kFallsBack;
  return {first, falls ? FirstGuard(PathId::kBatched, problem) : nullptr};
}

std::string Text(const Deciding& guards) {
  if (guards.first == nullptr) return "runs";
  const std::string text = RuleText(*guards.first);
  return guards.second == nullptr ? text : text + ", " + RuleText(*guards.second);
}

// Splits a table of answers axis by axis and merges values that have the same sub-table.
class Boxes {
 public:
  Boxes(PathId path, std::vector<int> answers, Values texts)
      : path_(path), answers_(std::move(answers)), texts_(std::move(texts)) {}

  std::vector<SupportBox> Make() {
    Split(0, answers_, 1);
    return std::move(boxes_);
  }

 private:
  using Table = std::span<const int>;

  void Split(int axis, Table table, std::int64_t times) {
    if (std::equal(table.begin() + 1, table.end(), table.begin())) return Emit(table, times);
    const Values& values = AllValues()[axis];
    const std::size_t part = table.size() / values.size();
    const auto sub = [&](std::size_t i) { return table.subspan(i * part, part); };
    std::vector<bool> done(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (done[i]) continue;
      Values same;
      for (std::size_t j = i; j < values.size(); ++j)
        if (!done[j] && std::ranges::equal(sub(i), sub(j))) {
          done[j] = true;
          same.push_back(values[j]);
        }
      const auto count = static_cast<std::int64_t>(same.size());
      chosen_.push_back(same.size() == values.size() ? Values{} : std::move(same));
      Split(axis + 1, sub(i), times * count);
      chosen_.pop_back();
    }
  }

  void Emit(Table table, std::int64_t times) {
    SupportBox box{path_, chosen_, texts_[table.front()],
                   times * static_cast<std::int64_t>(table.size())};
    box.values.resize(kSupportAxisCount);
    boxes_.push_back(std::move(box));
  }

  PathId path_;
  std::vector<int> answers_;  // an index of texts_ each, in the order of Next()
  Values texts_;
  std::vector<Values> chosen_;
  std::vector<SupportBox> boxes_;
};

}  // namespace

std::string SupportAnswer(PathId path, const Problem& problem) {
  return Text(DecidingGuards(path, problem));
}

std::vector<SupportBox> SupportMatrix(PathId path, SupportDepth depth) {
  std::map<Deciding, int> numbers;
  Values texts;
  std::vector<int> answers;
  std::vector<int> point(kSupportAxisCount);
  do {
    Deciding guards = DecidingGuards(path, SupportProblem(point));
    if (depth == SupportDepth::kPath) guards.second = nullptr;
    const auto [at, added] = numbers.emplace(guards, static_cast<int>(texts.size()));
    if (added) texts.push_back(Text(guards));
    answers.push_back(at->second);
  } while (Next(point));
  return Boxes(path, std::move(answers), std::move(texts)).Make();
}

const std::vector<std::string>& SupportValues(int axis) { return AllValues()[axis]; }

Problem SupportProblem(const std::vector<int>& point) {
  Problem p;
  p.hidden = p.inter = 128;
  p.rows = kRows[point[0]];
  p.format = static_cast<Format>(point[1]);
  p.layout = static_cast<Layout>(point[2]);
  p.shared = SharedOf(point[3], p.format);
  p.router = static_cast<RouterKind>(point[4]);
  if (p.router == RouterKind::kSigmoidTop1) p.top_k = 1;
  if (point[5] > 0) Features()[point[5] - 1].set(p);
  return p;
}

std::int64_t SupportCombinations() {
  std::int64_t all = 1;
  for (const Values& values : AllValues()) all *= static_cast<std::int64_t>(values.size());
  return all;
}

}  // namespace assay
