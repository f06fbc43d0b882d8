// Shared steps of all dataset generators.
#include "workloads/synthetic/generation.h"

#include <nlohmann/json.hpp>

#include "staging/space.h"

namespace synthetic {

GenerateResult generate_once(const staging::GeneratedFolder& folder,
                             const std::function<GenerateResult(const std::string& part)>& write) {
  if (folder.is_there()) {
    const nlohmann::json manifest = folder.manifest();
    return {true, manifest.value("files", std::int64_t{0}),
            manifest.value("bytes", std::int64_t{0})};
  }
  const GenerateResult result = write(folder.begin());
  folder.publish({{"files", result.files}, {"bytes", result.bytes}});
  return result;
}

nlohmann::json plan_of(const staging::GeneratedFolder& folder, std::int64_t files,
                       std::int64_t estimated_bytes) {
  nlohmann::json plan = folder.identity();
  plan["output"] = folder.output();
  plan["files"] = files;
  plan["estimated_bytes"] = estimated_bytes;
  plan["free_bytes"] = staging::space_near(folder.output()).free_bytes;
  plan["already_there"] = folder.is_there();
  return plan;
}

void check_usual_options(const GenerateOptions& options) {
  constexpr std::int64_t kMostThreads = 4096;
  check_within<std::int64_t>("threads", options.threads, 0, kMostThreads);
  if (options.output.empty()) throw base::ConfigError("generate: --output: must not be empty");
}

}  // namespace synthetic
