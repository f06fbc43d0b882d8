// Counts of a row, and predicted times.
#include "runner/scale/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace scale {
namespace {

using Json = nlohmann::ordered_json;
using runner::SentVolume;

/// Exact where that fits an integer.
Json product(std::int64_t a, std::int64_t b) {
  std::int64_t exact = 0;
  if (__builtin_mul_overflow(a, b, &exact)) {
    return static_cast<double>(a) * static_cast<double>(b);
  }
  return exact;
}

Json optional(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

/// A count of a step, and in an epoch and a run.
void add_by_time(const std::string& name, const std::string& what,
                 const std::function<std::int64_t(const Row&)>& of_step,
                 std::vector<Figure>& figures) {
  figures.push_back({name + "_per_step", what + ", in a step", of_step});
  figures.push_back({name + "_per_epoch", what + ", in an epoch", [of_step](const Row& row) {
                       return product(of_step(row), row.scale.steps_per_epoch);
                     }});
  figures.push_back({name, what + ", in all epochs",
                     [of_step](const Row& row) { return product(of_step(row), steps_of(row)); }});
}

void add_traffic(const char* name, const char* whose, SentVolume runner::NodeTraffic::*of,
                 std::vector<Figure>& figures) {
  add_by_time(
      fmt::format("{}_messages", name),
      fmt::format("messages of gradients between nodes that {} sends", whose),
      [of](const Row& row) { return (row.scale.gradients.*of).messages; }, figures);
  add_by_time(
      fmt::format("{}_bytes", name),
      fmt::format("bytes of gradients between nodes that {} sends", whose),
      [of](const Row& row) { return (row.scale.gradients.*of).bytes; }, figures);
}

PaperCounts paper(const Row& row) {
  return paper_counts(row.scale.parameters, row.scale.train_samples, row.epochs, row.batch,
                      row.ranks);
}

std::vector<Figure> counts() {
  std::vector<Figure> figures = {
      {"nodes", "nodes of the ranks", [](const Row& row) { return row.scale.nodes; }},
      {"rank_samples", "samples of a step on the rank that has most",
       [](const Row& row) { return row.scale.rank_samples; }},
      {"gradient_bytes",
       "bytes of a rank's gradients: the parameters in the layouts that the library chooses on "
       "this "
       "CPU, padded",
       [](const Row& row) { return row.scale.gradient_bytes; }},
      {"steps_per_epoch", "updates of an epoch; samples that do not fill a batch are dropped",
       [](const Row& row) { return row.scale.steps_per_epoch; }},
      {"steps", "updates of all epochs", steps_of}};
  add_by_time(
      "flops",
      "2 x multiply-accumulates of the convolutions and matrix products of forward and backward "
      "passes, on all ranks",
      [](const Row& row) { return base::checked_product(row.batch, row.scale.training_flops); },
      figures);
  add_traffic("rank", "the rank that sends most", &runner::NodeTraffic::rank, figures);
  add_traffic("node", "the node that sends most", &runner::NodeTraffic::node, figures);
  add_traffic("all", "all nodes together", &runner::NodeTraffic::all, figures);
  figures.push_back({"paper_iterations",
                     "for reference, as You et al. count: epochs x samples / batch, rounded down",
                     [](const Row& row) { return paper(row).iterations; }});
  figures.push_back({"paper_messages", "for reference: log2(ranks) x epochs x samples / batch",
                     [](const Row& row) { return paper(row).messages; }});
  figures.push_back({"paper_bytes", "for reference: 4 x parameters x epochs x samples / batch",
                     [](const Row& row) { return paper(row).bytes; }});
  return figures;
}

/// A bound of a step's time, and of an epoch's and a run's, and the efficiency with it.
void add_bound(const char* bound, std::optional<double> StepTime::*of,
               std::vector<Figure>& figures) {
  const auto times = [of](const Row& row, double factor) {
    const auto& step = (*row.time).*of;
    return step ? Json(*step * factor) : Json();
  };
  figures.push_back({fmt::format("step_{}_s", bound),
                     fmt::format("predicted seconds of a step, at {}", bound),
                     [times](const Row& row) { return times(row, 1); }});
  figures.push_back({fmt::format("epoch_{}_s", bound),
                     fmt::format("predicted seconds of an epoch's steps, at {}", bound),
                     [times](const Row& row) {
                       return times(row, static_cast<double>(row.scale.steps_per_epoch));
                     }});
  figures.push_back(
      {fmt::format("run_{}_s", bound),
       fmt::format("predicted seconds of all epochs' steps, at {}", bound),
       [times](const Row& row) { return times(row, static_cast<double>(steps_of(row))); }});
}

/// Of perfect scaling: all ranks always compute.
Json efficiency(const Row& row, const Rates& rates, std::optional<double> StepTime::*of) {
  const auto& step = (*row.time).*of;
  if (!step) return {};
  const double samples_per_s = static_cast<double>(row.ranks) * rates.compute->samples_per_s;
  return static_cast<double>(row.batch) / (samples_per_s * *step);
}

std::vector<Figure> times(const Rates& rates) {
  std::vector<Figure> figures = {
      {"compute_s", "predicted seconds that the rank with most samples computes in a step",
       [](const Row& row) { return row.time->compute_s; }},
      {"exchange_least_s",
       "bytes of the node that sends most over the link's rate, and the latency of messages that "
       "must follow one another",
       [](const Row& row) { return optional(row.time->exchange_least_s); }},
      {"exchange_most_s", "the same with the latency of all messages of the node",
       [](const Row& row) { return optional(row.time->exchange_most_s); }}};
  add_bound("least", &StepTime::step_least_s, figures);
  add_bound("most", &StepTime::step_most_s, figures);
  figures.push_back(
      {"efficiency_most",
       "samples per second over those of the ranks if they only computed, in the "
       "shortest step",
       [rates](const Row& row) { return efficiency(row, rates, &StepTime::step_least_s); }});
  figures.push_back({"efficiency_least", "the same in the longest step", [rates](const Row& row) {
                       return efficiency(row, rates, &StepTime::step_most_s);
                     }});
  return figures;
}

}  // namespace

std::vector<Figure> figures_of(const Result& result) {
  std::vector<Figure> figures = counts();
  if (result.rates.compute) {
    for (Figure& figure : times(result.rates)) figures.push_back(std::move(figure));
  }
  return figures;
}

std::vector<std::string> notes_of(const Result& result) {
  std::vector<std::string> lines = {
      "counts are of gradients between nodes alone; within nodes they are summed in memory"};
  if (std::ranges::any_of(result.rows, [](const Row& row) { return row.scale.tries_pieces; })) {
    lines.emplace_back(
        "the first steps try pieces of other sizes and keep the fastest, which changes messages "
        "and who sends how much, but no bytes of all nodes together; training.gradient_piece_kib "
        "fixes them");
  }
  if (!result.rates.compute) {
    lines.emplace_back("no times: give --rate, or --measured with a run or a bench");
    return lines;
  }
  lines.emplace_back(
      "times assume that input, passes and updates take as long for each sample as measured, on "
      "every rank; evaluation, staging and checkpoints are left out");
  if (result.rates.link) {
    lines.emplace_back(
        "at least: gradients travel behind the last backward pass of a step and, if updates are "
        "late (training.late_update), behind all else that a step computes; at most: behind "
        "nothing");
  } else {
    lines.emplace_back("no times of steps between nodes: give --link and --latency, or --exchange");
  }
  return lines;
}

}  // namespace scale
