#include "oracle/ledger_check.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "oracle/scale_map.h"

namespace assay {
namespace {

using MatrixKey = std::pair<Projection, int>;  // projection, expert

// One kind of difference between what was needed and what was read.
struct Difference {
  std::int64_t bytes = 0;
  std::set<std::string> tensors;
  std::string tensor, owner;  // of the first
  std::int64_t byte = -1, extent = 0, in_tensor = 0;

  // Scale `at` of `of`, each `width` bytes.
  void Add(const std::string& name, std::int64_t at, std::int64_t of, int width,
           const std::string& who) {
    if (byte < 0) {
      tensor = name, owner = who, byte = at * width, extent = of * width;
    }
    if (name == tensor) in_tensor += width;
    tensors.insert(name);
    bytes += width;
  }
};

// All copies of one matrix's scales that the run knows of.
struct Copies {
  std::vector<const ScaleReads*> reads;
};

class Ledger {
 public:
  Ledger(const CaseContext& context, const RunRecord& run) : context_(context), run_(run) {
    for (const ScaleReads& reads : run.scale_reads)
      copies_[{reads.projection, reads.expert}].reads.push_back(&reads);
  }

  LedgerResult Compare() {
    const std::set<int> needed = NeededExperts();
    for (const int expert : needed)
      for (const auto projection : {Projection::kGate, Projection::kUp, Projection::kDown})
        CompareNeeded({projection, expert});
    for (const auto& [key, copies] : copies_)
      if (!needed.contains(key.second)) CompareUnneeded(key, copies);
    return Result();
  }

 private:
  std::set<int> NeededExperts() const {
    std::set<int> needed;
    for (const std::uint32_t id : run_.ids)
      if (context_.layer.experts.contains(static_cast<int>(id)))
        needed.insert(static_cast<int>(id));
    if (context_.layer.shared) needed.insert(kSharedExpert);
    return needed;
  }

  // A tensor without a name of its own (nothing of it was ever read) lies as the layout says.
  std::optional<ScaleShape> Shape(const MatrixKey& key, const std::string& name) const {
    const Problem& problem = context_.layer.problem;
    const auto named = ParseWeightTensor(name);
    const bool transposed = named ? named->transposed : problem.layout != Layout::kRowMajor;
    return ShapeOfScales({key.first, key.second, true, transposed}, problem);
  }

  std::string Owner(const MatrixKey& key, const ScaleShape& shape, std::int64_t scale) const {
    return ScaleText({key.first, key.second, true, false}, shape, scale);
  }

  // A scale counts as read if any copy of it was: a layer with both layouts has two.
  void CompareNeeded(const MatrixKey& key) {
    const Copies& copies = copies_[key];
    const std::string name =
        copies.reads.empty()
            ? fmt::format("{} {} scales", ExpertName(key.second), ProjectionName(key.first))
            : copies.reads.front()->tensor;
    const auto shape = Shape(key, name);
    if (!shape) return;
    compared_ += shape->Bytes();
    if (copies.reads.size() == 1 && AllRead(copies.reads.front()->read, shape->Scales())) return;
    const std::vector<bool> read = ReadByLogicalScale(key, copies, *shape);
    for (std::int64_t scale = 0; scale < shape->Scales(); ++scale)
      if (!read[scale])
        never_.Add(name, scale, shape->Scales(), shape->width, Owner(key, *shape, scale));
  }

  static bool AllRead(const std::vector<std::uint8_t>& read, std::int64_t scales) {
    if (static_cast<std::int64_t>(read.size()) != scales) return false;
    std::int64_t count = 0;
    for (const std::uint8_t flag : read) count += flag != 0;
    return count == scales;
  }

  // Flags in the order of `shape`, from every copy.
  std::vector<bool> ReadByLogicalScale(const MatrixKey& key, const Copies& copies,
                                       const ScaleShape& shape) const {
    std::vector<bool> read(shape.Scales());
    for (const ScaleReads* copy : copies.reads) {
      const ScaleShape from = *Shape(key, copy->tensor);
      const auto scales = std::min<std::int64_t>(shape.Scales(), copy->read.size());
      for (std::int64_t scale = 0; scale < scales; ++scale)
        if (copy->read[scale])
          read[shape.placement.UnitOf({from.RowOf(scale), from.GroupOf(scale) * from.group})] =
              true;
    }
    return read;
  }

  void CompareUnneeded(const MatrixKey& key, const Copies& copies) {
    for (const ScaleReads* copy : copies.reads) {
      const auto extent = static_cast<std::int64_t>(copy->read.size());
      const auto shape = Shape(key, copy->tensor);
      const int width = shape ? shape->width : 1;
      compared_ += extent * width;
      for (std::int64_t scale = 0; scale < extent; ++scale)
        if (copy->read[scale])
          unneeded_.Add(copy->tensor, scale, extent, width,
                        shape && scale < shape->Scales() ? Owner(key, *shape, scale)
                                                         : ExpertName(key.second));
    }
  }

  LedgerResult Result() const {
    LedgerResult result{{}, compared_};
    if (never_.bytes > 0)
      result.findings.push_back(
          ToFinding(never_, "scale_never_read", "was never read, though a routed weight needs it"));
    if (unneeded_.bytes > 0)
      result.findings.push_back(
          ToFinding(unneeded_, "scale_not_needed", "was read, though no token routes to it"));
    return result;
  }

  Finding ToFinding(const Difference& difference, std::string_view error_class,
                    std::string_view what) const {
    Finding finding = NewFinding(context_, "ownership", error_class);
    finding.summary = fmt::format("scale byte {} of {} ({}) {}; {} such bytes in {} tensors",
                                  difference.byte, difference.tensor, difference.owner, what,
                                  difference.bytes, difference.tensors.size());
    AddEvidence(finding, "tensor", difference.tensor);
    AddEvidence(finding, "byte", fmt::to_string(difference.byte));
    AddEvidence(finding, "extent", fmt::to_string(difference.extent));
    AddEvidence(finding, "owner", difference.owner);
    AddEvidence(finding, "bytes_in_tensor", CountText(difference.in_tensor, difference.extent));
    AddEvidence(finding, "bytes_in_all", fmt::to_string(difference.bytes));
    AddEvidence(finding, "tensors", fmt::to_string(difference.tensors.size()));
    return finding;
  }

  const CaseContext& context_;
  const RunRecord& run_;
  std::map<MatrixKey, Copies> copies_;
  Difference never_, unneeded_;
  std::int64_t compared_ = 0;
};

}  // namespace

LedgerResult CheckLedger(const CaseContext& context, const RunRecord& run) {
  return Ledger(context, run).Compare();
}

}  // namespace assay
