// A small training job of the real program.
#include "job.h"

#include <fmt/format.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/findings/make_report.h"
#include "analysis/report/text/report.h"
#include "launch.h"
#include "telemetry_account.h"

namespace delays {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using telemetry::Subsystem;

constexpr int kTextColumns = 2000;  ///< wide enough that no line wraps

std::size_t at(int index) { return static_cast<std::size_t>(index); }
std::size_t at(Subsystem subsystem) { return static_cast<std::size_t>(subsystem); }

/// Twenty steps of 24 images, one evaluation at the end.
json small_config(const fs::path& folder) {
  return {{"workload", "resnet50"},
          {"seed", 5},
          {"epochs", 4},
          {"threads", 1},
          {"clear_caches", "never"},
          {"target", {{"quality", 1.0}}},
          {"evaluation", {{"every_epochs", 4}}},
          {"results", {{"directory", (folder / "results").string()}, {"system", "box"}}},
          {"dataset",
           {{"train", (folder / "data/train").string()},
            {"validation", (folder / "data/validation").string()},
            {"preprocess", "cifar"},
            {"decode_threads", 1}}},
          {"staging", {{"mode", "stream"}, {"directory", (folder / "staged").string()}}},
          {"model", {{"image_size", 32}, {"classes", 2}, {"width", 16}}},
          {"training", {{"global_batch_size", 24}, {"bn_group_samples", 12}}},
          {"optimizer", {{"name", "sgd"}, {"momentum", 0.9}}},
          {"schedule", {{"learning_rate", 0.01}}}};
}

}  // namespace

double Ended::seconds(int rank, Subsystem subsystem) const {
  return telemetry.ranks.at(at(rank)).subsystems_s[at(subsystem)];
}

double Ended::within_s(int rank, Subsystem outer, Subsystem inner) const {
  return telemetry.ranks.at(at(rank)).within_s[at(outer)][at(inner)];
}

double Ended::work_s(int rank) const {
  double sum = 0.0;
  for (const Subsystem part : {Subsystem::kInput, Subsystem::kForward, Subsystem::kBackward,
                               Subsystem::kOptimizer, Subsystem::kOther}) {
    sum += seconds(rank, part);
  }
  return sum;
}

double Ended::large_delay_s() const {
  constexpr double kTimes = 3.0, kLeast_s = 2.5;
  return std::max(kLeast_s, kTimes * (work_s(0) + seconds(0, Subsystem::kExchange)));
}

double Ended::noise_s() const {
  constexpr double kPart = 0.1;
  return kPart * large_delay_s() + 0.2;
}

std::int64_t Ended::count(int rank, telemetry::Counter counter) const {
  return telemetry.ranks.at(at(rank)).counters[static_cast<std::size_t>(counter)];
}

const analysis::Straggler* Ended::straggler_in(const std::string& phase) const {
  if (!run.telemetry) return nullptr;
  for (const analysis::Straggler& one : run.telemetry->waiting.stragglers) {
    if (one.phase == phase) return &one;
  }
  return nullptr;
}

Job::Job() {
  const outside::Ended made = outside::shell(
      fmt::format("{} generate resnet50 --output {}/data --classes 2 --train-per-class 60 "
                  "--validation-per-class 20 --image-size 32 --threads 1",
                  TRAINMARK, folder().string()),
      folder());
  if (made.status != 0) throw std::runtime_error(made.err);
  config_ = small_config(folder()).dump();
}

void Job::set(const std::string& pointer, const json& value) {
  json config = json::parse(config_);
  config[json::json_pointer(pointer)] = value;
  config_ = config.dump();
}

void Job::delay(const std::string& variable, const std::string& value) {
  environment_[variable] = value;
  environment_["LD_PRELOAD"] = SLOW_CALLS;
  environment_["DELAY_REPORT"] = (folder() / "delays.txt").string();
}

void Job::launch_by(const std::string& before, const std::string& options) {
  before_ = before;
  options_ = options;
}

fs::path Job::log_path() const { return folder() / "results/box/resnet50/result_1.txt"; }

fs::path Job::weights_path() const { return folder() / "results/box/resnet50/result_1.weights.h5"; }

std::string Job::command() const {
  std::string options = options_;
  for (const auto& [name, value] : environment_)
    options += " " + outside::with_variable(name, value);
  return fmt::format("{} {}{} run {}", before_, outside::mpirun(2, options), TRAINMARK,
                     (folder() / "config.json").string());
}

Ended Job::run() {
  fs::remove_all(folder() / "results");
  std::ofstream(folder() / "config.json") << config_;
  return collect(outside::shell(command(), folder()));
}

Ended Job::collect(outside::Ended job) const {
  Ended ended;
  ended.status = job.status;
  ended.err = std::move(job.err);
  telemetry::expect_whole_accounts(folder() / "results");
  const fs::path account = fs::path(log_path()).replace_extension(".telemetry.json");
  if (fs::exists(account)) ended.telemetry = telemetry::read_report(account.string());
  analysis::Report report = analysis::make_report({(folder() / "results").string()});
  std::ostringstream text;
  analysis::report::TextPage page(text, kTextColumns);
  analysis::report::write_text(page, report, analysis::report::Detail::kFull);
  ended.text = text.str();
  if (!report.runs.empty()) ended.run = std::move(report.runs.front());
  return ended;
}

void expect_in_one_of_three(const std::function<void()>& measure) {
  for (int spoilt = 0; spoilt < 2; ++spoilt) {
    testing::TestPartResultArray results;
    {
      using Reporter = testing::ScopedFakeTestPartResultReporter;
      const Reporter reporter(Reporter::INTERCEPT_ALL_THREADS, &results);
      measure();
    }
    bool has_failed = false;
    for (int i = 0; i < results.size(); ++i) {
      if (!results.GetTestPartResult(i).failed()) continue;
      has_failed = true;
      std::cout << "measured anew because of " << results.GetTestPartResult(i) << std::endl;
    }
    if (!has_failed) return;
  }
  measure();
}

std::map<std::string, double> Job::injected() const {
  std::map<std::string, double> seconds;
  std::ifstream in(folder() / "delays.txt");
  std::string word;
  for (double value = 0.0; in >> word >> value;) seconds[word] = value;
  return seconds;
}

}  // namespace delays
