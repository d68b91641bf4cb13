// The subcommands: their options as the command line gives them, and the functions that run them.
// They write to the console, throw UsageError and EnvironmentError, and return the exit code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ci/console.h"
#include "ci/exit_code.h"

namespace assay {

struct CheckOptions {
  std::vector<std::string> lines;  // case lines, @file, - for stdin
  std::string checks, device;      // empty: as the line says
  bool mpi = false;                // ranks of expert parallel are the processes of mpirun
};
ExitCode RunCheck(const CheckOptions& options, Console& console);

struct ReplayOptions {
  CheckOptions check;
  std::string fault;  // empty: none planted
};
ExitCode RunReplay(const ReplayOptions& options, Console& console);

struct FuzzOptions {
  std::int64_t cases = 0;  // 0: 1000, or no limit with a time
  std::string time;
  std::uint64_t seed = 0;
  std::string workers = "auto", distribution = "default", checks = "standard", device = "host";
  std::vector<std::string> paths;  // empty: all
  std::string out = "build/fuzz";
};
ExitCode RunFuzz(const FuzzOptions& options, Console& console);

struct FaultsOptions {
  bool list = false, names = false;
  std::vector<std::string> only;
  std::int64_t generated = 0;
  std::uint64_t seed = 1;
  std::string device = "host";
};
ExitCode RunFaults(const FaultsOptions& options, Console& console);

struct GoldenOptions {
  std::string folder;  // empty: the project's own
  bool verbose = false;
};
ExitCode RunGolden(const GoldenOptions& options, Console& console);

struct ListOptions {
  std::string what;
  bool matrix = false;          // of paths: every combination
  std::string format = "text";  // of the matrix: text, json, markdown
};
ExitCode RunList(const ListOptions& options, Console& console);
// "paths", "faults", ...: what can be listed.
std::vector<std::string> ListTopics();

ExitCode RunDoctor(Console& console);

struct GateOptions {
  std::string device = "auto";
  std::string policy;  // empty: the project's ci/gate.toml
  std::string out = "build/gate";
  std::int64_t cases = -1;  // -1: as the policy says
  std::string workers = "auto";
};
ExitCode RunGate(const GateOptions& options, Console& console);

}  // namespace assay
