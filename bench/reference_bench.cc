// Speed of the reference beside plain Eigen products of the same operations, in one run.
//   reference_bench [--record FILE] [--benchmark_...]
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>

#include "bench/eigen_layer.h"
#include "reports/environment.h"
#include "reports/record.h"

namespace assay {
namespace {

struct Shape {
  const char* model;
  int hidden, inter;
};
constexpr Shape kShapes[] = {{"qwen3-30b-a3b", 2048, 768}, {"deepseek-v3", 7168, 2048}};
constexpr int kTopK = 8;
constexpr int kRows[] = {1, 4, 16, 64};

// All tokens take the same eight experts: from one token an expert to 64.
Problem ProblemOf(const Shape& shape, int rows) {
  Problem problem;
  problem.rows = rows;
  problem.hidden = shape.hidden;
  problem.inter = shape.inter;
  problem.experts = problem.top_k = kTopK;
  return problem;
}

// Built for the first benchmark of a shape; the experts do not depend on the rows.
class Layers {
 public:
  const LayerData& Packed(const Shape& shape, int rows) {
    Load(shape);
    if (packed_->problem.rows == rows) return *packed_;
    Problem problem = ProblemOf(shape, rows);
    Problem small = problem;
    small.inter = 32;  // only the input is wanted
    packed_->input = BuildLayer(small).input;
    packed_->problem = problem;
    dense_.reset();
    return *packed_;
  }
  const EigenLayer& Dense(const Shape& shape, int rows) {
    const LayerData& packed = Packed(shape, rows);
    if (!dense_) dense_ = std::make_unique<EigenLayer>(packed);
    return *dense_;
  }

 private:
  void Load(const Shape& shape) {
    if (model_ == shape.model) return;
    dense_.reset();
    packed_ = std::make_unique<LayerData>(BuildLayer(ProblemOf(shape, 1)));
    model_ = shape.model;
  }
  std::string model_;
  std::unique_ptr<LayerData> packed_;
  std::unique_ptr<EigenLayer> dense_;
};

Layers& TheLayers() {
  static Layers layers;
  return layers;
}

void CountWork(benchmark::State& state, const Shape& shape, int rows) {
  const double flops = 2.0 * 3 * shape.hidden * shape.inter * kTopK * rows;
  state.counters["flop/s"] =
      benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

// "VmRSS" or "VmHWM" of this process, in bytes; 0 where the system does not say.
double ProcessBytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return 1024 * std::atof(line.c_str() + field.size() + 1);
  return 0;
}

double PackedBytes(const LayerData& layer) {
  double bytes = 0;
  for (const auto& [id, expert] : layer.experts)
    for (const PackedMatrix* m : {&expert.gate, &expert.up, &expert.down})
      bytes += double(m->payload.size() + m->scales.size());
  return bytes;
}

// What one evaluation needs beside the packed weights, and the whole beside what is inevitable: the
// packed weights, and the dequantised ones of the expert at work.
template <class Evaluate>
void CountMemory(benchmark::State& state, const LayerData& layer, Evaluate evaluate) {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5" << std::flush;  // forgets the peak
  const double before = ProcessBytes("VmRSS");
  evaluate();
  const double working = std::max(0.0, ProcessBytes("VmHWM") - before);
  const double packed = PackedBytes(layer);
  const double expert = 8.0 * 3 * layer.problem.hidden * layer.problem.inter;
  state.counters["working_MiB"] = working / (1 << 20);
  state.counters["peak_of_packed"] = (packed + working) / packed;
  state.counters["peak_of_packed_and_expert"] = (packed + working) / (packed + expert);
}

void Plain(benchmark::State& state, const Shape& shape, int rows) {
  const EigenLayer& layer = TheLayers().Dense(shape, rows);
  const Selection selection = SpreadSelection(ProblemOf(shape, rows), true);
  for (auto _ : state) benchmark::DoNotOptimize(layer.Evaluate(selection));
  CountWork(state, shape, rows);
}

void Exact(benchmark::State& state, const Shape& shape, int rows) {
  const LayerData& layer = TheLayers().Packed(shape, rows);
  const LayerReference reference(layer);
  const Selection selection = SpreadSelection(ProblemOf(shape, rows), true);
  CountMemory(state, layer, [&] { benchmark::DoNotOptimize(reference.Exact(selection)); });
  for (auto _ : state) benchmark::DoNotOptimize(reference.Exact(selection));
  CountWork(state, shape, rows);
}

// A reference keeps its results, so that each evaluation needs a new one; its router is part of the
// time.
void Bounds(benchmark::State& state, const Shape& shape, int rows, Accumulation order) {
  const LayerData& layer = TheLayers().Packed(shape, rows);
  const Selection selection = SpreadSelection(ProblemOf(shape, rows), true);
  const auto evaluate = [&] {
    benchmark::DoNotOptimize(LayerReference(layer, order).Evaluate(selection));
  };
  CountMemory(state, layer, evaluate);
  for (auto _ : state) evaluate();
  CountWork(state, shape, rows);
}

using Leg = std::function<void(benchmark::State&, const Shape&, int)>;

const std::pair<const char*, Leg> kLegs[] = {
    {"eigen", Plain},
    {"bounds_off", Exact},
    {"bounds_any_order", [](auto& state, const Shape& shape,
                            int rows) { Bounds(state, shape, rows, Accumulation::kAnyOrder); }},
    {"bounds_chain_or_lanes", [](auto& state, const Shape& shape, int rows) {
       Bounds(state, shape, rows, Accumulation::kChainOrLanes);
     }}};

std::string PointName(const Shape& shape, int rows) {
  return std::string(shape.model) + "/rows=" + std::to_string(rows);
}

void Register() {
  for (const Shape& shape : kShapes)
    for (const int rows : kRows)
      for (const auto& [leg, run] : kLegs)
        benchmark::RegisterBenchmark(
            (PointName(shape, rows) + "/" + leg).c_str(),
            [&shape, rows, run = run](benchmark::State& state) { run(state, shape, rows); })
            ->Unit(benchmark::kMillisecond);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Keeps CPU seconds an iteration, by name, of every repetition.
class Times : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs)
      if (run.run_type == Run::RT_Iteration && !run.error_occurred) {
        for (const auto& [name, counter] : run.counters)
          if (name != "flop/s") counters_[run.run_name.function_name][name] = counter.value;
        seconds_[run.run_name.function_name].push_back(run.cpu_accumulated_time /
                                                       double(run.iterations));
      }
    ConsoleReporter::ReportRuns(runs);
  }
  const std::map<std::string, std::vector<double>>& Seconds() const { return seconds_; }
  // By benchmark and counter.
  const std::map<std::string, std::map<std::string, double>>& Counters() const { return counters_; }

