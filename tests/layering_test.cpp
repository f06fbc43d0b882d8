// Checks that includes respect the layers, from each #include of the sources. Also runs on made-up
// trees, to show that it can fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Rooms = std::set<std::string>;

const Rooms kTopFolders = {"runner", "staging", "workloads", "analysis"};

/// The component ("room") that a file ("staging/dataset/tar.cpp") or an include path belongs to; ""
/// for none.
std::string room_of(const std::string& path) {
  if (path == "runner/main.cpp" || path.starts_with("runner/wiring.")) return "main";
  std::vector<std::string> parts;
  for (const fs::path& part : fs::path(path)) parts.push_back(part.string());
  if (parts.size() < 2 || !kTopFolders.contains(parts[0])) return "";
  const bool nested = parts.size() > 2;
  static const Rooms deep = {"workloads/nn/executor",     "workloads/nn/layers",
                             "workloads/nn/products",     "workloads/parallel/exchange_bench",
                             "workloads/parallel/hybrid", "workloads/parallel/split_layers",
                             "runner/mllog/rules",        "analysis/report/csv",
                             "analysis/report/html",      "analysis/report/json",
                             "analysis/report/svg",       "analysis/report/text",
                             "analysis/report/xml"};
  if (parts.size() > 3 && deep.contains(parts[0] + "/" + parts[1] + "/" + parts[2])) {
    return parts[0] + "/" + parts[1] + "/" + parts[2];
  }
  if (parts[0] == "workloads") return nested ? "workloads/" + parts[1] : "workloads";
  static const Rooms inner = {"runner/base",         "runner/launch",    "runner/mllog",
                              "runner/telemetry",    "runner/doctor",    "runner/scale",
                              "staging/dataset",     "staging/cache",    "analysis/submission",
                              "analysis/comparison", "analysis/history", "analysis/report",
                              "analysis/command",    "analysis/audit",   "analysis/findings"};
  const std::string folder = parts[0] + "/" + parts[1];
  return nested && inner.contains(folder) ? folder : parts[0];
}

Rooms with(Rooms rooms, const Rooms& others) {
  rooms.insert(others.begin(), others.end());
  return rooms;
}

Rooms below_parallel() {
  return {"workloads/kernels",
          "workloads/optimizer",
          "workloads/embedding",
          "workloads/nn",
          "workloads/nn/layers",
          "workloads/nn/products",
          "workloads/nn/executor",
          "staging",
          "staging/cache",
          "staging/dataset",
          "runner",
          "runner/base",
          "runner/mllog",
          "runner/telemetry"};
}

/// Below analysis/findings.
Rooms below_findings() {
  return {"analysis",    "analysis/audit", "analysis/submission", "analysis/comparison",
          "runner/base", "runner/mllog",   "runner/mllog/rules",  "runner/telemetry"};
}

/// What a writer of one format may include: no other writer.
Rooms seen_by_writers() { return with(below_findings(), {"analysis/findings"}); }

/// One room a format.
Rooms writers() {
  return {"analysis/report/csv", "analysis/report/html", "analysis/report/json",
          "analysis/report/svg", "analysis/report/text", "analysis/report/xml"};
}

