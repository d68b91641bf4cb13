#include <map>
#include <mutex>
#include <string>

#include "reference/error.h"
#include "reference/exact_stages.h"
#include "reference/expected.h"
#include "reference/expert_parallel.h"
#include "reference/expert_stages.h"
#include "reference/fp32_error.h"
#include "reference/interval.h"
#include "reference/router_expected.h"
#include "reference/router_input.h"

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
  bool apart = false;  // added to the stored sum of those before
  int rank = 0;        // that computes it, under expert parallel
};

Term TermOf(float weight, const TokenResult& result) {
  const double w = weight;
  return {{w, w}, w, &result};
}

// What the identity experts make of each token: the input itself.
std::vector<TokenResult> IdentityResults(const Problem& p, const Eigen::MatrixXd& input) {
  std::vector<TokenResult> results(p.zero_experts > 0 ? p.rows : 0);
  for (std::size_t row = 0; row < results.size(); ++row)
    for (const double x : input.col(static_cast<Eigen::Index>(row))) {
      results[row].down.push_back({x, x});
      results[row].down_exact.push_back(x);
    }
  return results;
}

// The weight times the input, FP32, stored as BF16: what experts read where weights are on inputs.
double WeightedInput(double x, float weight) { return RoundToBf16(static_cast<float>(x) * weight); }

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

Contract ContractOf(const Problem& p, const Contract& contract) {
  Contract with_experts = contract;
  with_experts.expert = ExpertRuleFor(p);
  return with_experts;
}

void RequireShape(const Problem& p, const Selection& selection) {
  const auto slots = static_cast<std::size_t>(p.Slots());
  if (selection.ids.size() != slots || selection.weights.size() != slots)
    throw UsageError("selection: holds " + std::to_string(selection.ids.size()) + " ids and " +
                     std::to_string(selection.weights.size()) +
                     " weights; rows * top_k = " + std::to_string(slots) + " are needed");
  const std::size_t identity = selection.identity_weights.size();
  if (identity != 0 && (p.zero_experts == 0 || identity != std::size_t(p.rows)))
    throw UsageError("selection: holds " + std::to_string(identity) +
                     " identity weights; one for each row of a layer with zero_experts is needed");
}

}  // namespace

bool Interval::Holds(double value) const {
  if (std::isnan(value)) return nan || std::isnan(low);
  return low <= value && value <= high;
}

struct LayerReference::State {
  using Key = std::pair<int, int>;  // expert, column of the input

  const LayerData& layer;
  Contract contract, shared_contract;
  RouterExpected router;
  // Of rows; where weights are on inputs, of rows and then of slots; where experts have a norm of
  // their own, of rows and then of normed rows.
  ExpertInput input;
  std::vector<TokenResult> identity;
  ExpertMap ranks;
  // Results do not depend on routing weights, so a second path's selection finds most of them.
  std::mutex mutex;
  std::map<Key, TokenResult> cache;

  State(const LayerData& data, const PathContract& wanted, RouterExpected expected)
      : layer(data),
        contract(ContractOf(data.problem, wanted.routed)),
        shared_contract(ContractOf(data.problem, wanted.shared)),
        router(std::move(expected)),
        ranks(MapOf(data.problem)) {
    input.stored = input.exact = InputMatrix(layer);
    identity = IdentityResults(layer.problem, input.stored);
    if (layer.problem.pre_expert_norm) AddNormed();
  }

  void AddNormed() {
    const NormedInput normed = NormBeforeExperts(layer, contract.accumulate.order);
    const int rows = layer.problem.rows;
    for (Eigen::MatrixXd* matrix : {&input.stored, &input.exact})
      matrix->conservativeResize(Eigen::NoChange, 2 * rows);
    input.stored.rightCols(rows) = normed.center;
    input.exact.rightCols(rows) = normed.exact;
    input.radius = Eigen::MatrixXd::Zero(layer.problem.hidden, 2 * rows);
    input.radius.rightCols(rows) = normed.radius;
  }