 private:
  std::map<std::string, std::vector<double>> seconds_;
  std::map<std::string, std::map<std::string, double>> counters_;
};

double LoadAverage() {
  double load = -1;
  std::ifstream("/proc/loadavg") >> load;
  return load;
}

nlohmann::json Summary(const std::string& name, const std::vector<double>& seconds) {
  return {{"benchmark", name},
          {"metric", "cpu_seconds"},
          {"samples", seconds},
          {"median", Median(seconds)},
          {"min", *std::min_element(seconds.begin(), seconds.end())}};
}

// Lines for the terminal and records, one a point and leg: how much of Eigen's speed it reaches.
void Report(const Times& times, double load, const std::string& command, RecordWriter* writer) {
  const auto& seconds = times.Seconds();
  if (writer) {
    nlohmann::json run = RunFields(CaptureEnvironment(), NowUtc(), "manual");
    run["command"] = command;
    run["load_average_before"] = load;
    run["threads"] = 1;
    writer->Append(RecordType::kRun, run);
  }
  std::printf("\n%-28s %-24s %s\n", "point", "leg", "speed relative to Eigen (medians)");
  for (const auto& [name, samples] : seconds) {
    const std::string point = name.substr(0, name.rfind('/')), leg = name.substr(point.size() + 1);
    nlohmann::json fields = Summary(name, samples);
    const auto plain = seconds.find(point + "/eigen");
    if (plain != seconds.end() && leg != "eigen") {
      fields["speed_relative_to_eigen"] = Median(plain->second) / Median(samples);
      std::printf("%-28s %-24s %.3f\n", point.c_str(), leg.c_str(),
                  Median(plain->second) / Median(samples));
    }
    if (const auto found = times.Counters().find(name); found != times.Counters().end())
      for (const auto& [counter, value] : found->second) fields[counter] = value;
    if (writer) writer->Append(RecordType::kPoint, fields);
  }
}

// --record FILE is ours, the rest is the library's.
std::string TakeRecordOption(int& argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--record") != 0) continue;
    const std::string file = argv[i + 1];
    std::copy(argv + i + 2, argv + argc + 1, argv + i);
    argc -= 2;
    return file;
  }
  return "";
}

int Main(int argc, char** argv) {
  std::string command;
  for (int i = 0; i < argc; ++i) command += (i ? " " : "") + std::string(argv[i]);
  const std::string record = TakeRecordOption(argc, argv);
  Register();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const double load = LoadAverage();
  Times times;
  benchmark::RunSpecifiedBenchmarks(&times);
  std::unique_ptr<RecordWriter> writer;
  if (!record.empty()) writer = std::make_unique<RecordWriter>(record);
  Report(times, load, command, writer.get());
  return times.Seconds().empty() ? 77 : 0;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  try {
    return assay::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reference_bench: %s\n", error.what());
    return 99;
  }
}
