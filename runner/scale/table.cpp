// Three ways to write the figures.
#include "runner/scale/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "runner/base/json_text.h"
#include "runner/base/printable.h"
#include "runner/base/rate_text.h"

namespace scale {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

const Row& a_possible(const Result& result) {
  return *std::ranges::find_if(result.rows, [](const Row& row) { return row.problem.empty(); });
}

double flops_per_parameter(const runner::TrainingScale& scale) {
  return static_cast<double>(scale.forward_flops) / static_cast<double>(scale.parameters);
}

Json rates_document(const Rates& rates) {
  Json all = {{"samples_per_s_per_rank", nullptr},
              {"samples_source", nullptr},
              {"link_bytes_per_s", nullptr},
              {"link_latency_s", nullptr},
              {"link_source", nullptr}};
  if (rates.compute) {
    all["samples_per_s_per_rank"] = rates.compute->samples_per_s;
    all["samples_source"] = base::printable(rates.compute->source);
  }
  if (rates.link) {
    all["link_bytes_per_s"] = rates.link->bytes_per_s;
    all["link_latency_s"] = rates.link->latency_s;
    all["link_source"] = base::printable(rates.link->source);
  }
  return all;
}

std::string cell_of(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return base::json_line(value);
  std::string quoted = "\"";
  for (const char one : value.get<std::string>())
    quoted += one == '"' ? "\"\"" : std::string(1, one);
  return quoted + '"';
}

/// What text shows of the figures.
struct Column {
  std::string title;
  std::function<std::string(const Row& row)> text;
};

std::string short_number(double value) { return fmt::format("{:.4g}", value); }

std::string range_text(const std::optional<double>& least, const std::optional<double>& most,
                       double factor) {
  if (!least || !most) return "-";
  return short_number(*least * factor) + " .. " + short_number(*most * factor);
}

std::vector<Column> columns(const Result& result) {
  const auto traffic = [](const Row& row) -> const runner::NodeTraffic& {
    return row.scale.gradients;
  };
  const auto run_bytes = [traffic](const Row& row) {
    return static_cast<double>(traffic(row).node.bytes) * static_cast<double>(steps_of(row));
  };
  std::vector<Column> all = {
      {"nodes", [](const Row& row) { return std::to_string(row.scale.nodes); }},
      {"steps/epoch", [](const Row& row) { return std::to_string(row.scale.steps_per_epoch); }},
      {"steps", [](const Row& row) { return std::to_string(steps_of(row)); }},
      {"FLOP/step",
       [](const Row& row) {
         return short_number(static_cast<double>(row.batch) *
                             static_cast<double>(row.scale.training_flops));
       }},
      {"messages/step", [=](const Row& row) { return std::to_string(traffic(row).node.messages); }},
      {"sent/step", [=](const Row& row) { return base::bytes_text(traffic(row).node.bytes); }},
      {"sent in all", [=](const Row& row) { return base::bytes_text(run_bytes(row)); }}};
  if (!result.rates.compute) return all;
  const auto time = [](const char* title, std::function<double(const Row&)> factor) {
    return Column{title, [factor = std::move(factor)](const Row& row) {
                    return range_text(row.time->step_least_s, row.time->step_most_s, factor(row));
                  }};
  };
  all.push_back({"compute s", [](const Row& row) { return short_number(row.time->compute_s); }});
  all.push_back(time("step s", [](const Row&) { return 1.0; }));
  all.push_back(time(
      "epoch s", [](const Row& row) { return static_cast<double>(row.scale.steps_per_epoch); }));
  all.push_back(time("run s", [](const Row& row) { return static_cast<double>(steps_of(row)); }));
  return all;
}

void print_heading(const Result& result, std::ostream& out) {
  const runner::TrainingScale& model = a_possible(result).scale;
  out << base::printable(fmt::format("{} ({})", result.workload, result.config)) << '\n'
      << fmt::format(
             "{} parameters; {:.4g} GFLOP forward and {:.4g} GFLOP training a sample; {:.1f} "
             "forward FLOP a parameter\n{} samples, {} epochs\n",
             model.parameters, static_cast<double>(model.forward_flops) * 1e-9,
             static_cast<double>(model.training_flops) * 1e-9, flops_per_parameter(model),
             model.train_samples, result.rows.front().epochs);
  if (result.rates.compute) {
    out << base::printable(fmt::format("a rank computes {:.4g} samples/s ({})",
                                       result.rates.compute->samples_per_s,
                                       result.rates.compute->source))
        << '\n';
  }
  if (result.rates.link) {
    out << base::printable(fmt::format("a node sends {}, latency {:.4g} us ({})",
                                       base::rate_text(result.rates.link->bytes_per_s),
                                       result.rates.link->latency_s * 1e6,
                                       result.rates.link->source))
        << '\n';
  }
}

void print_table(const Result& result, std::ostream& out) {
  std::vector<Column> all = {{"batch", [](const Row& row) { return std::to_string(row.batch); }},
                             {"ranks", [](const Row& row) { return std::to_string(row.ranks); }}};
  for (Column& column : columns(result)) all.push_back(std::move(column));
  std::vector<std::string> lines(result.rows.size() + 1);
  for (std::size_t c = 0; c < all.size(); ++c) {
    std::vector<std::string> cells = {all[c].title};
    for (const Row& row : result.rows) {
      cells.push_back(c < 2 || row.problem.empty() ? all[c].text(row) : "-");
    }
    std::size_t width = 0;
    for (const std::string& cell : cells) width = std::max(width, cell.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i] += fmt::format("{}{:>{}}", c > 0 ? "  " : "", cells[i], width);
    }
  }
  for (const std::string& line : lines) out << line << '\n';
}

}  // namespace

