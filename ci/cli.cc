#include "ci/cli.h"

#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>

#include "ci/commands.h"
#include "ci/words.h"
#include "reference/error.h"
#include "reports/record.h"

namespace assay {
namespace {

using Run = std::function<ExitCode(Console&)>;

struct Commands {
  CLI::App app{
      "Correctness and performance gate for Mixture-of-Experts inference kernels.\n"
      "Exit codes: 0 pass, 1 wrong result, 2 usage, 3 performance, 4 memory or race,\n"
      "5 environment unfit, 77 nothing was judged, 99 harness fault."};
  std::vector<std::pair<CLI::App*, Run>> runs;

  CLI::App& Add(const std::string& name, const std::string& what, const std::string& examples,
                Run run) {
    CLI::App* sub = app.add_subcommand(name, what);
    sub->footer("Examples:\n" + examples);
    runs.emplace_back(sub, std::move(run));
    return *sub;
  }
};

// CLI11 alone takes -1 for a huge unsigned number and cuts numbers that do not fit.
CLI::Validator WholeNumber(std::int64_t least) {
  return {[least](const std::string& word) { return WholeNumberProblem(word, least); }, ""};
}

void AddLines(CLI::App& sub, CheckOptions& options) {
  sub.add_option("line", options.lines, "case lines; @FILE reads a file, - reads stdin")
      ->required()
      ->type_name("LINE");
  sub.add_option("--checks", options.checks, "fast, standard or all (as the line says)")
      ->type_name("LEVEL");
  sub.add_option("--device", options.device, "host or cuda (as the line says)")->type_name("WHERE");
}

void AddCheck(Commands& commands) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App& sub = commands.Add("check", "judge case lines",
                               "  assay check 'path=k3 format=mxfp4 layout=transposed rows=3'\n"
                               "  assay check --checks fast @cases.txt",
                               [options](Console& console) { return RunCheck(*options, console); });
  AddLines(sub, *options);
  sub.add_flag("--mpi", options->mpi,
               "under mpirun -np N: each process is one rank of the cases with ep=N");
}

void AddReplay(Commands& commands) {
  const auto options = std::make_shared<ReplayOptions>();
  CLI::App& sub = commands.Add(
      "replay", "judge case lines and tell all about them, a planted fault in place if named",
      "  assay replay 'path=batched format=nvfp4 layout=row_major rows=2 seed=7'\n"
      "  assay replay --fault k3_e8m0_unguarded 'path=k3 format=mxfp4 layout=transposed rows=3'",
      [options](Console& console) { return RunReplay(*options, console); });
  AddLines(sub, options->check);
  sub.add_option("--fault", options->fault, "a planted fault: see assay list faults")
      ->type_name("NAME");
}

void AddFuzzWhere(CLI::App& sub, FuzzOptions& options) {
  sub.add_option("--workers", options.workers, "cases judged at once: auto or a number")
      ->type_name("N")
      ->capture_default_str();
  sub.add_option("--device", options.device, "host or cuda")
      ->type_name("WHERE")
      ->capture_default_str();
  sub.add_option("--paths", options.paths, "only these paths, separated by commas")
      ->delimiter(',')
      ->type_name("PATH");
  sub.add_option("--out", options.out, "folder of findings.jsonl, which only grows")
      ->type_name("FOLDER")
      ->capture_default_str();
}

void AddFuzz(Commands& commands) {
  const auto options = std::make_shared<FuzzOptions>();
  CLI::App& sub =
      commands.Add("fuzz", "judge generated cases; Ctrl-C keeps what was found",
                   "  assay fuzz --cases 2000\n"
                   "  assay fuzz --time 5m --distribution small --paths k3,batched --seed 42",
                   [options](Console& console) { return RunFuzz(*options, console); });
  sub.add_option("--cases", options->cases, "how many (1000 without --time)")
      ->type_name("N")
      ->check(WholeNumber(1));
  sub.add_option("--time", options->time, "stop after 30s, 5m, 1h")->type_name("TIME");
  sub.add_option("--seed", options->seed, "the same seed gives the same cases")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str();
  sub.add_option("--distribution", options->distribution, "small or default")
      ->type_name("NAME")
      ->capture_default_str();
  sub.add_option("--checks", options->checks, "fast, standard or all")
      ->type_name("LEVEL")
      ->capture_default_str();
  AddFuzzWhere(sub, *options);
}

void AddFaults(Commands& commands) {
  const auto options = std::make_shared<FaultsOptions>();
  CLI::App& sub =
      commands.Add("faults", "plant known faults and demand that the check of each finds it",
                   "  assay faults --only k3_e8m0_unguarded\n"
                   "  assay faults --list --names",
                   [options](Console& console) { return RunFaults(*options, console); });
  CLI::Option* list = sub.add_flag("--list", options->list, "print the faults, run nothing");
  sub.add_flag("--names", options->names, "with --list: bare names")->needs(list);
  sub.add_option("--only", options->only, "this fault; may be given again")
      ->type_name("NAME")
      ->allow_extra_args(false);
  sub.add_option("--generated", options->generated,
                 "on generated cases until found, at most N, instead of the smallest case")
      ->type_name("N")
      ->check(WholeNumber(1));
  sub.add_option("--seed", options->seed, "of the generated cases")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str();
  sub.add_option("--device", options->device, "host or cuda")
      ->type_name("WHERE")
      ->capture_default_str();
}

void AddGolden(Commands& commands) {
  const auto options = std::make_shared<GoldenOptions>();
  CLI::App& sub = commands.Add(
      "golden", "judge the reference against layers and formats computed by code that is not ours",
      "  assay golden\n"
      "  assay golden reference/testdata/goldens/hf --verbose",
      [options](Console& console) { return RunGolden(*options, console); });
  sub.add_option("folder", options->folder, "golden files (the project's own)")
      ->type_name("FOLDER");
  sub.add_flag("--verbose", options->verbose, "one line a case");
}

void AddList(Commands& commands) {
  const auto options = std::make_shared<ListOptions>();
  CLI::App& sub =
      commands.Add("list", "print what there is", "  assay list paths\n  assay list fields",
                   [options](Console& console) { return RunList(*options, console); });
  std::string topics;
  for (const std::string& topic : ListTopics()) topics += (topics.empty() ? "" : ", ") + topic;
  sub.add_option("what", options->what, topics)->required()->type_name("WHAT");
  CLI::Option* matrix = sub.add_flag("--matrix", options->matrix,
                                     "with paths: every combination that a path can be asked for");
  sub.add_option("--format", options->format, "of the matrix: text, json or markdown")
      ->type_name("FORMAT")
      ->capture_default_str()
      ->needs(matrix);
}

void AddDoctor(Commands& commands) {
  commands.Add("doctor", "say whether this machine is fit to judge",
               "  assay doctor\n  assay doctor || echo \"exit code $?\"", RunDoctor);
}

void AddGate(Commands& commands) {
  const auto options = std::make_shared<GateOptions>();
  CLI::App& sub =
      commands.Add("gate", "corpus, fuzz cases, planted faults, goldens and floors of the policy",
                   "  assay gate --device host\n"
                   "  assay gate --policy ci/gate.toml --cases 200 --out /tmp/gate",
                   [options](Console& console) { return RunGate(*options, console); });
  sub.add_option("--device", options->device, "host, cuda, or auto: cuda if it is usable")
      ->type_name("WHERE")
      ->capture_default_str();
  sub.add_option("--policy", options->policy, "policy file (the project's ci/gate.toml)")
      ->type_name("FILE");
  sub.add_option("--out", options->out, "folder of summary.md, junit.xml and the JSONL files")
      ->type_name("FOLDER")
      ->capture_default_str();
  sub.add_option("--cases", options->cases, "fuzz cases (as the policy says)")
      ->type_name("N")
      ->check(WholeNumber(0));
  sub.add_option("--workers", options->workers, "cases judged at once: auto or a number")
      ->type_name("N")
      ->capture_default_str();
}

void AddAll(Commands& commands) {
  commands.app.name("assay");
  commands.app.set_version_flag("--version", ASSAY_VERSION);
  commands.app.require_subcommand(1);
  commands.app.footer("Start with: assay gate, assay doctor, assay <command> --help");
  for (auto add :
       {AddGate, AddCheck, AddFuzz, AddReplay, AddFaults, AddGolden, AddList, AddDoctor}) {
    add(commands);
  }
}

// CLI11 answers an unknown command with "a subcommand is required", which does not name it.
void RequireKnownCommand(const Commands& commands, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].starts_with('-')) return;
  std::string known;
  for (const auto& [sub, run] : commands.runs) {
    if (sub->get_name() == arguments[0]) return;
    known += (known.empty() ? "" : ", ") + sub->get_name();
  }
  throw UsageError(fmt::format("there is no command '{}': use one of {}", arguments[0], known));
}

