// The program with a toy workload: started by the tests of exit codes, signals and failing ranks.
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "analysis/report/set_summary.h"
#include "runner/commands.h"
#include "runner/doctor/command.h"
#include "runner/on_ranks.h"
#include "runner/program.h"
#include "staging/checkpoint_file.h"
#include "toy_workload.h"

namespace {

using nlohmann::json;
using runner::ToyScript;

/// A fault of one rank at one place.
struct Strike {
  enum class Kind { kNone, kKill, kStop, kStandStill, kExhaustMemory, kLeaveOthers, kNoData };
  Kind kind = Kind::kNone;
  std::int64_t rank = 0;
  std::string during;     ///< a call of the workload, or "train"
  std::int64_t step = 0;  ///< in training
};

Strike parse_strike(const base::ObjectReader& in) {
  using Kind = Strike::Kind;
  Strike strike;
  strike.kind = in.choice<Kind>("kind", Kind::kNone,
                                {{"none", Kind::kNone},
                                 {"kill", Kind::kKill},
                                 {"stop", Kind::kStop},
                                 {"stand_still", Kind::kStandStill},
                                 {"exhaust_memory", Kind::kExhaustMemory},
                                 {"leave_others", Kind::kLeaveOthers},
                                 {"no_data", Kind::kNoData}},
                                "what happens");
  strike.rank = in.optional<std::int64_t>("rank", 0, "to whom");
  strike.during = in.optional<std::string>("during", "train", "in which call");
  strike.step = in.optional<std::int64_t>("step", 1, "of training");
  return strike;
}

void hit(Strike::Kind kind, const runner::Surroundings& around) {
  switch (kind) {
    case Strike::Kind::kNone:
      return;
    case Strike::Kind::kKill:
      raise(SIGKILL);
      return;
    case Strike::Kind::kStop:
      raise(SIGSTOP);
      return;
    case Strike::Kind::kStandStill: {
      const telemetry::Scope scope(around.telemetry, telemetry::Subsystem::kInput);
      for (;;) pause();
    }
    case Strike::Kind::kExhaustMemory: {
      rlimit limit{};
      getrlimit(RLIMIT_AS, &limit);
      limit.rlim_cur = rlim_t{1} << 30U;  // less than the request, however much is in use already
      setrlimit(RLIMIT_AS, &limit);
      const std::vector<char> much(std::size_t{1} << 31U, 'x');
      throw std::logic_error(std::to_string(much.back()) + ": memory was given beyond its limit");
    }
    case Strike::Kind::kNoData:
      throw base::DataError("toy.tar: cannot be opened");
    case Strike::Kind::kLeaveOthers:
      around.world.barrier();  // no other rank arrives there
      return;
  }
}

void script_strike(const Strike& strike, const runner::Surroundings& around, ToyScript& script) {
  if (strike.kind == Strike::Kind::kNone || strike.rank != around.world.rank()) return;
  const auto strikes = [strike, &around] { hit(strike.kind, around); };
  if (strike.during == "train") {
    script.at_step = [strike, strikes](std::int64_t step) {
      if (step == strike.step) strikes();
    };
  } else {
    script.at_call = [strike, strikes](const std::string& call) {
      if (call == strike.during) strikes();
    };
  }
}

ToyScript parse_script(const base::ObjectReader& reader) {
  const auto in = reader.object("model", "what goes wrong in the toy");
  const auto number = [&in](const char* key, std::int64_t fallback) {
    return in.optional(key, fallback, "a step or a rank", base::at_least(-1));
  };
  ToyScript script;
  script.not_finite_at_step = number("not_finite_at_step", 0);
  script.throw_at_step = number("throw_at_step", 0);
  script.throwing_rank = static_cast<int>(number("throwing_rank", 0));
  script.drifting_rank = static_cast<int>(number("drifting_rank", -1));
  const int signal = in.choice<int>("signal", SIGTERM,
                                    {{"TERM", SIGTERM},
                                     {"INT", SIGINT},
                                     {"HUP", SIGHUP},
                                     {"XCPU", SIGXCPU},
                                     {"QUIT", SIGQUIT},
                                     {"USR2", SIGUSR2}},
                                    "what comes at signal_at_step");
  const std::int64_t signals = in.optional<std::int64_t>("signals", 1, "how many of them");
  const std::int64_t signal_at = number("signal_at_step", 0);
  const std::int64_t kill_at = number("kill_at_step", 0);
  const std::int64_t checkpoint_at = number("checkpoint_at_step", 0);
  const std::chrono::milliseconds step_takes(number("step_ms", 0));
  script.at_step = [=](std::int64_t step) {
    std::this_thread::sleep_for(step_takes);
    for (std::int64_t i = 0; step == signal_at && i < signals; ++i) raise(signal);
    if (step == checkpoint_at) raise(SIGUSR1);
    if (step == kill_at) raise(SIGKILL);
  };
  return script;
}

std::unique_ptr<runner::Workload> make(const runner::RunConfig& config,
                                       const runner::Surroundings& around) {
  ToyScript script = parse_script(config.reader);
  script_strike(parse_strike(config.reader.object("strike", "what befalls a rank")), around,
                script);
  return std::make_unique<runner::ToyWorkload>(around, config.seed, std::move(script));
}

void check(const base::ObjectReader& reader) {
  reader.object("dataset", "what it would read").optional<std::string>("train", "", "a path");
  reader.object("staging", "where it would copy").optional<std::string>("directory", "", "a path");
  parse_script(reader);
  parse_strike(reader.object("strike", "what befalls a rank"));
}

runner::MemoryNeeds memory_needs(const runner::RunConfig&, const runner::PlannedRank& place) {
  if (place.ranks % 7 == 0) throw base::ConfigError("toy: /ranks: must not divide by 7");
  return {{{"activations and scratch", 4096 * place.threads}, {"gradients", 12}},
          {{"weights", 12}},
          "forward of it all",
          {{"activations", 4000}}};
}

runner::Bench declare_bench(CLI::App& app) {
  const auto size = std::make_shared<std::int64_t>(3);
  app.add_option("--size", *size, "of nothing")->capture_default_str();
  return [size](const runner::BenchOptions& options, const runner::Surroundings& around) -> json {
    if (options.precision != "f32") throw base::ConfigError("bench toy: --precision: expected f32");
    return {{"batch", options.batch}, {"size", *size}, {"ranks", around.world.size()}};
  };
}

std::function<base::ExitCode()> declare_generate(CLI::App& app) {
  auto output = std::make_shared<std::string>();
  app.add_option("output,--output", *output, "file")->required();
  return [output] {
    std::ofstream(*output) << "toy\n";
    return base::ExitCode::kSuccess;
  };
}

/// Arrays as JSON, so that the tests need no HDF5.
class JsonWriter final : public runner::StateWriter {
 public:
  explicit JsonWriter(std::string path) : path_(std::move(path)) {}
  void write(const std::string& name, const std::vector<std::int64_t>&,
             std::span<const float> data) override {
    arrays_[name] = std::vector<float>(data.begin(), data.end());
  }
  void write(const std::string& name, std::int64_t value) override { arrays_[name] = value; }
  void finish() override { std::ofstream(path_) << arrays_; }

