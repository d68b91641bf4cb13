#include "reference/expert_stages.h"

#include <algorithm>

#include "reference/contract_steps.h"
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
  Eigen::MatrixXf input_absolute, activations_absolute;  // in FP32
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
                  down ? t.work->activations_absolute : t.work->input_absolute, t.first, t.count,
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
  const Eigen::MatrixXd& exact = work.input.exact;
  work.input.absolute.resize(exact.rows(), 2 * exact.cols());
  for (Eigen::Index column = 0; column < exact.cols(); ++column) {
    std::vector<Interval> values;
    for (const double x : exact.col(column)) values.push_back({x, x});
    QuantiseIntervals(work.rules.contract.input, values);
    PutBalls(values, column, work.input);
  }
}

void TakeInput(Work& work, const Eigen::MatrixXd& input) {
  const auto count = static_cast<Eigen::Index>(work.batch.rows.size());
  work.input.production.resize(input.rows(), count);
  for (Eigen::Index i = 0; i < count; ++i)
    work.input.production.col(i) = input.col(work.batch.rows[i]);
  work.input.absolute = work.input.production.cwiseAbs();
  work.input.exact = work.input.production;
  work.input.want_partials = InOrder(work.rules.contract);
  if (IsCoded(work.rules.contract.input)) CodeInput(work);
}

double PartialsAt(const Sums& sums, Eigen::Index row, Eigen::Index column) {
  return sums.partials.size() > 0 ? sums.partials(row, column) : 0;
}

// One product as stored. The operands may lie anywhere in their balls: the sum moves by `spread` at
// most, and so does every partial sum. `parts`: products for each pair of operands.
Interval StoredProduct(const AccumulateModel& model, Store store, const Sums& sums, double terms,
                       Eigen::Index row, Eigen::Index column, int parts = 1) {
  const Eigen::Index count = sums.production.cols();
  const double spread =
      sums.absolute.cols() > count ? sums.absolute(row, count + column) * kDoubleSlack : 0;
  // The low part of a pair adds 2^-8 of the high one.
  const double magnitude = sums.absolute(row, column) * (parts == 1 ? 1 : 1 + 0x1p-7);
  const SumSize size{terms * parts, magnitude,
                     (PartialsAt(sums, row, column) + terms * spread) * parts};
  return StoredSum(store, sums.production(row, column), spread + SumBound(model, size), magnitude);
}

// A product of an FP8 weight and an FP32 scale may be formed in FP32 first.
AccumulateModel ModelFor(const Work& work, const PackedMatrix& matrix) {
  AccumulateModel model = work.rules.contract.accumulate;
  model.scale_roundings +=
      matrix.format == Format::kFp8Block || matrix.format == Format::kFp8Channel;
  return model;
}

std::vector<Interval> StoredColumn(const Work& work, const Sums& sums, Eigen::Index column) {
  const Contract& contract = work.rules.contract;
  const AccumulateModel model = ModelFor(work, work.batch.weights->gate);
  std::vector<Interval> stored(sums.production.rows());
  for (Eigen::Index i = 0; i < sums.production.rows(); ++i)
    stored[i] =
        StoredProduct(model, contract.gate_up, sums, work.batch.weights->gate.columns, i, column);
  return stored;
}

void TakeActivations(Work& work, std::size_t token) {
  const auto column = static_cast<Eigen::Index>(token);
  const Contract& contract = work.rules.contract;
  TokenResult& result = *work.batch.results[token];
  result.gate = StoredColumn(work, work.gate, column);
  result.up = StoredColumn(work, work.up, column);
  result.act.resize(result.gate.size());
  for (std::size_t i = 0; i < result.act.size(); ++i) {
    result.act[i] = Stored(contract.act, HiddenInterval(contract, result.gate[i], result.up[i]));
    const auto row = static_cast<Eigen::Index>(i);
    work.activations.exact(row, column) =
        HiddenValue(contract.expert, work.gate.exact(row, column), work.up.exact(row, column));
  }
  QuantiseIntervals(contract.hidden, result.act);
  PutBalls(result.act, column, work.activations);
}

void SizeActivations(Work& work) {
  const auto inter = work.batch.weights->down.columns;
  const auto count = static_cast<Eigen::Index>(work.batch.rows.size());
  work.activations.production.resize(inter, count);
  work.activations.absolute.resize(inter, 2 * count);
  work.activations.exact.resize(inter, count);
  work.activations.want_partials = work.input.want_partials;
}

void StoreDown(Work& work, std::size_t token) {
  const auto column = static_cast<Eigen::Index>(token);
  TokenResult& result = *work.batch.results[token];
  const Contract& contract = work.rules.contract;
  const Eigen::Index hidden = work.down.production.rows();
  const AccumulateModel model = ModelFor(work, work.batch.weights->down);
  result.down.resize(hidden);
  result.down_exact.resize(hidden);
  for (Eigen::Index i = 0; i < hidden; ++i) {
    result.down[i] =
        StoredProduct(model, contract.down, work.down, work.batch.weights->down.columns, i, column,
                      contract.act == Store::kBf16Pair ? 2 : 1);
    result.down_exact[i] = work.down.exact(i, column);
  }
}

struct TokenTask {
  Work* work;
  std::size_t token;
};

std::vector<TokenTask> TokenTasks(std::vector<Work>& works) {
  std::vector<TokenTask> tasks;
  for (Work& work : works)
    for (std::size_t token = 0; token < work.batch.rows.size(); ++token)
      tasks.push_back({&work, token});
  return tasks;
}

void GateAndUp(std::vector<Work>& works, const Eigen::MatrixXd& input) {
  std::vector<PanelTask> tasks;
  for (Work& work : works) {
    TakeInput(work, input);
    work.input_absolute = work.input.absolute.cast<float>();
    AddPanels(work, Projection::kGate, work.input, tasks);
    AddPanels(work, Projection::kUp, work.input, tasks);
  }
  RunPanels(tasks);
}

void Down(std::vector<Work>& works) {
  std::vector<PanelTask> tasks;
  for (Work& work : works) {
    work.activations_absolute = work.activations.absolute.cast<float>();
    AddPanels(work, Projection::kDown, work.activations, tasks);
  }
  RunPanels(tasks);
}

}  // namespace

void EvaluateBatches(std::vector<ExpertBatch> batches, const Eigen::MatrixXd& input,
                     const StageRules& rules) {
  std::vector<Work> works(batches.size());
  for (std::size_t i = 0; i < batches.size(); ++i) {
    works[i].batch = std::move(batches[i]);
    works[i].rules = rules;
  }
  GateAndUp(works, input);
  for (Work& work : works) SizeActivations(work);
  const std::vector<TokenTask> tasks = TokenTasks(works);
#pragma omp parallel for schedule(dynamic) if (tasks.size() > kFewTasks)
  for (std::size_t i = 0; i < tasks.size(); ++i) TakeActivations(*tasks[i].work, tasks[i].token);
  Down(works);
#pragma omp parallel for schedule(dynamic) if (tasks.size() > kFewTasks)
  for (std::size_t i = 0; i < tasks.size(); ++i) StoreDown(*tasks[i].work, tasks[i].token);
}

}  // namespace assay