  bool WeightsOnInput() const { return layer.problem.router == RouterKind::kSigmoidTop1; }
  int ColumnOf(int slot) const {
    const int row = slot / layer.problem.top_k;
    if (layer.problem.pre_expert_norm) return layer.problem.rows + row;
    return WeightsOnInput() ? layer.problem.rows + slot : row;
  }
  Eigen::Index RowOfColumn(Eigen::Index column) const {  // of those after the rows
    const Eigen::Index at = column - layer.problem.rows;
    return layer.problem.pre_expert_norm ? at : at / layer.problem.top_k;
  }
  double FactorOf(const Selection& s, int slot) const {
    return WeightsOnInput() ? 1 : s.weights[slot];
  }
  static bool IsNobody(const Selection& s, int slot) { return s.ids[slot] == kNoExpert; }
  // An id from `experts` on, or a slot whose weight went to the row's identity weight.
  bool IsIdentity(const Selection& s, int slot) const {
    if (IsNobody(s, slot)) return true;
    return s.ids[slot] >= unsigned(layer.problem.experts) ||
           (!s.identity_weights.empty() && s.ids[slot] == 0 && s.weights[slot] == 0);
  }

  const ExpertWeights& Weights(int expert) const {
    if (expert == kShared) return *layer.shared;
    const auto found = layer.experts.find(expert);
    if (found != layer.experts.end()) return found->second;
    throw UsageError("expert " + std::to_string(expert) +
                     ": not built for this layer, no admissible routing chooses it");
  }

  // Throws for experts that the layer lacks, before anything is computed.
  void RequireIds(const Selection& selection) const {
    const Problem& p = layer.problem;
    for (int slot = 0; slot < p.Slots(); ++slot)
      if (!IsNobody(selection, slot) &&
          (selection.ids[slot] >= unsigned(p.RouterOutputs()) || !IsIdentity(selection, slot)))
        Weights(static_cast<int>(selection.ids[slot]));
  }

  ExpertInput InputFor(const Selection& selection) const {
    if (!WeightsOnInput()) return input;
    const Problem& p = layer.problem;
    ExpertInput weighted = input;
    weighted.stored.conservativeResize(p.hidden, p.rows + p.Slots());
    weighted.exact.conservativeResize(p.hidden, p.rows + p.Slots());
    for (int slot = 0; slot < p.Slots(); ++slot)
      for (int i = 0; i < p.hidden; ++i) {
        const double x = input.stored(i, slot / p.top_k);
        weighted.stored(i, ColumnOf(slot)) = WeightedInput(x, selection.weights[slot]);
        weighted.exact(i, ColumnOf(slot)) = x * double{selection.weights[slot]};
      }
    return weighted;
  }

  // `row` has an adapter for routed experts alone.
  void Request(int expert, int column, int row, std::map<int, ExpertBatch>& missing) {
    if (cache.contains({expert, column})) return;
    ExpertBatch& batch = missing[expert];
    batch.weights = &Weights(expert);
    if (expert == kShared) batch.contract = &shared_contract;
    batch.columns.push_back(column);
    batch.results.push_back(&cache[{expert, column}]);
    batch.adapters.push_back(expert == kShared ? nullptr : layer.lora.AdapterOf(row));
  }

  void ComputeMissing(const Selection& selection) {
    const Problem& p = layer.problem;
    RequireIds(selection);
    if (WeightsOnInput())
      std::erase_if(cache, [&](const auto& entry) { return entry.first.second >= p.rows; });
    std::map<int, ExpertBatch> missing;
    for (int slot = 0; slot < p.Slots(); ++slot)
      if (!IsIdentity(selection, slot))
        Request(static_cast<int>(selection.ids[slot]), ColumnOf(slot), slot / p.top_k, missing);
    if (layer.shared)
      for (int row = 0; row < p.rows; ++row) Request(kShared, row, row, missing);
    std::vector<ExpertBatch> batches;
    for (auto& [expert, batch] : missing) batches.push_back(std::move(batch));
    EvaluateBatches(std::move(batches), InputFor(selection), {p.codes, contract});
  }

  // Column and factor of every use of every expert, by expert.
  std::vector<ExactBatch> ExactBatches(const Selection& selection) const {
    const Problem& p = layer.problem;
    std::map<int, ExactBatch> uses;
    const auto use = [&](int expert, int column, double factor) {
      ExactBatch& batch = uses[expert];
      batch.weights = &Weights(expert);
      batch.columns.push_back(column);
      batch.factors.push_back(factor);
    };
    for (int slot = 0; slot < p.Slots(); ++slot)
      if (!IsIdentity(selection, slot))
        use(static_cast<int>(selection.ids[slot]), ColumnOf(slot), FactorOf(selection, slot));
    if (layer.shared)
      for (int row = 0; row < p.rows; ++row)
        use(kShared, row, SharedFactor(layer, input.stored, row).weight_exact);
    std::vector<ExactBatch> batches;
    for (auto& [expert, batch] : uses) batches.push_back(std::move(batch));
    return batches;
  }