/// What `room` may include besides itself.
Rooms visible_from(const std::string& room) {
  static const std::map<std::string, Rooms> table = {
      {"runner/base", {}},
      {"runner/launch", {"runner/base"}},
      {"runner/mllog", {"runner/base"}},
      {"runner/mllog/rules", {"runner/base", "runner/mllog"}},
      {"runner/telemetry", {"runner/base"}},
      {"runner",
       {"runner/base", "runner/launch", "runner/mllog", "runner/mllog/rules", "runner/telemetry"}},
      {"runner/doctor", {"runner", "runner/base", "runner/telemetry"}},
      {"runner/scale", {"runner", "runner/base", "runner/telemetry"}},
      {"staging/dataset", {"runner/base"}},
      {"staging", {"staging/dataset", "runner", "runner/base", "runner/mllog", "runner/telemetry"}},
      {"staging/cache", {"staging", "staging/dataset", "runner", "runner/base"}},
      {"workloads/kernels", {"runner/base"}},
      {"workloads/optimizer", {"workloads/kernels", "runner/base"}},
      {"workloads/embedding", {"workloads/kernels", "workloads/optimizer", "runner/base"}},
      {"workloads/nn", {"workloads/kernels", "workloads/optimizer", "runner/base"}},
      {"workloads/nn/layers", {"workloads/kernels", "workloads/nn", "runner/base"}},
      {"workloads/nn/products",
       {"workloads/kernels", "workloads/optimizer", "workloads/nn", "workloads/nn/layers",
        "runner/base"}},
      {"workloads/nn/executor",
       {"workloads/kernels", "workloads/optimizer", "workloads/nn", "workloads/nn/layers",
        "workloads/nn/products", "runner/base"}},
      {"workloads/parallel", below_parallel()},
      {"workloads/parallel/hybrid", with(below_parallel(), {"workloads/parallel"})},
      {"workloads/parallel/exchange_bench",
       with(below_parallel(), {"workloads/parallel", "runner/doctor"})},
      {"workloads/parallel/split_layers", with(below_parallel(), {"workloads/parallel"})},
      {"workloads/synthetic", {"staging", "staging/dataset", "runner", "runner/base"}},
      {"workloads/images", with(below_parallel(), {"workloads/parallel", "workloads/synthetic"})},
      {"analysis", {"runner/base", "runner/mllog", "runner/telemetry"}},
      {"analysis/audit", {"analysis", "runner/base", "runner/mllog", "runner/telemetry"}},
      {"analysis/submission", {"analysis", "runner/base", "runner/mllog", "runner/mllog/rules"}},
      {"analysis/comparison", {"analysis", "runner/base", "runner/mllog"}},
      {"analysis/history", {"analysis", "analysis/comparison", "runner/base", "runner/mllog"}},
      {"analysis/findings", below_findings()},
      {"analysis/report/csv", seen_by_writers()},
      {"analysis/report/json", seen_by_writers()},
      {"analysis/report/text", seen_by_writers()},
      {"analysis/report/xml", seen_by_writers()},
      {"analysis/report/svg", with(seen_by_writers(), {"analysis/report/xml"})},
      {"analysis/report/html", seen_by_writers()},
      {"analysis/report", with(seen_by_writers(), writers())},
      {"analysis/command",
       with(with(seen_by_writers(), writers()), {"analysis/report", "analysis/history"})}};
  const auto found = table.find(room);
  if (found != table.end()) return found->second;
  return with(below_parallel(), {"workloads/parallel", "workloads/parallel/hybrid",
                                 "workloads/synthetic", "workloads/images"});
}

bool may_include(const std::string& room, const std::string& seen) {
  if (room == "main" || room == seen || visible_from(room).contains(seen)) return true;
  return room == "workloads" && seen.starts_with("workloads/");  // the registry names each workload
}

/// Libraries restricted to some rooms, so that the analysis half builds without them.
bool may_use_library(const std::string& room, const std::string& header) {
  static const std::regex few("(mpi|hdf5|sqlite3|dnnl\\w*)\\.(h|hpp)|oneapi/dnnl/.*|unicode/.*");
  if (room == "main" || !std::regex_match(header, few)) return true;
  if (header == "mpi.h") return room == "runner";
  if (header == "sqlite3.h") return room == "analysis/history";
  if (header.starts_with("unicode/")) return room == "workloads/gnmt";
  static const Rooms without = {"runner/base",        "runner/mllog",      "runner/mllog/rules",
                                "runner/telemetry",   "workloads/kernels", "workloads/optimizer",
                                "workloads/embedding"};
  return !without.contains(room) && !room.starts_with("analysis");
}

/// A header that is not in the tree is generated by the build ("trainmark_revision.h").
bool is_generated(const fs::path& root, const std::string& includer, const std::string& target) {
  return !fs::exists(root / target) && !fs::exists((root / includer).parent_path() / target);
}

/// Each component and the components that its files include. A component is a header and its
/// source, by their common path: "staging/plan".
using Components = std::map<std::string, std::set<std::string>>;

std::string component_of(const std::string& file) {
  return fs::path(file).replace_extension().generic_string();
}

struct Findings {
  int files = 0;
  std::vector<std::string> broken;  ///< "staging/plan.cpp:3: includes workloads/nn/network.h"
  Components components;
};

/// Adds the includes of a file, and those that are not allowed.
void check_file(const fs::path& root, const std::string& name, Findings& findings) {
  static const std::regex include(R"re(^\s*#\s*include\s*(["<])([^">]+)[">])re");
  const std::string component = component_of(name);
  std::ifstream file(root / name);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::smatch match;
    if (!std::regex_search(line, match, include)) continue;
    const std::string target = match[2];
    const bool allowed = match[1] == "<"           ? may_use_library(room_of(name), target)
                         : room_of(target).empty() ? is_generated(root, name, target)
                                                   : may_include(room_of(name), room_of(target));
    if (!allowed) {
      findings.broken.push_back(name + ":" + std::to_string(number) + ": includes " + target);
    }
    if (match[1] == "\"" && component_of(target) != component) {
      findings.components[component].insert(component_of(target));
    }
  }
}

/// Finds include cycles by Tarjan's algorithm: strongly connected sets of components.
class Circles {
 public:
  explicit Circles(const Components& components) : components_(components) {
    for (const auto& [name, targets] : components_) {
      if (!number_.contains(name)) visit(name);
    }
    std::sort(found_.begin(), found_.end());
  }

