// The command-line options of `trainmark generate dlrm`.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "workloads/dlrm/generate.h"
#include "workloads/dlrm/tables.h"
#include "workloads/synthetic/generate_call.h"

namespace dlrm {
namespace {

synthetic::Generated generated(const GenerateResult& result) {
  return {result.already_there,
          fmt::format("{} samples, {} bytes; on test.bin AUC {:.4f} and loss {:.4f} nats are the "
                      "best that can be expected",
                      result.samples, result.bytes, result.bayes_auc, result.entropy_floor),
          {{"samples", result.samples},
           {"bytes", result.bytes},
           {"bayes_auc", result.bayes_auc},
           {"entropy_floor", result.entropy_floor}}};
}

}  // namespace

std::function<base::ExitCode()> declare_generate(CLI::App& app) {
  const auto options = std::make_shared<GenerateOptions>();
  const auto add = [&app](const char* name, auto& value, const char* help) {
    return app.add_option(name, value, help)->capture_default_str();
  };
  add("--samples", options->samples, "samples of train.bin");
  add("--test-samples", options->test_samples, "samples of test.bin");
  app.add_option("--validation-samples", options->validation_samples,
                 "samples of val.bin; 0: no such file [50000, with --tsv as --test-samples]");
  app.add_flag("--tsv", options->tsv,
               "write the samples as Criteo's text, too: day_0 to day_22 for training, day_23 for "
               "test and validation; lines of label, counts and hexadecimal ids");
  add("--dense", options->dense, "dense features of a sample");
  const auto take_tables = [options](const std::string& text) {
    options->tables = parse_tables(text);
  };
  app.add_option_function<std::string>("--tables", take_tables,
                                       "rows of the tables: small (26 of at most 2000), criteo, "
                                       "capped:ROWS (criteo, cut), or sizes such as 3,5,2")
      ->default_str("small");
  add("--positive-rate", options->positive_rate, "share of samples that are clicks");
  return synthetic::declare_generator(app, options,
                                      {[options] { return generate_plan(*options); },
                                       [options] { return generated(generate_clicks(*options)); }});
}

}  // namespace dlrm
