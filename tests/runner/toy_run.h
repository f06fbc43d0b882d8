// Runs of the toy program in the test's folder, for tests from outside. TOY_PROGRAM is its path.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "runner/from_outside.h"

namespace outside {

using nlohmann::json;

/// Eight epochs, unless the target is met before.
inline json toy_config(const fs::path& results, const std::string& system = "box") {
  return {{"workload", "toy"},
          {"epochs", 8},
          {"seed", 5},
          {"threads", 1},
          {"clear_caches", "never"},
          {"results", {{"directory", results.string()}, {"system", system}}}};
}

class ToyRun : public ProgramTest {
 protected:
  /// The path of a configuration in which `overrides` replace keys.
  std::string config(const json& overrides = json::object()) const {
    json object = toy_config(folder_ / "results");
    object.update(overrides);
    std::ofstream(folder_ / "toy.json") << object;
    return (folder_ / "toy.json").string();
  }
  /// A file of the results, or their folder.
  fs::path results(const std::string& name = "") const {
    return folder_ / "results/box/toy" / name;
  }
  Ended toy(const std::string& arguments) const { return shell(TOY_PROGRAM " " + arguments); }
  Ended toy_on(int ranks, const std::string& arguments) const {
    return shell(mpirun(ranks) + TOY_PROGRAM " " + arguments);
  }
};

}  // namespace outside
