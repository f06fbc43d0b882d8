// Comparison of the systems of each benchmark as text.
#include "analysis/report/text/joint.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "analysis/fields.h"
#include "analysis/findings/report.h"
#include "analysis/numbers.h"
#include "analysis/system_fields.h"
#include "runner/base/units.h"

namespace analysis::report {
namespace {

using Align = TextTable::Align;
using Systems = std::vector<const SystemReport*>;

std::string fixed(const std::optional<double>& value, double factor, int decimals) {
  if (!value) return "-";
  const std::string text = fmt::format("{:.{}f}", *value * factor, decimals);
  const bool is_zero = text.find_first_of("123456789") == std::string::npos;
  return is_zero && text.front() == '-' ? text.substr(1) : text;
}

bool stages(const SystemFacts& facts) {
  return facts.olympic.staging_in_run_s.value_or(0.0) >= kLeastStagingS;
}

/// A table with a row per system; each column is a figure with its definition.
class SystemTable {
 public:
  explicit SystemTable(TextPage& page) : page_(page) { table_.add_column("system", Align::kLeft); }
  using Cell = std::function<std::string(const SystemReport&)>;
  void text(const std::string& heading, const std::string& name, Cell cell) {
    table_.add_column(page_.defined(heading, name), Align::kLeft);
    cells_.push_back(std::move(cell));
  }
  /// A figure of system_fields(), times `factor`.
  void number(const std::string& heading, const std::string& name, double factor, int decimals) {
    table_.add_column(page_.defined(heading, name), Align::kRight);
    const Field<SystemFacts>& field = *find_field(system_fields(), name);
    cells_.push_back([&field, factor, decimals](const SystemReport& system) {
      return fixed(analysis::number(field.get(system.facts)), factor, decimals);
    });
  }
  /// Like number(), but "-" for systems that do not stage.
  void staging(const std::string& heading, const std::string& name, double factor, int decimals) {
    number(heading, name, factor, decimals);
    cells_.back() = [shown = cells_.back()](const SystemReport& system) {
      return stages(system.facts) ? shown(system) : "-";
    };
  }
  void write(const Systems& systems) {
    for (const SystemReport* system : systems) {
      std::vector<std::string> row = {label_of(*system)};
      for (const Cell& cell : cells_) row.push_back(cell(*system));
      table_.add_row(std::move(row));
    }
    page_.table(table_);
  }

