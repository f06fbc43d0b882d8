// The layers and tables of the model, and their names.
#include "workloads/dlrm/model.h"

#include <fmt/format.h>

#include <cmath>

#include "runner/base/error.h"
#include "workloads/dlrm/tables.h"

namespace dlrm {
namespace {

/// Weights N(0, 2 / (in + out)), biases N(0, 1 / out).
nn::ValueId add_layer(nn::Network& network, nn::ValueId src, const std::string& name,
                      std::int64_t outputs, bool relu) {
  const std::int64_t inputs = network.shape(src).channels;
  nn::FullyConnectedSpec spec;
  spec.name = name;
  spec.outputs = outputs;
  spec.weights = {nn::Distribution::kNormal, std::sqrt(2.0 / static_cast<double>(inputs + outputs)),
                  0.0};
  spec.bias = {nn::Distribution::kNormal, std::sqrt(1.0 / static_cast<double>(outputs)), 0.0};
  spec.relu = relu;
  return network.fully_connected(src, spec);
}

/// The reference also numbers its activations (ReLUs, sigmoid) as layers.
std::string layer_name(const char* perceptron, std::size_t layer) {
  return fmt::format("{}.{}", perceptron, 2 * layer);
}

}  // namespace

std::int64_t ModelConfig::parameter_count() const {
  std::int64_t rows = 0;
  for (const std::int64_t table : tables) rows += table;
  return rows * embedding_width + build_network(*this).parameter_count();
}

ModelConfig parse_model(const base::ObjectReader& in) {
  ModelConfig model;
  const auto widths = [&](const char* key, const std::vector<std::int64_t>& fallback,
                          const char* help) {
    const auto layers = in.optional<std::vector<std::int64_t>>(key, fallback, help);
    for (const std::int64_t width : layers) {
      if (width >= 1 && width <= 65536) continue;
      throw base::ConfigError(
          fmt::format("{}: expected layers of 1 to 65536 outputs, got {}", in.where(key), width));
    }
    if (layers.empty()) throw base::ConfigError(in.where(key) + ": expected at least one layer");
    return layers;
  };
  model.dense_features = in.optional<std::int64_t>("dense_features", model.dense_features,
                                                   "counts of a sample", base::within(1, 65536));
  model.embedding_width =
      in.optional<std::int64_t>("embedding_width", model.embedding_width,
                                "elements of an embedding vector", base::within(1, 4096));
  model.bottom =
      widths("bottom", model.bottom, "outputs of the layers that dense features go through");
  model.top = widths("top", model.top, "outputs of the layers after the interaction");
  model.tables = parse_tables(
      in.optional<std::string>("tables", "criteo",
                               "rows of the embedding tables: criteo (the benchmark's), capped:N "
                               "(those cut to N rows), small, or a list as 1000,20,3"),
      in.where("tables"));
  if (model.bottom.back() != model.embedding_width) {
    throw base::ConfigError(
        fmt::format("{}: the last layer must have the {} outputs of an embedding, got {}",
                    in.where("bottom"), model.embedding_width, model.bottom.back()));
  }
  if (model.top.back() != 1) {
    throw base::ConfigError(fmt::format("{}: the last layer must have 1 output, got {}",
                                        in.where("top"), model.top.back()));
  }
  return model;
}

nn::Network build_network(const ModelConfig& model) {
  nn::Network network;
  nn::ValueId value = network.input({model.dense_features, {}});
  const auto tables = static_cast<std::int64_t>(model.tables.size());
  const nn::ValueId embeddings =
      network.input({tables * model.embedding_width, {}}, nn::InputGradient::kWanted);
  for (std::size_t i = 0; i < model.bottom.size(); ++i) {
    value = add_layer(network, value, layer_name("bot_l", i), model.bottom[i], true);
  }
  value = network.dot_interaction(value, embeddings);
  for (std::size_t i = 0; i < model.top.size(); ++i) {
    value =
        add_layer(network, value, layer_name("top_l", i), model.top[i], i + 1 < model.top.size());
  }
  return network;
}

std::vector<parallel::TableSpec> table_specs(const ModelConfig& model) {
  std::vector<parallel::TableSpec> specs;
  for (std::size_t i = 0; i < model.tables.size(); ++i) {
    specs.push_back(
        {fmt::format("emb_l.{}.weight", i), model.tables[i], model.embedding_width, model.lookups});
  }
  return specs;
}

std::vector<std::string> mlperf_tensor_names(const ModelConfig& model) {
  std::vector<std::string> names = {"embeddings"};
  for (std::size_t i = 1; i <= model.bottom.size(); ++i) {
    names.push_back(fmt::format("bottom_mlp_dense{}", i));
  }
  for (std::size_t i = 1; i <= model.top.size(); ++i) {
    names.push_back(fmt::format("top_mlp_dense{}", i));
  }
  return names;
}

}  // namespace dlrm