  /// "runner/a <-> runner/b", the names of each cycle in order.
  const std::vector<std::string>& found() const { return found_; }

 private:
  /// The smallest number reachable from `name`.
  int visit(const std::string& name) {
    const int number = static_cast<int>(number_.size());
    number_[name] = number;
    open_.push_back(name);
    int lowest = number;
    const auto targets = components_.find(name);
    if (targets != components_.end()) {
      for (const std::string& target : targets->second) {
        if (!number_.contains(target)) {
          lowest = std::min(lowest, visit(target));
        } else if (std::find(open_.begin(), open_.end(), target) != open_.end()) {
          lowest = std::min(lowest, number_[target]);
        }
      }
    }
    if (lowest == number) close(name);
    return lowest;
  }

  void close(const std::string& name) {
    const auto first = std::find(open_.begin(), open_.end(), name);
    std::sort(first, open_.end());
    std::string circle = *first;
    for (auto one = first + 1; one != open_.end(); ++one) circle += " <-> " + *one;
    if (open_.end() - first > 1) found_.push_back(circle);
    open_.erase(first, open_.end());
  }

  const Components& components_;
  std::map<std::string, int> number_;
  std::vector<std::string> open_;
  std::vector<std::string> found_;
};

Findings check_tree(const fs::path& root) {
  static const Rooms endings = {".h", ".hpp", ".cpp", ".in"};
  Findings findings;
  for (const std::string& folder : kTopFolders) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file() || !endings.contains(entry.path().extension())) continue;
      ++findings.files;
      check_file(root, fs::relative(entry.path(), root).generic_string(), findings);
    }
  }
  std::sort(findings.broken.begin(), findings.broken.end());
  return findings;
}