  // Sum of the weights of a row's identity experts.
  double IdentityWeight(const Selection& selection, int row) const {
    const Problem& p = layer.problem;
    double sum = selection.identity_weights.empty() ? 0.0 : selection.identity_weights[row];
    for (int slot = row * p.top_k; slot < (row + 1) * p.top_k; ++slot)
      if (IsIdentity(selection, slot)) sum += selection.weights[slot];
    return sum;
  }

  Eigen::MatrixXd Exact(const Selection& selection) const {
    const Problem& p = layer.problem;
    RequireIds(selection);
    const ExpertInput read = InputFor(selection);
    const Eigen::MatrixXd sums =
        ExactSum(ExactBatches(selection), read.exact, p.codes, contract.expert);
    Eigen::MatrixXd output = sums.leftCols(p.rows);
    for (Eigen::Index column = p.rows; column < sums.cols(); ++column)
      output.col(RowOfColumn(column)) += sums.col(column);
    if (p.zero_experts > 0)
      for (int row = 0; row < p.rows; ++row)
        output.col(row) += IdentityWeight(selection, row) * input.exact.col(row);
    return output;
  }

  // The terms of a row: routed and shared, then those of identity experts.
  std::vector<Term> Terms(const Selection& selection, int row) const {
    const int top_k = layer.problem.top_k;
    std::vector<Term> terms;
    for (int slot = row * top_k; slot < (row + 1) * top_k; ++slot)
      if (!IsIdentity(selection, slot)) {
        terms.push_back(
            TermOf(static_cast<float>(FactorOf(selection, slot)), ResultOf(selection, slot)));
        terms.back().rank = ranks.RankOf(static_cast<int>(selection.ids[slot]));
      }
    if (layer.shared) {
      terms.push_back(SharedFactor(layer, input.stored, row));
      terms.back().result = &cache.at({kShared, row});
      terms.back().apart = contract.blend == Blend::kTwoRoundings || layer.problem.ep > 1;
    }
    AddIdentityTerms(selection, row, terms);
    return terms;
  }

  const TokenResult& ResultOf(const Selection& selection, int slot) const {
    return cache.at({static_cast<int>(selection.ids[slot]), ColumnOf(slot)});
  }

  void AddIdentityTerms(const Selection& selection, int row, std::vector<Term>& terms) const {
    const int top_k = layer.problem.top_k;
    const auto add = [&](float weight) {
      terms.push_back(TermOf(weight, identity[row]));
      terms.back().apart = contract.identity_apart;
    };
    for (int slot = row * top_k; slot < (row + 1) * top_k; ++slot)
      if (IsIdentity(selection, slot) && !IsNobody(selection, slot) && selection.ids[slot] != 0)
        add(selection.weights[slot]);
    if (!selection.identity_weights.empty()) add(selection.identity_weights[row]);
  }

  void AppendOutput(const Selection& selection, int row, OutputExpected& out) const;
  void AppendStages(const Selection& selection, int row, StageExpected& stages) const;
};

