// From argv to an exit status. Under a launcher every rank parses the same command line.
#include "runner/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>

#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "runner/base/output_options.h"
#include "runner/base/printable.h"
#include "runner/launch/launcher.h"
#include "runner/mpi_timeout.h"
#include "runner/shell_commands.h"

namespace runner {
namespace {

using base::ExitCode;

constexpr char kExitCodes[] = R"(Exit codes:
  0  success
  1  internal error, or the launcher's own failure
  2  usage: the command line or a configuration asks for something that cannot be
  3  data: a dataset, log, weights file or checkpoint is missing or damaged
  4  system: the machine, the operating system or a library refused
  5  not compliant: a rule is broken
  6  the target was missed
  7  stopped by a signal
  8  incomplete: part of what was asked for was done
  9  regression: runs fail, or are slower than the last good ones
  10 unknown: no rules are known here of a log's benchmark or round)";

/// A day: longer than any job would wait.
constexpr std::int64_t kLongestMpiTimeoutS = 86400;
constexpr char kMpiTimeoutVariable[] = "TRAINMARK_MPI_TIMEOUT_S";

/// The variable's value, or nothing if it is not set. Throws ConfigError for one that is no limit.
/// CLI11 2.4 would ignore that.
std::optional<std::int64_t> mpi_timeout_of_environment() {
  const char* const text = std::getenv(kMpiTimeoutVariable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const std::string_view all = text;
  std::int64_t seconds = -1;
  const auto parsed = std::from_chars(all.begin(), all.end(), seconds);
  if (parsed.ec == std::errc() && parsed.ptr == all.end() && seconds >= 0 &&
      seconds <= kLongestMpiTimeoutS) {
    return seconds;
  }
  throw base::ConfigError(fmt::format("environment: {}: expected 0 to {} seconds, found '{}'",
                                      kMpiTimeoutVariable, kLongestMpiTimeoutS,
                                      base::printable(all)));
}

/// The rank according to the launcher, before MPI starts.
std::int64_t launched_rank() { return launch::launched_rank(launch::environment()); }

/// Gives the descriptors 0 to 2 a file if the program was started without them. Else the first file
/// that it opens would become one of them, and get what is printed. Writing to these files fails.
void occupy_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) != -1) continue;
    (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

/// Every rank finds the same error at the same time: rank 0 prints it, and its exit makes the
/// launcher end the others. A rank still alive after 2 s found an error of its own. The message may
/// hold names from outside.
int fail(ExitCode code, const std::string& message) {
  if (launched_rank() != 0) std::this_thread::sleep_for(std::chrono::seconds(2));
  std::cerr << "trainmark: " << base::printable_lines(message) << '\n' << std::flush;
  return static_cast<int>(code);
}

/// `status`, unless something that was printed got lost.
int after_output(int status) {
  try {
    base::end_output(std::cout);
    return status;
  } catch (const base::SystemError& e) {
    return fail(e.code(), e.what());
  }
}

class CommandLine {
 public:
  explicit CommandLine(const Program& program)
      : app_("", "trainmark"), shell_commands_(shell_commands(app_, program.version)) {
    app_.description(
        "Trains MLPerf workloads on CPU clusters, logs what the rules ask for, and analyses logs.");
    app_.require_subcommand(1);
    app_.set_version_flag("--version", program.version, "versions of program and libraries");
    app_.footer(kExitCodes);
    for (const base::Command& command : program.commands) add(command);
    for (const std::string& name : program.missing_commands) add_missing(name, program.why_missing);
    for (const base::Command& command : shell_commands_) add(command);
  }

  /// The exit status if parsing ends the program: help, version, a usage error.
  std::optional<int> parse(int argc, char** argv);
  const base::Command* chosen() const { return chosen_; }
  const base::Command::Action& action() const { return actions_.at(chosen_->name); }
  /// Throws ConfigError for a variable of the environment that is no limit.
  std::int64_t mpi_timeout_s() const {
    if (mpi_timeout_s_) return *mpi_timeout_s_;
    return mpi_timeout_of_environment().value_or(kMpiTimeoutS);
  }

 private:
  void add(const base::Command& command);
  void add_mpi_timeout(CLI::App& app);
  void add_missing(const std::string& name, const std::string& why);
  void refuse_unknown_command(int argc, char** argv) const;

  CLI::App app_;
  std::vector<base::Command> shell_commands_;
  std::map<std::string, const base::Command*> commands_;
  std::map<std::string, base::Command::Action> actions_;
  std::vector<std::string> names_;
  const base::Command* chosen_ = nullptr;
  std::optional<std::int64_t> mpi_timeout_s_;
};

void CommandLine::add(const base::Command& command) {
  CLI::App* sub = app_.add_subcommand(command.name, command.summary);
  sub->footer("Example:\n  " + command.example);
  actions_[command.name] = command.declare(*sub);
  if (command.needs_mpi || command.joins_ranks) {
    add_mpi_timeout(*sub);
    for (CLI::App* below : sub->get_subcommands([](CLI::App*) { return true; })) {
      add_mpi_timeout(*below);
    }
  }
  commands_[command.name] = &command;
  names_.push_back(command.name);
}

void CommandLine::add_mpi_timeout(CLI::App& app) {
  app.add_option("--mpi-timeout", mpi_timeout_s_,
                 fmt::format("seconds that MPI may take until all ranks have started, and at the "
                             "end until all have come: then the job ends and names those that are "
                             "missing; 0: no limit; by default {}, or {} of the environment",
                             kMpiTimeoutS, kMpiTimeoutVariable))
      ->check(CLI::Range(std::int64_t{0}, kLongestMpiTimeoutS));
}

void CommandLine::add_missing(const std::string& name, const std::string& why) {
  CLI::App* sub = app_.add_subcommand(name, "(" + why + ")");
  sub->set_help_flag();
  sub->allow_extras();
  sub->callback([name, why] { throw base::ConfigError(name + ": " + why); });
  names_.push_back(name);
}

void CommandLine::refuse_unknown_command(int argc, char** argv) const {
  if (argc < 2 || argv[1][0] == '-') return;
  const std::string name = argv[1];
  if (std::find(names_.begin(), names_.end(), name) != names_.end()) return;
  const std::string near = base::nearest_name(name, names_);
  throw base::ConfigError("no command is called '" + name + "'" +
                          (near.empty() ? "" : "; did you mean '" + near + "'?") +
                          " See trainmark --help.");
}

std::optional<int> CommandLine::parse(int argc, char** argv) {
  try {
    refuse_unknown_command(argc, argv);
    app_.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::ostringstream out, message;
    const int status = app_.exit(e, out, message);
    if (status == 0) {
      if (launched_rank() == 0) std::cout << out.str();
      return after_output(status);
    }
    std::string text = message.str();
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return fail(ExitCode::kUsage, text);
  } catch (const base::Error& e) {
    return fail(e.code(), e.what());
  }
  chosen_ = commands_.at(app_.get_subcommands().front()->get_name());
  return std::nullopt;
}

}  // namespace

int run_program(int argc, char** argv, const Program& program) {
  occupy_standard_streams();
  // A write beyond the shell's file size limit must fail with an error, not kill the process.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    CommandLine line(program);
    if (const auto status = line.parse(argc, argv)) return *status;
    const base::Command& command = *line.chosen();
    const bool needs_mpi = command.needs_mpi && !(command.stays_alone && command.stays_alone());
    if (needs_mpi || (command.joins_ranks && launch::has_peers(launch::environment()))) {
      return after_output(program.run_on_ranks(argc, argv, line.action(), line.mpi_timeout_s()));
    }
    return after_output(static_cast<int>(line.action()(nullptr)));
  } catch (const std::exception& e) {
    const base::Failure failure = base::failure_of(e);
    return fail(failure.code, failure.message);
  }
}

}  // namespace runner
