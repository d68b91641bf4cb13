#include <map>
#include <mutex>
#include <string>

#include "reference/error.h"
#include "reference/exact_stages.h"
#include "reference/expected.h"
#include "reference/expert_stages.h"
#include "reference/fp32_error.h"
#include "reference/interval.h"
#include "reference/router_expected.h"

namespace assay {
namespace {

constexpr int kShared = -1;

Eigen::MatrixXd InputMatrix(const LayerData& layer) {
  const Problem& p = layer.problem;
  Eigen::MatrixXd input(p.hidden, p.rows);
  for (int row = 0; row < p.rows; ++row)
    for (int i = 0; i < p.hidden; ++i)
      input(i, row) = Bf16ToFloat(layer.input[std::size_t(row) * p.hidden + i]);
  return input;
}

// A term of the blend: weight (a float as given, or the shared factor's interval) times down.
struct Term {
  Interval weight;
  double weight_exact = 0;
  const TokenResult* result = nullptr;
};

// One row's output under construction, per element.
struct Blended {
  double exact = 0;
  Interval sum;
  double magnitude = 0;
  bool nan = false, unbounded = false;

  void Add(const Term& term, int i) {
    const Interval& down = term.result->down[i];
    exact += term.weight_exact * term.result->down_exact[i];
    nan |= IsOnlyNan(down) || IsOnlyNan(term.weight);
    unbounded |= !IsFinite(down) || !IsFinite(term.weight);
    const Interval product = Product(term.weight, down);
    sum.low += product.low;
    sum.high += product.high;
    magnitude += Largest(term.weight) * Largest(down);
  }
};

// sigmoid of the shared gate's dot product with the raw input.
Term SharedFactor(const LayerData& layer, const Eigen::MatrixXd& input, int row) {
  if (layer.shared_gate.empty()) return {{1, 1}, 1};
  double dot = 0, magnitude = 0;
  for (Eigen::Index i = 0; i < input.rows(); ++i) {
    const double product = input(i, row) * Bf16ToFloat(layer.shared_gate[i]);
    dot += product;
    magnitude += std::fabs(product);
  }
  const double radius =
      AccumulationBound(Accumulation::kAnyOrder, {double(layer.problem.hidden), magnitude});
  const double low = dot - radius, high = dot + radius;
  return {{Sigmoid(low) - SigmoidError(low), Sigmoid(high) + SigmoidError(high)}, Sigmoid(dot)};
}

void RequireShape(const Problem& p, const Selection& selection) {
  const auto slots = static_cast<std::size_t>(p.Slots());
  if (selection.ids.size() != slots || selection.weights.size() != slots)
    throw UsageError("selection: holds " + std::to_string(selection.ids.size()) + " ids and " +
                     std::to_string(selection.weights.size()) +
                     " weights; rows * top_k = " + std::to_string(slots) + " are needed");
}

}  // namespace

bool Interval::Holds(double value) const {
  if (std::isnan(value)) return nan || std::isnan(low);
  return low <= value && value <= high;
}

struct LayerReference::State {
  using Key = std::pair<int, int>;  // expert, row

  const LayerData& layer;
  Contract contract;
  RouterExpected router;
  Eigen::MatrixXd input;
  // Results do not depend on routing weights, so a second path's selection finds most of them.
  std::mutex mutex;
  std::map<Key, TokenResult> cache;

  const ExpertWeights& Weights(int expert) const {
    if (expert == kShared) return *layer.shared;
    const auto found = layer.experts.find(expert);
    if (found != layer.experts.end()) return found->second;
    throw UsageError("expert " + std::to_string(expert) +
                     ": not built for this layer, no admissible routing chooses it");
  }

  void Request(int expert, int row, std::map<int, ExpertBatch>& missing) {
    if (cache.contains({expert, row})) return;
    ExpertBatch& batch = missing[expert];
    batch.weights = &Weights(expert);
    batch.rows.push_back(row);
    batch.results.push_back(&cache[{expert, row}]);
  }

  void ComputeMissing(const Selection& selection) {
    const Problem& p = layer.problem;
    for (const std::uint32_t id : selection.ids) Weights(static_cast<int>(id));  // throws first
    std::map<int, ExpertBatch> missing;
    for (int row = 0; row < p.rows; ++row) {
      for (int slot = 0; slot < p.top_k; ++slot)
        Request(static_cast<int>(selection.ids[row * p.top_k + slot]), row, missing);
      if (layer.shared) Request(kShared, row, missing);
    }
    std::vector<ExpertBatch> batches;
    for (auto& [expert, batch] : missing) batches.push_back(std::move(batch));
    EvaluateBatches(std::move(batches), input, {p.codes, contract});
  }

  // Row and factor of every use of every expert, by expert.
  std::vector<ExactBatch> ExactBatches(const Selection& selection) const {
    const Problem& p = layer.problem;
    std::map<int, ExactBatch> uses;
    const auto use = [&](int expert, int row, double factor) {
      ExactBatch& batch = uses[expert];
      batch.weights = &Weights(expert);
      batch.rows.push_back(row);
      batch.factors.push_back(factor);
    };
    for (int row = 0; row < p.rows; ++row) {
      for (int slot = row * p.top_k; slot < (row + 1) * p.top_k; ++slot)
        use(static_cast<int>(selection.ids[slot]), row, selection.weights[slot]);
      if (layer.shared) use(kShared, row, SharedFactor(layer, input, row).weight_exact);
    }
    std::vector<ExactBatch> batches;
    for (auto& [expert, batch] : uses) batches.push_back(std::move(batch));
    return batches;
  }