 private:
  std::string path_;
  json arrays_;
};

class JsonReader final : public runner::StateReader {
 public:
  explicit JsonReader(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw base::DataError(path + ": cannot open");
    arrays_ = json::parse(file);
  }
  bool has(const std::string& name) const override { return arrays_.contains(name); }
  std::vector<std::string> names() const override { return {}; }
  std::vector<float> read(const std::string& name,
                          const std::vector<std::int64_t>&) const override {
    return arrays_.at(name).get<std::vector<float>>();
  }
  std::int64_t read_integer(const std::string& name) const override {
    return arrays_.at(name).get<std::int64_t>();
  }

 private:
  json arrays_;
};

class TextSink final : public runner::OutputSink {
 public:
  explicit TextSink(std::string path) : path_(std::move(path)) {}
  void write(std::int64_t, std::int64_t width, std::span<const float> outputs,
             std::span<const std::int32_t>) override {
    rows_ += static_cast<std::int64_t>(outputs.size()) / width;
  }
  void finish() override { std::ofstream(path_) << rows_ << '\n'; }

 private:
  std::string path_;
  std::int64_t rows_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  runner::CommandParts parts;
  parts.workloads = {{.name = "toy",
                      .summary = "a toy",
                      .make = make,
                      .check = check,
                      .memory_needs = memory_needs,
                      .declare_bench = declare_bench,
                      .declare_generate = declare_generate},
                     {.name = "still",
                      .summary = "a toy that has no bench",
                      .make = make,
                      .check = check,
                      .memory_needs = memory_needs}};
  parts.make_state_writer = [](const std::string& path) {
    return std::make_unique<JsonWriter>(path);
  };
  parts.make_state_reader = [](const std::string& path) {
    return std::make_unique<JsonReader>(path);
  };
  parts.make_output_sink = [](const std::string& path) { return std::make_unique<TextSink>(path); };
  parts.checkpoint_format = staging::checkpoint_format();
  parts.libraries = [] { return json{{"MPI", runner::mpi_library_version()}}; };
  parts.summarize_set = [](const json& facts) {
    analysis::report::SetSummary summary = analysis::report::summarize_set(facts);
    return runner::SetSummary{std::move(summary.document), std::move(summary.text)};
  };
  runner::Program program;
  base::Command doctor = doctor::command(parts);
  program.commands = runner::commands(std::move(parts));
  program.commands.push_back(std::move(doctor));
  program.missing_commands = {"analyze"};
  program.why_missing = "this build lacks it";
  program.version = [] { return "toy 1.2.3"; };
  program.run_on_ranks = runner::run_on_ranks;
  return runner::run_program(argc, argv, program);
}
