// Runs whose source vanishes or changes: between plan and copy, and between copy and use.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>

#include "runner/base/system_facts.h"
#include "runner/staged_copies.h"
#include "workloads/exit_codes.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::kData;
using outside::kTargetMissed;
using outside::mpirun;
using outside::Started;
using testing::AllOf;
using testing::HasSubstr;

class ChangedSource : public outside::StagedCopies {
 protected:
  json config() const override {
    json config = StagedCopies::config();
    config["staging"]["readers"] = 1;  // so that the second image is read after the first
    return config;
  }
  std::string run_program() const { return TRAINMARK " run " + saved(config()); }

  /// Of the training set, in its order.
  fs::path image(std::size_t index) const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "data/train")) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::ranges::sort(files);
    return files.at(index);
  }
  static void write_text(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  /// Puts another image of the same size in the place of one: another table of quantization.
  static void replace(const fs::path& path) {
    std::string bytes = content(path);
    const std::size_t table = bytes.find("\xff\xdb");
    ASSERT_NE(table, std::string::npos);
    constexpr std::size_t kFirstEntry = 5;
    bytes.at(table + kFirstEntry) = static_cast<char>(bytes[table + kFirstEntry] ^ 4);
    write_text(path.string() + ".new", bytes);
    fs::rename(path.string() + ".new", path);
  }

  /// A run on two ranks in which `change` happens to the second image while the first, of the same
  /// pack, is read to be copied.
  Ended run_with(const std::function<void(const fs::path&)>& change) const {
    const fs::path meet = folder_ / "meet";
    fs::remove_all(meet);
    fs::create_directory(meet);
    const Started job =
        start(outside::mpirun_with_pause(2, image(0).string(), meet.string()) + run_program());
    EXPECT_TRUE(comes([&] { return fs::exists(meet / "reached"); }));
    change(image(1));
    write_text(meet / "go", "");
    return wait(job);
  }

  /// Weights of an undisturbed run of the source as it is now.
  std::string weights(const std::string& mode) {
    fs::remove_all(folder_ / "results");
    const Ended ended = shell(mpirun(2) + run_program() + " --set staging.mode=" + mode);
    EXPECT_EQ(ended.status, kTargetMissed) << ended.err;
    return content(result("1.weights.h5"));
  }
};

TEST_F(ChangedSource, IsNamedWithItsNodeWhileItIsCopied) {
  const fs::path victim = image(1);
  const std::string before = content(victim);
  const struct {
    const char* what;
    std::function<void(const fs::path&)> change;
    const char* told;
  } kChanges[] = {
      {"vanished", [](const fs::path& path) { fs::remove(path); }, "No such file"},
      {"truncated", [](const fs::path& path) { fs::resize_file(path, 100); }, "changed while"},
      {"grown", [](const fs::path& path) { std::ofstream(path, std::ios::app) << "more"; },
       "changed while"},
      {"replaced", replace, "changed while"}};
  for (const auto& [what, change, told] : kChanges) {
    SCOPED_TRACE(what);
    const Ended ended = run_with(change);
    EXPECT_EQ(ended.status, kData) << ended.err;
    EXPECT_THAT(ended.err, AllOf(HasSubstr(": " + base::host_name() + ": "),
                                 HasSubstr(victim.string()), HasSubstr(told)));
    EXPECT_TRUE(all_end());
    if (what != std::string("replaced")) write_text(victim, before);
    const std::string staged = weights("shard");
    EXPECT_TRUE(fs::is_empty(near()));
    EXPECT_EQ(staged, weights("stream"));
  }
}

TEST_F(ChangedSource, IsCopiedAnewAfterItWasStagedAhead) {
  const Ended ended = shell(mpirun(2) + stage());
  ASSERT_EQ(ended.status, 0) << ended.err;
  const std::string before = weights("shard");
  replace(image(1));
  const std::string after = weights("shard");
  EXPECT_NE(before, after);
  EXPECT_EQ(after, weights("stream"));
}

TEST_F(ChangedSource, DoesNotMatterOnceItIsCopied) {
  const std::string undisturbed = weights("shard");
  fs::remove_all(folder_ / "results");
  const Started job = start(mpirun(2) + run_program());
  EXPECT_TRUE(
      comes([this] { return content(result("1.txt")).find("staging_stop") != std::string::npos; }));
  replace(image(1));
  const Ended ended = wait(job);
  EXPECT_EQ(ended.status, kTargetMissed) << ended.err;
  EXPECT_EQ(content(result("1.weights.h5")), undisturbed);
}

}  // namespace