nlohmann::ordered_json document(const Result& result) {
  const runner::TrainingScale& model = a_possible(result).scale;
  const std::vector<Figure> figures = figures_of(result);
  Json rows = Json::array();
  Json definitions = {
      {"parameters", "trained parameters, which every rank has"},
      {"forward_flops_per_sample",
       "2 x multiply-accumulates of convolutions and matrix products in a sample's forward pass"},
      {"training_flops_per_sample", "the same in forward and backward passes"},
      {"flops_per_parameter", "forward_flops_per_sample / parameters: the scaling ratio"},
      {"global_batch", "samples of an update, on all ranks"},
      {"problem", "why the ranks cannot train that batch, or null"}};
  for (const Figure& figure : figures) definitions[figure.name] = figure.definition;
  for (const Row& row : result.rows) {
    Json one = {{"global_batch", row.batch}, {"ranks", row.ranks}};
    for (const Figure& figure : figures) {
      one[figure.name] = row.problem.empty() ? figure.value(row) : Json();
    }
    one["problem"] = row.problem.empty() ? Json() : Json(base::printable(row.problem));
    rows.push_back(std::move(one));
  }
  return {{"schema", kSchema},
          {"kind", "scale"},
          {"workload", result.workload},
          {"config", base::printable(result.config)},
          {"parameters", model.parameters},
          {"forward_flops_per_sample", model.forward_flops},
          {"training_flops_per_sample", model.training_flops},
          {"flops_per_parameter", flops_per_parameter(model)},
          {"train_samples", model.train_samples},
          {"epochs", result.rows.front().epochs},
          {"rates", rates_document(result.rates)},
          {"rows", std::move(rows)},
          {"notes", notes_of(result)},
          {"definitions", std::move(definitions)}};
}

std::string csv(const Result& result) {
  const Json rows = document(result).at("rows");
  std::string text;
  for (const auto& [name, value] : rows.front().items()) text += (text.empty() ? "" : ",") + name;
  text += '\n';
  for (const Json& row : rows) {
    std::string line;
    for (const auto& [name, value] : row.items()) {
      if (name != "global_batch") line += ',';
      line += cell_of(value);
    }
    text += line + '\n';
  }
  return text;
}

void print(const Result& result, std::ostream& out) {
  print_heading(result, out);
  out << '\n';
  print_table(result, out);
  out << '\n';
  for (const Row& row : result.rows) {
    if (row.problem.empty()) continue;
    out << base::printable(
               fmt::format("batch {} on {} ranks: {}", row.batch, row.ranks, row.problem))
        << '\n';
  }
  for (const std::string& note : notes_of(result)) out << note << '\n';
  out << std::flush;
}

}  // namespace scale