/// A made-up tree, removed by the destructor.
class Tree {
 public:
  Tree() {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~Tree() { fs::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  void add(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  Findings check() const { return check_tree(root_); }

 private:
  fs::path root_ =
      fs::path(testing::TempDir()) /
      (std::string("layering_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST(Layering, NoIncludePointsUpOrSideways) {
  const Findings findings = check_tree(".");
  EXPECT_GT(findings.files, 20) << "not run from the project's root";
  EXPECT_THAT(findings.broken, testing::IsEmpty());
}

TEST(Layering, NoComponentsIncludeEachOther) {
  EXPECT_THAT(Circles(check_tree(".").components).found(), testing::IsEmpty());
}

/// Descriptors, and how primitives are described, differ between major versions of the library.
TEST(Layering, VersionsOfOneDnnDifferInOneFile) {
  static const std::regex field(
      "format_desc|format_kind|dnnl_blocked|\\bdata\\.(dims|ndims|padded)|get_(inner|strides|"
      "padded)|"
      "DNNL_VERSION_MAJOR");
  int readers = 0;
  for (const auto& entry : fs::recursive_directory_iterator("workloads")) {
    if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!std::regex_search(text, field)) continue;
    ++readers;
    EXPECT_EQ(fs::path(entry.path()).replace_extension(), "workloads/nn/onednn");
  }
  EXPECT_EQ(readers, 2) << "not run from the project's root";
}

TEST(Layering, AllowsTheArrowsOfTheDesign) {
  const Tree tree;
  tree.add("runner/main.cpp", "#include \"workloads/registry.h\"\n#include \"runner/wiring.h\"\n");
  tree.add("runner/wiring.cpp", "#include \"analysis/report.h\"\n");
  tree.add("runner/communicator.cpp", "#include <mpi.h>\n#include \"runner/base/error.h\"\n");
  tree.add("staging/plan.cpp", "#include <hdf5.h>\n#include \"runner/communicator.h\"\n");
  tree.add("workloads/registry.cpp", "#include \"workloads/cosmoflow/workload.h\"\n");
  tree.add("workloads/cosmoflow/workload.cpp",
           "#include \"workloads/nn/network.h\"\n#include \"staging/prefetch.h\"\n");
  tree.add("analysis/report.cpp",
           "#include \"runner/mllog/keys.h\"\n#include <vector>\n#include \"generated.h\"\n");
  EXPECT_EQ(tree.check().files, 7);
  EXPECT_THAT(tree.check().broken, testing::IsEmpty());
}

TEST(Layering, FindsEachArrowThatPointsUpOrSideways) {
  const Tree tree;
  tree.add("runner/run_loop.cpp", "// first line\n#include \"workloads/resnet50/workload.h\"\n");
  tree.add("runner/doctor/command.cpp", "#include \"runner/wiring.h\"\n");
  tree.add("runner/base/error.cpp", "#include \"runner/communicator.h\"\n");
  tree.add("runner/mllog/writer.cpp", "#include \"runner/telemetry/telemetry.h\"\n");
  tree.add("staging/dataset/tar.cpp", "#include \"staging/prefetch.h\"\n");
  tree.add("staging/plan.cpp", "  #  include \"workloads/nn/network.h\"\n");
  tree.add("workloads/nn/network.cpp", "#include \"runner/communicator.h\"\n");
  tree.add("workloads/nn/planner.cpp", "#include \"workloads/nn/layers/loss.h\"\n");
  tree.add("workloads/nn/layers/loss.cpp", "#include \"workloads/nn/products/stem.h\"\n");
  tree.add("workloads/kernels/rows.h", "#include <dnnl.hpp>\n");
  tree.add("workloads/parallel/replica.h", "#include \"workloads/parallel/hybrid/state.h\"\n");
  tree.add("workloads/resnet50/model.cpp", "#include \"workloads/cosmoflow/model.h\"\n");
  tree.add("workloads/resnet50/names.cpp", "#include \"workloads/registry.h\"\n");
  tree.add("analysis/report.cpp", "#include \"runner/run_config.h\"\n");
  tree.add("analysis/score.cpp", "#include \"score.h\"\n#include \"../staging/plan.h\"\n");
  tree.add("analysis/score.h", "");
  tree.add("staging/plan.h", "");
  EXPECT_THAT(tree.check().broken,
              testing::UnorderedElementsAre(
                  "runner/run_loop.cpp:2: includes workloads/resnet50/workload.h",
                  "runner/doctor/command.cpp:1: includes runner/wiring.h",
                  "runner/base/error.cpp:1: includes runner/communicator.h",
                  "runner/mllog/writer.cpp:1: includes runner/telemetry/telemetry.h",
                  "staging/dataset/tar.cpp:1: includes staging/prefetch.h",
                  "staging/plan.cpp:1: includes workloads/nn/network.h",
                  "workloads/nn/network.cpp:1: includes runner/communicator.h",
                  "workloads/nn/planner.cpp:1: includes workloads/nn/layers/loss.h",
                  "workloads/nn/layers/loss.cpp:1: includes workloads/nn/products/stem.h",
                  "workloads/kernels/rows.h:1: includes dnnl.hpp",
                  "workloads/parallel/replica.h:1: includes workloads/parallel/hybrid/state.h",
                  "workloads/resnet50/model.cpp:1: includes workloads/cosmoflow/model.h",
                  "workloads/resnet50/names.cpp:1: includes workloads/registry.h",
                  "analysis/report.cpp:1: includes runner/run_config.h",
                  "analysis/score.cpp:1: includes score.h",
                  "analysis/score.cpp:2: includes ../staging/plan.h"));
}

TEST(Layering, FindsComponentsThatIncludeEachOther) {
  const Tree tree;
  tree.add("runner/run.h", "");
  tree.add("runner/run.cpp", "#include \"runner/run.h\"\n#include \"runner/state.h\"\n");
  tree.add("runner/state.h", "#include \"runner/run.h\"\n");
  tree.add("runner/control.cpp", "#include \"runner/run.h\"\n#include \"runner/state.h\"\n");
  tree.add("staging/plan.h", "#include \"staging/copy.h\"\n");
  tree.add("staging/copy.cpp", "#include \"staging/verify.h\"\n");
  tree.add("staging/verify.cpp", "#include \"staging/plan.h\"\n#include \"runner/run.h\"\n");
  tree.add("staging/shard.cpp", "#include \"staging/plan.h\"\n#include \"staging/shard.h\"\n");
  EXPECT_THAT(Circles(tree.check().components).found(),
              testing::ElementsAre("runner/run <-> runner/state",
                                   "staging/copy <-> staging/plan <-> staging/verify"));
}

TEST(Layering, FindsLibrariesWhereTheyAreNotWanted) {
  const Tree tree;
  tree.add("runner/base/system_facts.cpp", "#include <mpi.h>\n");
  tree.add("workloads/parallel/exchange.cpp", "#include <mpi.h>\n");
  tree.add("analysis/log_parser.cpp", "#include <hdf5.h>\n");
  tree.add("analysis/report/html.cpp", "#include <dnnl.hpp>\n#include <unicode/uchar.h>\n");
  tree.add("runner/telemetry/telemetry.cpp", "#include <dnnl.hpp>\n");
  EXPECT_THAT(tree.check().broken,
              testing::ElementsAre("analysis/log_parser.cpp:1: includes hdf5.h",
                                   "analysis/report/html.cpp:1: includes dnnl.hpp",
                                   "analysis/report/html.cpp:2: includes unicode/uchar.h",
                                   "runner/base/system_facts.cpp:1: includes mpi.h",
                                   "runner/telemetry/telemetry.cpp:1: includes dnnl.hpp",
                                   "workloads/parallel/exchange.cpp:1: includes mpi.h"));
}

}  // namespace