  std::vector<Term> Terms(const Selection& selection, int row) const {
    const int top_k = layer.problem.top_k;
    std::vector<Term> terms;
    for (int slot = row * top_k; slot < (row + 1) * top_k; ++slot) {
      const double w = selection.weights[slot];
      terms.push_back({{w, w}, w, &cache.at({static_cast<int>(selection.ids[slot]), row})});
    }
    if (!layer.shared) return terms;
    terms.push_back(SharedFactor(layer, input, row));
    terms.back().result = &cache.at({kShared, row});
    return terms;
  }
};

namespace {

// The routed sum as stored, then the shared term: two terms, the first a BF16 interval.
void StoreAgain(const Blended& routed, const Term& shared, std::size_t routed_terms, int i,
                Blended& both) {
  const double radius =
      AccumulationBound(Accumulation::kAnyOrder, {double(routed_terms), routed.magnitude});
  const Interval stored =
      StoredSum((routed.sum.low + routed.sum.high) / 2,
                (routed.sum.high - routed.sum.low) / 2 + radius, routed.magnitude);
  both = routed;
  both.sum = stored;
  both.magnitude = Largest(stored);
  both.unbounded |= !IsFinite(stored);
  both.Add(shared, i);
}

// Few terms: the order of the blend does not matter for the bound.
void StoreElement(const Blended& b, std::size_t terms, std::size_t at, OutputExpected& out) {
  out.exact[at] = b.exact;
  out.center[at] = (b.sum.low + b.sum.high) / 2;
  out.error[at] = (b.sum.high - b.sum.low) / 2 +
                  AccumulationBound(Accumulation::kAnyOrder, {double(terms), b.magnitude});
  out.stored[at] = b.nan         ? OnlyNan()
                   : b.unbounded ? Anything()
                                 : StoredSum(out.center[at], out.error[at], b.magnitude);
}

// `apart`: the last term is the shared one and is added to the stored sum of the others.
void BlendRow(const std::vector<Term>& terms, bool apart, std::size_t first, int hidden,
              OutputExpected& out) {
  const std::size_t together = terms.size() - (apart ? 1 : 0);
  for (int i = 0; i < hidden; ++i) {
    Blended blended;
    for (std::size_t t = 0; t < together; ++t) blended.Add(terms[t], i);
    if (apart) StoreAgain(Blended(blended), terms.back(), together, i, blended);
    StoreElement(blended, apart ? 2 : terms.size(), first + i, out);
  }
}

void Append(std::vector<Interval>& to, const std::vector<Interval>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Growing step by step would copy everything several times.
void ReserveStages(const Problem& p, StageExpected& stages) {
  const std::size_t slots = std::size_t(p.Slots()), shared = p.shared ? std::size_t(p.rows) : 0;
  for (std::vector<Interval>* stage : {&stages.gate, &stages.up, &stages.act})
    stage->reserve(slots * p.inter);
  stages.down.reserve(slots * p.hidden);
  stages.shared_gate.reserve(shared * p.SharedInter());
  stages.shared_up.reserve(shared * p.SharedInter());
  stages.shared_down.reserve(shared * p.hidden);
}

void AppendStages(const std::vector<Term>& terms, std::size_t top_k, StageExpected& stages) {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const bool routed = i < top_k;
    Append(routed ? stages.gate : stages.shared_gate, terms[i].result->gate);
    Append(routed ? stages.up : stages.shared_up, terms[i].result->up);
    if (routed) Append(stages.act, terms[i].result->act);
    Append(routed ? stages.down : stages.shared_down, terms[i].result->down);
  }
}

}  // namespace

namespace {

Contract ProductionWith(Accumulation order) {
  Contract contract;
  contract.accumulate.order = order;
  return contract;
}

// The router is an FP32 product of its own, whatever the experts' products run on.
Accumulation RouterOrder(const Contract& contract) {
  return contract.accumulate.block == 0 ? contract.accumulate.order : Accumulation::kAnyOrder;
}

}  // namespace

LayerReference::LayerReference(const LayerData& layer, Accumulation accumulation)
    : LayerReference(layer, ProductionWith(accumulation)) {}

LayerReference::LayerReference(const LayerData& layer, const Contract& contract)
    : state_(new State{layer,
                       contract,
                       ExpectRouter(layer, RouterOrder(contract)),
                       InputMatrix(layer),
                       {},
                       {}}) {}

LayerReference::~LayerReference() = default;

const RouterExpected& LayerReference::Router() const { return state_->router; }

std::vector<double> LayerReference::Exact(const Selection& selection) const {
  RequireShape(state_->layer.problem, selection);
  const Eigen::MatrixXd output = ExactSum(state_->ExactBatches(selection), state_->input,
                                          state_->layer.problem.codes, state_->contract.expert);
  return {output.data(), output.data() + output.size()};  // [hidden, rows] by column
}

OutputExpected LayerReference::Evaluate(const Selection& selection) const {
  const Problem& p = state_->layer.problem;
  RequireShape(p, selection);
  const std::lock_guard lock(state_->mutex);
  state_->ComputeMissing(selection);
  OutputExpected out;
  const std::size_t size = std::size_t(p.rows) * p.hidden;
  out.exact.resize(size);
  out.center.resize(size);
  out.error.resize(size);
  out.stored.resize(size);
  ReserveStages(p, out.stages);
  for (int row = 0; row < p.rows; ++row) {
    const std::vector<Term> terms = state_->Terms(selection, row);
    const bool apart = state_->contract.blend == Blend::kTwoRoundings && state_->layer.shared;
    BlendRow(terms, apart, std::size_t(row) * p.hidden, p.hidden, out);
    AppendStages(terms, p.top_k, out.stages);
  }
  return out;
}

}  // namespace assay
