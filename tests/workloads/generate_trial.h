// What every generator of a dataset promises of its folder, for tests of one.
// Hides folders, what an interrupted run leaves, and the parser.
#pragma once

#include <gmock/gmock.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/content.h"
#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace generate_trial {

namespace fs = std::filesystem;

inline std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What files hold, by path below `folder`.
inline std::map<std::string, std::string> files_below(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      files[fs::relative(entry.path(), folder).string()] = base::content(entry.path());
    }
  }
  return files;
}

template <class Options, class Result>
class GenerateTest : public testing::Test {
 protected:
  /// Of the workload.
  struct Calls {
    Result (*generate)(const Options& options);
    nlohmann::json (*plan)(const Options& options);
    std::function<base::ExitCode()> (*declare)(CLI::App& app);
    const char* manifest_name = "manifest.json";
  };
  explicit GenerateTest(const Calls& calls) : calls_(calls) {}

  /// Of a small dataset, but for where it lies.
  virtual Options small() const = 0;
  Options options(const std::string& name) const {
    Options options = small();
    options.output = (folder_.path() / name).string();
    return options;
  }
  nlohmann::json manifest(const Options& of) const {
    return nlohmann::json::parse(base::content(of.output + "/" + calls_.manifest_name));
  }

  /// `change` is made to the options of all datasets.
  template <class Change>
  void expect_files_of_the_seed(Change change) const {
    Options one = options("one"), many = options("many"), other = options("other");
    one.threads = 1;
    many.threads = 5;
    other.seed = 2;
    for (Options* each : {&one, &many, &other}) {
      change(*each);
      calls_.generate(*each);
    }
    const auto first = files_below(one.output), third = files_below(other.output);
    EXPECT_TRUE(first == files_below(many.output));
    for (const auto& [name, text] : first) EXPECT_TRUE(third.at(name) != text) << name;
  }
  void expect_files_of_the_seed() const {
    expect_files_of_the_seed([](Options&) {});
  }

  /// What both runs told.
  std::pair<Result, Result> generate_twice() const {
    const Result first = calls_.generate(options("a"));
    EXPECT_FALSE(first.already_there);
    const auto before = times_below(options("a").output);
    Options again = options("a");
    again.output += "/";
    again.threads = 3;
    const Result second = calls_.generate(again);
    EXPECT_TRUE(second.already_there);
    EXPECT_EQ(second.bytes, first.bytes);
    EXPECT_TRUE(times_below(options("a").output) == before);
    return {first, second};
  }

  /// As an interrupted run leaves it: training files, the one at `lost` half written, the manifest
  /// without totals. The file at `kept` is not written again.
  template <class Change>
  void expect_continued(Change change, const std::string& lost, const std::string& kept) const {
    SCOPED_TRACE(lost);
    Options whole = options("whole"), continued = options("a");
    change(whole);
    change(continued);
    const Result expected = calls_.generate(whole);
    const fs::path part = continued.output + ".part";
    fs::create_directory(part);
    fs::copy(whole.output + "/train", part / "train", fs::copy_options::recursive);
    fs::rename(part / lost, part / (lost + "~"));
    fs::resize_file(part / (lost + "~"), 20);
    nlohmann::json begun = manifest(whole);
    ASSERT_EQ(begun.erase("files") + begun.erase("bytes"), 2U);
    folder_.write(std::string("a.part/") + calls_.manifest_name, begun.dump());
    const auto time = fs::last_write_time(part / kept);

    EXPECT_EQ(calls_.generate(continued).files, expected.files);
    EXPECT_TRUE(files_below(continued.output) == files_below(whole.output));
    EXPECT_EQ(fs::last_write_time(continued.output + "/" + kept), time);
    fs::remove_all(continued.output);
    fs::remove_all(whole.output);
  }

  /// Where a run with `change` was interrupted.
  template <class Change>
  void expect_new_start(Change change) const {
    Options other = options("a");
    change(other);
    other.output += ".part";
    calls_.generate(other);
    calls_.generate(options("a"));
    calls_.generate(options("b"));
    EXPECT_TRUE(files_below(options("a").output) == files_below(options("b").output));
  }

  /// Neither what others made nor a dataset without `change`.
  template <class Change>
  void expect_untouched(Change change) const {
    using testing::HasSubstr;
    folder_.write("mine/thesis.txt", "precious");
    EXPECT_THAT(refusal_of(options("mine")),
                HasSubstr("mine: is there already and is no generated dataset"));
    folder_.write("b.part/thesis.txt", "precious");
    EXPECT_THAT(refusal_of(options("b")), HasSubstr("b.part: is in the way"));
    calls_.generate(options("a"));
    Options other = options("a");
    change(other);
    EXPECT_THAT(refusal_of(other), HasSubstr("holds a dataset of other options"));
    EXPECT_EQ(base::content(folder_.path() / "mine/thesis.txt"), "precious");
  }

  /// What is said to options with `change`, of which nothing is begun.
  template <class Change>
  std::string refusal(Change change) const {
    Options bad = options("bad");
    change(bad);
    const std::string message = refusal_of(bad);
    EXPECT_TRUE(fs::is_empty(folder_.path()));
    return message;
  }

  /// The plan, and what was told when it was carried out.
  std::pair<nlohmann::json, Result> planned(const Options& options) const {
    const nlohmann::json plan = calls_.plan(options);
    EXPECT_EQ(plan["already_there"], false);
    EXPECT_GT(plan["free_bytes"], 0);
    EXPECT_FALSE(fs::exists(options.output));
    const Result result = calls_.generate(options);
    EXPECT_EQ(calls_.plan(options)["already_there"], true);
    return {plan, result};
  }

  /// What `trainmark generate` reports.
  nlohmann::json reported(const std::string& arguments) const {
    CLI::App app;
    const auto action = calls_.declare(app);
    const std::string report = (folder_.path() / "report.json").string();
    app.parse(arguments + " --json " + report, false);
    EXPECT_EQ(action(), base::ExitCode::kSuccess);
    return nlohmann::json::parse(base::content(report));
  }

  const base::TemporaryDirectory folder_;

 private:
  static std::map<std::string, fs::file_time_type> times_below(const fs::path& folder) {
    std::map<std::string, fs::file_time_type> times;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      times[entry.path().string()] = entry.last_write_time();
    }
    return times;
  }
  std::string refusal_of(const Options& options) const {
    return base::thrown_message<base::ConfigError>([&] { calls_.generate(options); });
  }

  const Calls calls_;
};

}  // namespace generate_trial