// The command whose help would answer a mistake on the command line.
std::string HelpFor(const Commands& commands) {
  for (const auto& [sub, run] : commands.runs) {
    if (sub->parsed()) return "assay " + sub->get_name() + " --help";
  }
  return "assay --help";
}

ExitCode Fail(Console& console, ExitCode code, std::string_view message) {
  console.out.flush();
  fmt::print(console.err, "assay: {}\n", OneLine(message));
  return code;
}

ExitCode Parse(Commands& commands, std::vector<std::string> arguments, Console& console,
               bool& done) {
  done = true;
  try {
    std::reverse(arguments.begin(), arguments.end());
    commands.app.parse(arguments);
    done = false;
    return ExitCode::kPass;
  } catch (const CLI::Success& help) {
    commands.app.exit(help, console.out, console.err);
    return ExitCode::kPass;
  } catch (const CLI::ParseError& error) {
    return Fail(console, ExitCode::kUsage,
                fmt::format("{}; see {}", OneLine(error.what()), HelpFor(commands)));
  }
}

ExitCode RunChosen(const Commands& commands, Console& console) {
  for (const auto& [sub, run] : commands.runs) {
    if (sub->parsed()) return run(console);
  }
  return ExitCode::kUsage;
}

}  // namespace

ExitCode RunAssay(const std::vector<std::string>& arguments, Console& console) {
  try {
    Commands commands;
    AddAll(commands);
    RequireKnownCommand(commands, arguments);
    bool done = false;
    const ExitCode parsed = Parse(commands, arguments, console, done);
    return done ? parsed : RunChosen(commands, console);
  } catch (const UsageError& error) {
    return Fail(console, ExitCode::kUsage, error.what());
  } catch (const EnvironmentError& error) {
    return Fail(console, ExitCode::kUnfit, error.what());
  } catch (const RecordError& error) {
    return Fail(console, ExitCode::kUnfit, error.what());
  } catch (const std::exception& error) {
    return Fail(console, ExitCode::kHarnessFault,
                fmt::format("fault of the harness itself, please report it: {}", error.what()));
  }
}

}  // namespace assay