 private:
  TextPage& page_;
  TextTable table_;
  std::vector<Cell> cells_;
};

std::string division(const SystemReport& system) {
  const std::string& text = system.facts.description.division;
  return text.empty() ? "-" : text;
}

/// The systems for which has(facts) is true.
template <class Has>
Systems those_with(const Systems& systems, const Has& has) {
  Systems chosen;
  for (const SystemReport* system : systems) {
    if (has(system->facts)) chosen.push_back(system);
  }
  return chosen;
}

void write_times(TextPage& page, const Systems& systems) {
  SystemTable table(page);
  table.text("division", "division", division);
  table.number("units", "compute_units", 1.0, 0);
  table.number("batch", "global_batch_size", 1.0, 0);
  table.number("TTT min", "olympic_mean_s", 1.0 / base::kMinute, 2);
  table.number("+-", "olympic_stdev_s", 1.0 / base::kMinute, 2);
  table.number("epochs", "olympic_epochs_run", 1.0, 1);
  table.number("s/epoch", "olympic_mean_epoch_s", 1.0, 1);
  table.number("samples/s/unit", "epoch_throughput_per_unit", 1.0, 2);
  table.write(systems);
}

void write_disclosure(TextPage& page, const Systems& systems) {
  const Systems comparable =
      those_with(systems, [](const SystemFacts& facts) { return facts.disclosed.is_told(); });
  if (comparable.empty()) return;
  page.heading("Precision and parallelism", {});
  SystemTable table(page);
  const auto or_dash = [](const std::string& text) { return text.empty() ? "-" : text; };
  table.text("precision", "precision", [or_dash](const SystemReport& system) {
    return or_dash(system.facts.disclosed.precision);
  });
  if (std::ranges::any_of(comparable, [](const SystemReport* system) {
        return !system->facts.disclosed.gradients.empty();
      })) {
    table.text("gradients", "gradients_sent", [or_dash](const SystemReport& system) {
      return or_dash(system.facts.disclosed.gradients);
    });
  }
  table.text("parallelism", "parallelism", [or_dash](const SystemReport& system) {
    return or_dash(system.facts.disclosed.parallelism);
  });
  table.number("micro batch", "micro_batch_size", 1.0, 0);
  table.write(comparable);
}

void write_shares(TextPage& page, const Systems& systems) {
  page.heading("Staging, evaluation and budget", {});
  SystemTable table(page);
  table.staging("staging min", "olympic_staging_in_run_s", 1.0 / base::kMinute, 2);
  table.staging("staging %", "staging_fraction", base::kPercent, 1);
  table.staging("epochs' worth", "staging_to_epoch_ratio", 1.0, 2);
  table.number("eval %", "eval_fraction", base::kPercent, 1);
  table.number("unit hours", "compute_unit_hours", 1.0, 1);
  table.write(systems);
  page.paragraph(
      fmt::format("Staging is '-' where the logs bracket less than {} s of it.", kLeastStagingS));
}

void write_variation(TextPage& page, const Systems& systems) {
  const Systems varied =
      those_with(systems, [](const SystemFacts& facts) { return facts.variation.has_value(); });
  if (varied.empty()) return;
  page.heading("Variation from run to run", {});
  SystemTable table(page);
  table.number("first component %", "variation_share", base::kPercent, 1);
  table.number("epochs", "variation_epochs", 1.0, 2);
  table.number("s/epoch", "variation_epoch_s", 1.0, 2);
  table.number("correlation", "variation_correlation", 1.0, 2);
  table.write(varied);
}

void write_convergence(TextPage& page, const Systems& systems) {
  const auto batch = [](const SystemFacts& facts) { return number(facts.global_batch_size); };
  Systems trained = those_with(
      systems, [&](const SystemFacts& facts) { return batch(facts) && facts.olympic.epochs_run; });
  if (trained.size() < 2) return;
  std::stable_sort(trained.begin(), trained.end(),
                   [&](const SystemReport* a, const SystemReport* b) {
                     return *batch(a->facts) < *batch(b->facts);
                   });
  page.heading("Epochs against batch", {});
  SystemTable table(page);
  table.number("batch", "global_batch_size", 1.0, 0);
  table.number("epochs", "olympic_epochs_run", 1.0, 1);
  table.number("+-", "olympic_epochs_stdev", 1.0, 1);
  table.text("division", "division", division);
  table.write(trained);
}

void write_scaling(TextPage& page, const Systems& systems,
                   const std::map<std::string, const SystemReport*>& by_name) {
  const Systems scaled_up =
      those_with(systems, [](const SystemFacts& facts) { return facts.scaling.has_value(); });
  if (scaled_up.empty()) return;
  page.heading("Scale", {});
  SystemTable table(page);
  table.text("against", "scaling_base", [&by_name](const SystemReport& system) {
    return label_of(*by_name.at(system.facts.scaling->base));
  });
  table.number("units x", "scaling_units", 1.0, 2);
  table.number("efficiency %", "scaling_efficiency", base::kPercent, 1);
  table.number("of training %", "train_scaling_efficiency", base::kPercent, 1);
  const bool has_caches = std::ranges::any_of(scaled_up, [](const SystemReport* system) {
    return system->facts.olympic.cached_fraction.has_value();
  });
  if (has_caches) table.number("from caches %", "olympic_cached_fraction", base::kPercent, 1);
  table.write(scaled_up);
  for (const SystemReport* system : scaled_up) {
    const SystemReport& smallest = *by_name.at(system->facts.scaling->base);
    const std::string cause = cause_above_one(system->facts, smallest.facts);
    if (!cause.empty()) page.item(fmt::format("{}: {}", label_of(*system), cause));
  }
}

}  // namespace

void write_joint(TextPage& page, const Report& report) {
  std::map<std::string, Systems> benchmarks;
  std::map<std::string, const SystemReport*> by_name;
  std::vector<std::string> others;
  for (const SystemReport& system : report.systems) {
    by_name[system.name] = &system;
    if (system.facts.olympic_mean_s) {
      benchmarks[system.facts.benchmark].push_back(&system);
    } else {
      others.push_back(system.name);
    }
  }
  for (const auto& [benchmark, systems] : benchmarks) {
    page.heading(benchmark + ": systems side by side, means over the runs of the score",
                 {"olympic_mean_s"});
    write_times(page, systems);
    write_disclosure(page, systems);
    write_shares(page, systems);
    write_convergence(page, systems);
    write_variation(page, systems);
    write_scaling(page, systems, by_name);
  }
  if (benchmarks.empty()) page.paragraph("No folder holds runs that make a score.");
  if (!others.empty()) {
    page.paragraph(fmt::format("Without a score: {}", fmt::join(others, ", ")));
  }
}

}  // namespace analysis::report
