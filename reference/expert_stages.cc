#include "reference/expert_stages.h"

#include <algorithm>
#include <span>
#include <utility>

#include "reference/contract_steps.h"
#include "reference/lora_fold.h"
#include "reference/tensor_core.h"

namespace assay {
namespace {

// A task takes some ten microseconds; waking threads for less than this costs more than it saves.
constexpr std::size_t kFewTasks = 64;

// Centre and radius of what a sum takes as operand. A radius of infinity makes every sum it enters
// unbounded; a NaN centre makes it NaN.
struct Ball {
  double center = 0, radius = 0;
};

Ball BallAround(const Interval& i) {
  if (IsOnlyNan(i)) return {i.low, 0};
  if (!IsFinite(i)) return {0, std::numeric_limits<double>::infinity()};
  return {(i.low + i.high) / 2, (i.high - i.low) / 2};
}

// One batch with the sums of its three products.
struct Work {
  ExpertBatch batch;
  StageRules rules;
  Operands input, activations;
  Fp32Operands input_fp32, activations_fp32;
  Sums gate, up, down;

  const PackedMatrix& Matrix(Projection p) const {
    return p == Projection::kGate ? batch.weights->gate
           : p == Projection::kUp ? batch.weights->up
                                  : batch.weights->down;
  }
  Sums& SumsOf(Projection p) {
    return p == Projection::kGate ? gate : p == Projection::kUp ? up : down;
  }
};

struct PanelTask {
  Work* work;
  Projection projection;
  int first, count;
};

void AddPanels(Work& work, Projection projection, const Operands& operands,
               std::vector<PanelTask>& tasks) {
  const PackedMatrix& matrix = work.Matrix(projection);
  work.SumsOf(projection).Resize(matrix.rows, operands);
  const int step = PanelRows(static_cast<int>(operands.production.cols()));
  for (int first = 0; first < matrix.rows; first += step)
    tasks.push_back({&work, projection, first, std::min(step, matrix.rows - first)});
}

void RunPanels(const std::vector<PanelTask>& tasks) {
#pragma omp parallel for schedule(dynamic) if (tasks.size() > kFewTasks)
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const PanelTask& t = tasks[i];
    const bool down = t.projection == Projection::kDown;
    MultiplyPanel(t.work->Matrix(t.projection), t.work->rules.codes,
                  down ? t.work->activations : t.work->input,
                  down ? t.work->activations_fp32 : t.work->input_fp32, t.first, t.count,
                  t.work->SumsOf(t.projection));
  }
}

bool InOrder(const Contract& contract) {
  return contract.accumulate.order == Accumulation::kChainOrLanes;
}
bool IsCoded(const ActivationCodes& codes) { return codes.element != CodeElement::kNone; }

// Columns of absolute: magnitudes of all tokens, then radii of all tokens.
void PutBalls(const std::vector<Interval>& values, Eigen::Index column, Operands& operands) {
  const Eigen::Index count = operands.production.cols();
  for (Eigen::Index i = 0; i < operands.production.rows(); ++i) {
    const Ball ball = BallAround(values[i]);
    operands.production(i, column) = ball.center;
    operands.absolute(i, column) = std::fabs(ball.center) + ball.radius;
    operands.absolute(i, count + column) = ball.radius;
  }
}

// The input as its codes mean it; their exact values stay beside.
void CodeInput(Work& work) {
  Eigen::MatrixXd& production = work.input.production;
  work.input.absolute.resize(production.rows(), 2 * production.cols());
  for (Eigen::Index column = 0; column < production.cols(); ++column) {
    std::vector<Interval> values;
    for (const double x : production.col(column)) values.push_back({x, x});
    QuantiseIntervals(work.rules.contract.input, values);
    PutBalls(values, column, work.input);
  }
}

// Columns of absolute: magnitudes of all tokens, then radii of all tokens.
void TakeRadius(const Eigen::MatrixXd& radius, Work& work) {
  const auto count = static_cast<Eigen::Index>(work.batch.columns.size());
  Eigen::MatrixXd absolute(radius.rows(), 2 * count);
  for (Eigen::Index i = 0; i < count; ++i) {
    absolute.col(count + i) = radius.col(work.batch.columns[i]);
    absolute.col(i) = work.input.absolute.col(i) + absolute.col(count + i);
  }
  work.input.absolute = std::move(absolute);
}

void TakeInput(Work& work, const ExpertInput& input) {
  const auto count = static_cast<Eigen::Index>(work.batch.columns.size());
  work.input.production.resize(input.stored.rows(), count);
  work.input.exact.resize(input.exact.rows(), count);
  for (Eigen::Index i = 0; i < count; ++i) {
    work.input.production.col(i) = input.stored.col(work.batch.columns[i]);
    work.input.exact.col(i) = input.exact.col(work.batch.columns[i]);
  }
  work.input.absolute = work.input.production.cwiseAbs();
  if (input.radius.size() > 0) TakeRadius(input.radius, work);
  work.input.want_partials = InOrder(work.rules.contract);
  if (IsCoded(work.rules.contract.input)) CodeInput(work);
  work.input.exact_is_production = work.input.production == work.input.exact;
}

double PartialsAt(const Sums& sums, Eigen::Index row, Eigen::Index column) {
  return sums.partials.size() > 0 ? sums.partials(row, column) : 0;
}

// One kind of product of a batch, as its results are stored.
struct ProductStore {
  AccumulateModel model;
  Store store = Store::kBf16;
  double terms = 0;
  int parts = 1;  // products for each pair of operands
  std::span<const std::uint16_t> bias = {};

