// Arbitrary bytes as scaling.json and as a file of reference points: a figure or the reason for
// none, a ConfigError or usable points.
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/side_files.h"
#include "analysis/submission/rcp.h"
#include "runner/base/error.h"
#include "tests/fuzz/memory_file.h"

namespace {

void compare(const analysis::submission::ReferenceSet& set) {
  for (const double batch_size : {1.0, 256.0, 1e6}) {
    const analysis::submission::RcpRun run{"result_0.txt", set.benchmark, batch_size,
                                           true,           3.0,           {}};
    const std::vector<analysis::submission::RcpRun> runs(5, run);
    for (const auto& era : analysis::submission::rcp_eras()) {
      const auto result = analysis::submission::test_convergence(
          runs, set, {era.era, analysis::submission::RcpPoints::kPruned, false});
      fuzz::require(!result.message.empty() && result.normalization >= 1.0);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string problem;
  const auto factor = analysis::read_scaling_factor(text, problem);
  fuzz::require(factor.has_value() == problem.empty());
  try {
    for (const auto& set :
         analysis::submission::parse_reference_file(std::string(text), "fuzz.json")) {
      compare(set);
    }
  } catch (const base::ConfigError&) {
  }
  const fuzz::MemoryFile file(data, size);
  try {
    compare(analysis::submission::read_custom_points(file.path(), "3.0", "oc20"));
  } catch (const base::ConfigError&) {
  }
  return 0;
}
