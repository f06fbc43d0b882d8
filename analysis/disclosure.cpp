// Text of precision and parallelism.
#include "analysis/disclosure.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runner/mllog/keys.h"

namespace analysis {
namespace {

namespace keys = mllog::keys;

/// Name and value of each key that the log has.
using Disclosed = std::vector<std::pair<std::string, std::string>>;
using Names = std::vector<std::pair<const char*, const char*>>;

Disclosed disclosed_in(const Names& names,
                       const std::function<Value(const std::string& key)>& value_of) {
  Disclosed disclosed;
  for (const auto& [name, key] : names) {
    std::string text = to_text(value_of(key));
    if (!text.empty()) disclosed.emplace_back(name, std::move(text));
  }
  return disclosed;
}

std::string joined(const Disclosed& disclosed) {
  std::string text;
  for (const auto& [name, value] : disclosed)
    text += (text.empty() ? "" : ", ") + name + " " + value;
  return text;
}

}  // namespace

Disclosure disclosure_of(const std::function<Value(const std::string& key)>& value_of) {
  Disclosure disclosed;
  const Names precisions = {{"linear", keys::kPrecisionInLinear},
                            {"attention", keys::kPrecisionInAttention},
                            {"communication", keys::kPrecisionInCommunication}};
  const Disclosed precision = disclosed_in(precisions, value_of);
  const bool is_one =
      precision.size() == precisions.size() && std::ranges::all_of(precision, [&](const auto& one) {
        return one.second == precision.front().second;
      });
  disclosed.precision = is_one ? precision.front().second : joined(precision);

  disclosed.gradients = to_text(value_of(keys::kGradientsBetweenNodes));

  Disclosed parallelism = disclosed_in({{"tensor", keys::kTensorParallelism},
                                        {"pipeline", keys::kPipelineParallelism},
                                        {"context", keys::kContextParallelism},
                                        {"expert", keys::kExpertParallelism}},
                                       value_of);
  const bool is_told = !parallelism.empty();
  std::erase_if(parallelism, [](const auto& one) { return one.second == "1"; });
  disclosed.parallelism = is_told && parallelism.empty() ? "data" : joined(parallelism);

  disclosed.micro_batch_size = value_of(keys::kMicroBatchSize);
  disclosed.config_filename = to_text(value_of(keys::kConfigFilename));
  return disclosed;
}

}  // namespace analysis
