// The options of `trainmark generate dlrm`.
// Hides the parser.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "runner/documents.h"
#include "workloads/dlrm/generate.h"
#include "workloads/dlrm/tables.h"

namespace dlrm {
namespace {

struct Call {
  GenerateOptions options;
  std::string tables = "small";
  bool dry_run = false;
  std::string json;
};

base::ExitCode generate(const Call& call) {
  GenerateOptions options = call.options;
  options.tables = parse_tables(call.tables);
  if (call.dry_run) {
    runner::write_document(generate_plan(options), call.json.empty() ? "-" : call.json, std::cout);
    return base::ExitCode::kSuccess;
  }
  const GenerateResult result = generate_clicks(options);
  std::cerr << fmt::format(
      "{}{}: {} samples, {} bytes; on test.bin AUC {:.4f} and loss {:.4f} nats "
      "are the best that can be expected\n",
      result.already_there ? "Already there: " : "", options.output, result.samples, result.bytes,
      result.bayes_auc, result.entropy_floor);
  if (!call.json.empty()) {
    const nlohmann::json document = {
        {"output", options.output},      {"already_there", result.already_there},
        {"samples", result.samples},     {"bytes", result.bytes},
        {"bayes_auc", result.bayes_auc}, {"entropy_floor", result.entropy_floor}};
    runner::write_document(document, call.json, std::cout);
  }
  return base::ExitCode::kSuccess;
}

}  // namespace

std::function<base::ExitCode()> declare_generate(CLI::App& app) {
  auto call = std::make_shared<Call>();
  GenerateOptions& options = call->options;
  app.add_option("output,--output", options.output, "folder to make")->required();
  const auto add = [&app](const char* name, auto& value, const char* help) {
    return app.add_option(name, value, help)->capture_default_str();
  };
  add("--samples", options.samples, "samples of train.bin");
  add("--test-samples", options.test_samples, "samples of test.bin");
  app.add_option("--validation-samples", options.validation_samples,
                 "samples of val.bin; 0: no such file [50000, with --tsv as --test-samples]");
  app.add_flag("--tsv", options.tsv,
               "write the samples as Criteo's text, too: day_0 to day_22 for training, day_23 for "
               "test and validation; lines of label, counts and hexadecimal ids");
  add("--dense", options.dense, "dense features of a sample");
  add("--tables", call->tables,
      "rows of the tables: small (26 of at most 2000), criteo, capped:ROWS (criteo, cut), or sizes "
      "such as 3,5,2");
  add("--positive-rate", options.positive_rate, "share of samples that are clicks");
  add("--seed", options.seed, "seed of all samples")->check(CLI::NonNegativeNumber);
  add("--threads", options.threads, "threads; 0: the CPUs that this process may use");
  app.add_flag("--dry-run", call->dry_run, "show samples, bytes and free space only");
  app.add_option("--json", call->json, "write the result as JSON to this file; '-' for stdout");
  return [call] { return generate(*call); };
}

}  // namespace dlrm