  double BiasAt(Eigen::Index row) const {
    return bias.empty() ? 0.0 : Bf16ToFloat(bias[std::size_t(row)]);
  }
};

// One product as stored. The operands may lie anywhere in their balls: the sum moves by `spread` at
// most, and so does every partial sum. A bias is one more term, the first or the last.
Interval StoredProduct(const ProductStore& how, const Sums& sums, Eigen::Index row,
                       Eigen::Index column) {
  const Eigen::Index count = sums.production.cols();
  const double spread =
      sums.absolute.cols() > count ? sums.absolute(row, count + column) * kDoubleSlack : 0;
  // The low part of a pair adds 2^-8 of the high one.
  const double magnitude = sums.absolute(row, column) * (how.parts == 1 ? 1 : 1 + 0x1p-7);
  // Partial sums of the parts of pairs stray from those of the values by 2^-7 of the magnitudes.
  const double stray = spread + (how.parts == 1 ? 0 : 0x1p-7 * magnitude);
  SumSize size{how.terms * how.parts, magnitude,
               (PartialsAt(sums, row, column) + how.terms * stray) * how.parts};
  double center = sums.production(row, column), last = 0;
  if (!how.bias.empty()) {
    const double bias = std::fabs(how.BiasAt(row));
    size = {size.terms + 1, magnitude + bias, size.partials + (size.terms + 1) * bias};
    center += how.BiasAt(row);
    last = kUnitFp32 * kDoubleSlack * (std::fabs(center) + spread);
  }
  const double radius = SumBound(how.model, size);
  return StoredSum(how.store, center, spread + last + radius * (1 + kUnitFp32), size.magnitude);
}

// A product of an FP8 weight and an FP32 scale may be formed in FP32 first. An NVFP4 weight is
// formed with two roundings; where scales meet partial sums, these are two in place of one.
AccumulateModel ModelFor(const Work& work, const PackedMatrix& matrix) {
  AccumulateModel model = work.rules.contract.accumulate;
  model.scale_roundings += matrix.format == Format::kFp8Block ||
                           matrix.format == Format::kFp8Channel ||
                           (matrix.format == Format::kNvfp4 && model.scale_roundings > 0);
  return model;
}

ProductStore StoreOf(const Work& work, Projection projection) {
  const Contract& contract = work.rules.contract;
  const ExpertWeights& weights = *work.batch.weights;
  const PackedMatrix& matrix = work.Matrix(projection);
  const bool down = projection == Projection::kDown;
  return {ModelFor(work, matrix), down ? contract.down : contract.gate_up, double(matrix.columns),
          down && contract.act == Store::kBf16Pair ? 2 : 1,
          down                              ? weights.down_bias
          : projection == Projection::kGate ? weights.gate_bias
                                            : weights.up_bias};
}

std::vector<Interval> StoredColumn(const ProductStore& how, const Sums& sums, Eigen::Index column) {
  std::vector<Interval> stored(sums.production.rows());
  for (Eigen::Index i = 0; i < sums.production.rows(); ++i)
    stored[i] = StoredProduct(how, sums, i, column);
  return stored;
}

const LoraAdapterData* AdapterOf(const Work& work, std::size_t token) {
  return work.batch.adapters.empty() ? nullptr : work.batch.adapters[token];
}

// What a token reads, as intervals.
LoraValues InputOf(const Work& work, Eigen::Index column) {
  const Eigen::MatrixXd &stored = work.input.production, &absolute = work.input.absolute;
  const bool balls = absolute.cols() > stored.cols();
  LoraValues x;
  for (Eigen::Index i = 0; i < stored.rows(); ++i) {
    const double radius = balls ? absolute(i, stored.cols() + column) : 0;
    x.stored.push_back({stored(i, column) - radius, stored(i, column) + radius});
    x.exact.push_back(work.input.exact(i, column));
  }
  return x;
}

std::vector<double> ExactColumn(const ProductStore& how, const Sums& sums, Eigen::Index column) {
  std::vector<double> exact(std::size_t(sums.exact.rows()));
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    exact[i] = sums.exact(row, column) + how.BiasAt(row);
  }
  return exact;
}

