#include "reference/expert_stages.h"

#include <algorithm>

#include "reference/fp32_error.h"
#include "reference/interval.h"

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
  const int step = PanelRows(matrix.columns);
  for (int first = 0; first < matrix.rows; first += step)
    tasks.push_back({&work, projection, first, std::min(step, matrix.rows - first)});
}

void RunPanels(const std::vector<PanelTask>& tasks) {
#pragma omp parallel for schedule(dynamic) if (tasks.size() > kFewTasks)
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const PanelTask& t = tasks[i];
    const bool down = t.projection == Projection::kDown;
    MultiplyPanel(t.work->Matrix(t.projection), t.work->rules.codes,
                  down ? t.work->activations : t.work->input, t.first, t.count,
                  t.work->SumsOf(t.projection));
  }
}

void TakeInput(Work& work, const Eigen::MatrixXd& input) {
  const auto count = static_cast<Eigen::Index>(work.batch.rows.size());
  work.input.production.resize(input.rows(), count);
  for (Eigen::Index i = 0; i < count; ++i)
    work.input.production.col(i) = input.col(work.batch.rows[i]);
  work.input.absolute = work.input.production.cwiseAbs();
  work.input.exact = work.input.production;
  work.input.want_partials = work.rules.accumulation == Accumulation::kChainOrLanes;
}

double PartialsAt(const Sums& sums, Eigen::Index row, Eigen::Index column) {
  return sums.partials.size() > 0 ? sums.partials(row, column) : 0;
}

std::vector<Interval> StoredColumn(const Work& work, const Sums& sums, Eigen::Index column) {
  std::vector<Interval> stored(sums.production.rows());
  for (Eigen::Index i = 0; i < sums.production.rows(); ++i) {
    const double magnitude = sums.absolute(i, column);
    const SumSize size{double(work.batch.weights->gate.columns), magnitude,
                       PartialsAt(sums, i, column)};
    stored[i] = StoredSum(sums.production(i, column),
                          AccumulationBound(work.rules.accumulation, size), magnitude);
  }
  return stored;
}

// Columns of activations.absolute: magnitudes of all tokens, then radii of all tokens.
void TakeActivations(Work& work, std::size_t token) {
  const auto column = static_cast<Eigen::Index>(token);
  const auto count = static_cast<Eigen::Index>(work.batch.rows.size());
  TokenResult& result = *work.batch.results[token];
  result.gate = StoredColumn(work, work.gate, column);
  result.up = StoredColumn(work, work.up, column);
  for (Eigen::Index i = 0; i < work.activations.production.rows(); ++i) {
    const Ball ball = BallAround(ActivationInterval(result.gate[i], result.up[i]));
    work.activations.production(i, column) = ball.center;
    work.activations.absolute(i, column) = std::fabs(ball.center) + ball.radius;
    work.activations.absolute(i, count + column) = ball.radius;
    work.activations.exact(i, column) = Silu(work.gate.exact(i, column)) * work.up.exact(i, column);
  }
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
  const auto count = static_cast<Eigen::Index>(work.batch.rows.size());
  TokenResult& result = *work.batch.results[token];
  const double terms = work.batch.weights->down.columns;
  const Eigen::Index hidden = work.down.production.rows();
  result.down.resize(hidden);
  result.down_exact.resize(hidden);
  for (Eigen::Index i = 0; i < hidden; ++i) {
    const double spread = work.down.absolute(i, count + column) * kDoubleSlack;
    const double magnitude = work.down.absolute(i, column);
    // The partial sums of other activations inside their balls differ by the spread at most.
    const SumSize size{terms, magnitude, PartialsAt(work.down, i, column) + terms * spread};
    const double radius = spread + AccumulationBound(work.rules.accumulation, size);
    result.down[i] = StoredSum(work.down.production(i, column), radius, magnitude);
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
    AddPanels(work, Projection::kGate, work.input, tasks);
    AddPanels(work, Projection::kUp, work.input, tasks);
  }
  RunPanels(tasks);
}

void Down(std::vector<Work>& works) {
  std::vector<PanelTask> tasks;
  for (Work& work : works) AddPanels(work, Projection::kDown, work.activations, tasks);
  RunPanels(tasks);
}

Interval SiluRange(const Interval& gate) {
  const double a = Silu(gate.low), b = Silu(gate.high);
  const bool holds_minimum = gate.low < kSiluArgMin && kSiluArgMin < gate.high;
  return {holds_minimum ? kSiluMin : std::min(a, b), std::max(a, b)};
}

}  // namespace

Interval ActivationInterval(const Interval& gate, const Interval& up) {
  if (IsOnlyNan(gate) || IsOnlyNan(up)) return OnlyNan();
  if (!IsFinite(gate) || !IsFinite(up)) return Anything();
  const Interval product = Product(SiluRange(gate), up);
  const double floor = kSwigluFloor * Largest(up) + kFp32Tiny;
  const Interval computed{product.low - kSwigluError * std::fabs(product.low) - floor,
                          product.high + kSwigluError * std::fabs(product.high) + floor};
  return Largest(computed) > kFp32Max ? Anything() : computed;
}

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