namespace {

// The sum of the terms so far as stored: one term, a BF16 interval.
void StoreSoFar(std::size_t terms, Blended& b) {
  const double radius = AccumulationBound(Accumulation::kAnyOrder, {double(terms), b.magnitude});
  b.sum =
      StoredSum((b.sum.low + b.sum.high) / 2, (b.sum.high - b.sum.low) / 2 + radius, b.magnitude);
  b.magnitude = Largest(b.sum);
  b.unbounded |= !IsFinite(b.sum);
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

// Expert parallel: each rank stores its part, the all-reduce adds the parts in any order.
Blended Reduce(std::vector<Blended> parts, std::size_t terms) {
  Blended sum;
  std::vector<ReducedInterval> stored;
  for (Blended& part : parts) {
    StoreSoFar(terms, part);
    sum.exact += part.exact;
    sum.nan |= part.nan;
    sum.unbounded |= part.unbounded;
    stored.push_back({part.sum.low, part.sum.high});
  }
  const ReducedInterval reduced = AdmissibleSum(stored);
  sum.sum = {reduced.low, reduced.high};
  sum.magnitude = Largest(sum.sum);
  sum.unbounded |= !IsFinite(sum.sum);
  return sum;
}

// The routed terms by rank, then what comes apart: the shared expert, once.
void BlendRanks(const std::vector<Term>& terms, int ranks, std::size_t first, int hidden,
                OutputExpected& out) {
  for (int i = 0; i < hidden; ++i) {
    std::vector<Blended> parts(ranks);
    for (const Term& term : terms)
      if (!term.apart) parts[term.rank].Add(term, i);
    Blended blended = Reduce(std::move(parts), terms.size());
    for (const Term& term : terms)
      if (term.apart) blended.Add(term, i);
    StoreElement(blended, 2, first + i, out);
  }
}

void BlendRow(const std::vector<Term>& terms, std::size_t first, int hidden, OutputExpected& out) {
  for (int i = 0; i < hidden; ++i) {
    Blended blended;
    std::size_t summed = 0;
    for (const Term& term : terms) {
      if (term.apart) {
        StoreSoFar(summed, blended);
        summed = 1;
      }
      blended.Add(term, i);
      ++summed;
    }
    StoreElement(blended, summed, first + i, out);
  }
}

void Append(std::vector<Interval>& to, const std::vector<Interval>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Growing step by step would copy everything several times.
void ReserveStages(const Problem& p, StageExpected& stages) {
  const std::size_t slots = std::size_t(p.Slots()), shared = p.shared ? std::size_t(p.rows) : 0;
  for (std::vector<Interval>* stage : {&stages.gate, &stages.up, &stages.act})
    if (stage != &stages.gate || IsGated(p)) stage->reserve(slots * p.inter);
  stages.down.reserve(slots * p.hidden);
  stages.shared_gate.reserve(shared * p.SharedInter());
  stages.shared_up.reserve(shared * p.SharedInter());
  stages.shared_down.reserve(shared * p.hidden);
}

// A slot of an identity expert: whatever is left in it is nobody's.
void AppendNobodys(const Problem& p, StageExpected& stages) {
  if (IsGated(p)) stages.gate.insert(stages.gate.end(), p.inter, Anything());
  stages.up.insert(stages.up.end(), p.inter, Anything());
  stages.act.insert(stages.act.end(), p.inter, Anything());
  stages.down.insert(stages.down.end(), p.hidden, Anything());
}

}  // namespace

void LayerReference::State::AppendOutput(const Selection& selection, int row,
                                         OutputExpected& out) const {
  const Problem& p = layer.problem;
  const std::size_t first = std::size_t(row) * p.hidden;
  if (p.ep > 1)
    BlendRanks(Terms(selection, row), p.ep, first, p.hidden, out);
  else
    BlendRow(Terms(selection, row), first, p.hidden, out);
}

void LayerReference::State::AppendStages(const Selection& selection, int row,
                                         StageExpected& stages) const {
  const Problem& p = layer.problem;
  for (int slot = row * p.top_k; slot < (row + 1) * p.top_k; ++slot) {
    if (IsIdentity(selection, slot)) {
      AppendNobodys(p, stages);
      continue;
    }
    const TokenResult& result = ResultOf(selection, slot);
    Append(stages.gate, result.gate);
    Append(stages.up, result.up);
    Append(stages.act, result.act);
    Append(stages.down, result.down);
  }
  if (!layer.shared) return;
  const TokenResult& shared = cache.at({kShared, row});
  Append(stages.shared_gate, shared.gate);
  Append(stages.shared_up, shared.up);
  Append(stages.shared_down, shared.down);
}

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

LayerReference::LayerReference(const LayerData& layer, const PathContract& contract)
    : state_(new State(layer, contract, ExpectRouter(layer, RouterOrder(contract.routed)))) {}

LayerReference::~LayerReference() = default;

const RouterExpected& LayerReference::Router() const { return state_->router; }

std::vector<double> LayerReference::Exact(const Selection& selection) const {
  RequireShape(state_->layer.problem, selection);
  if (!state_->layer.lora.adapters.empty()) return Evaluate(selection).exact;
  const Eigen::MatrixXd output = state_->Exact(selection);
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
    state_->AppendOutput(selection, row, out);
    state_->AppendStages(selection, row, out.stages);
  }
  return out;
}

}  // namespace assay