// One projection of a token: the product as stored, an adapter folded in.
LoraValues ProjectionOf(const Work& work, Projection projection, const Sums& sums,
                        std::size_t token, const LoraValues& x) {
  const auto column = static_cast<Eigen::Index>(token);
  const ProductStore how = StoreOf(work, projection);
  LoraValues values{StoredColumn(how, sums, column), ExactColumn(how, sums, column)};
  const LoraSite site = projection == Projection::kGate ? LoraSite::kGate
                        : projection == Projection::kUp ? LoraSite::kUp
                                                        : LoraSite::kDown;
  FoldLoraIntervals(AdapterOf(work, token), site, x, work.rules.contract.accumulate.order, values);
  return values;
}

// What the fold of down reads: the activation in its other form, rounded to BF16.
LoraValues ActivationOf(const Work& work, std::size_t token) {
  LoraValues x;
  if (AdapterOf(work, token) == nullptr) return x;
  Contract multiplied = work.rules.contract;
  multiplied.silu = SiluForm::kMultiply;
  const TokenResult& result = *work.batch.results[token];
  for (std::size_t i = 0; i < result.up.size(); ++i) {
    const Interval& gate = multiplied.expert.gated ? result.gate[i] : result.up[i];
    x.stored.push_back(Stored(Store::kBf16, HiddenInterval(multiplied, gate, result.up[i])));
    x.exact.push_back(work.activations.exact(Eigen::Index(i), Eigen::Index(token)));
  }
  return x;
}

void TakeActivations(Work& work, std::size_t token) {
  const auto column = static_cast<Eigen::Index>(token);
  const Contract& contract = work.rules.contract;
  TokenResult& result = *work.batch.results[token];
  const LoraValues x = AdapterOf(work, token) == nullptr ? LoraValues{} : InputOf(work, column);
  LoraValues gate, up = ProjectionOf(work, Projection::kUp, work.up, token, x);
  if (contract.expert.gated) gate = ProjectionOf(work, Projection::kGate, work.gate, token, x);
  result.gate = std::move(gate.stored);
  result.up = std::move(up.stored);
  result.act.resize(result.up.size());
  for (std::size_t i = 0; i < result.act.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    const Interval& g = contract.expert.gated ? result.gate[i] : result.up[i];
    result.act[i] = Stored(contract.act, HiddenInterval(contract, g, result.up[i]));
    work.activations.exact(row, column) =
        HiddenValue(contract.expert, contract.expert.gated ? gate.exact[i] : 0, up.exact[i]);
  }
  QuantiseIntervals(contract.hidden, result.act);
  PutBalls(result.act, column, work.activations);
}

void SizeActivations(Work& work) {
  const auto inter = work.batch.weights->down.columns;
  const auto count = static_cast<Eigen::Index>(work.batch.columns.size());
  work.activations.production.resize(inter, count);
  work.activations.absolute.resize(inter, 2 * count);
  work.activations.exact.resize(inter, count);
  work.activations.want_partials = work.input.want_partials;
}

void StoreDown(Work& work, std::size_t token) {
  TokenResult& result = *work.batch.results[token];
  LoraValues down =
      ProjectionOf(work, Projection::kDown, work.down, token, ActivationOf(work, token));
  result.down = std::move(down.stored);
  result.down_exact = std::move(down.exact);
}

struct TokenTask {
  Work* work;
  std::size_t token;
};

std::vector<TokenTask> TokenTasks(std::vector<Work>& works) {
  std::vector<TokenTask> tasks;
  for (Work& work : works)
    for (std::size_t token = 0; token < work.batch.columns.size(); ++token)
      tasks.push_back({&work, token});
  return tasks;
}

void GateAndUp(std::vector<Work>& works, const ExpertInput& input) {
  std::vector<PanelTask> tasks;
  for (Work& work : works) {
    TakeInput(work, input);
    work.input_fp32 = InFp32(work.input);
    if (work.rules.contract.expert.gated) AddPanels(work, Projection::kGate, work.input, tasks);
    AddPanels(work, Projection::kUp, work.input, tasks);
  }
  RunPanels(tasks);
}

void Down(std::vector<Work>& works) {
  std::vector<PanelTask> tasks;
  for (Work& work : works) {
    work.activations_fp32 = InFp32(work.activations);
    AddPanels(work, Projection::kDown, work.activations, tasks);
  }
  RunPanels(tasks);
}

// All sums of a wave are held at once: some ten megabytes of them, or one expert's.
constexpr std::int64_t kWaveSums = 1 << 18;

std::int64_t SumsOf(const ExpertBatch& batch) {
  const ExpertWeights& w = *batch.weights;
  return std::int64_t(batch.columns.size()) * (2 * w.up.rows + w.down.rows);
}

void EvaluateWave(std::vector<Work> works, const ExpertInput& input) {
  GateAndUp(works, input);
  for (Work& work : works) SizeActivations(work);
  const std::vector<TokenTask> tasks = TokenTasks(works);
#pragma omp parallel for schedule(dynamic) if (tasks.size() > kFewTasks)
  for (std::size_t i = 0; i < tasks.size(); ++i) TakeActivations(*tasks[i].work, tasks[i].token);
  Down(works);
#pragma omp parallel for schedule(dynamic) if (tasks.size() > kFewTasks)
  for (std::size_t i = 0; i < tasks.size(); ++i) StoreDown(*tasks[i].work, tasks[i].token);
}

}  // namespace

void EvaluateBatches(std::vector<ExpertBatch> batches, const ExpertInput& input,
                     const StageRules& rules) {
  std::vector<Work> wave;
  std::int64_t sums = 0;
  for (ExpertBatch& batch : batches) {
    sums += SumsOf(batch);
    wave.push_back({});
    wave.back().batch = std::move(batch);
    wave.back().rules = rules;
    if (wave.back().batch.contract) wave.back().rules.contract = *wave.back().batch.contract;
    if (sums < kWaveSums) continue;
    EvaluateWave(std::exchange(wave, {}), input);
    sums = 0;
  }
  if (!wave.empty()) EvaluateWave(std::move(wave), input);
}

}  // namespace assay
