// What the bench prints and writes.
#include "workloads/parallel/exchange_bench/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/base/units.h"

namespace exchange_bench {
namespace {

constexpr double kGigabyte = 1e9;
constexpr const char* kNone = "N/A";

/// As many digits as fit a column, as nccl-tests has them.
std::string microseconds(double seconds) {
  const double value = seconds / base::kMicrosecond;
  return fmt::format("{:.{}f}", value, value < 100.0 ? 2 : value < 1000.0 ? 1 : 0);
}

/// In GB/s: two digits as nccl-tests has them, more for slow links.
std::string rate_text(double bytes_per_s) {
  const double value = bytes_per_s / kGigabyte;
  return fmt::format("{:.{}f}", value, value < 1.0 ? 4 : 2);
}

std::string wrong_text(const Times& times) {
  return times.wrong ? std::to_string(*times.wrong) : kNone;
}

std::string columns(const Row& row, const Times& times, int ranks) {
  const Rates rates = rates_of(row, times, ranks);
  return fmt::format("  {:>9}  {:>7}  {:>7}  {:>6}", microseconds(rates.seconds),
                     rate_text(rates.algorithm_bytes_per_s), rate_text(rates.bus_bytes_per_s),
                     wrong_text(times));
}

std::int64_t count_of(const Row& row, int ranks) {
  return row.bytes / static_cast<std::int64_t>(sizeof(float)) / row.kind->parts(ranks);
}

nlohmann::json json_of(const Row& row, const Times& times, int ranks) {
  const Rates rates = rates_of(row, times, ranks);
  const auto [least, most] = std::minmax_element(times.seconds.begin(), times.seconds.end());
  return {{"time_s",
           {{"median", rates.seconds}, {"min", *least}, {"max", *most}, {"times", times.seconds}}},
          {"algbw_bytes_per_s", rates.algorithm_bytes_per_s},
          {"busbw_bytes_per_s", rates.bus_bytes_per_s},
          {"wrong", times.wrong ? nlohmann::json(*times.wrong) : nlohmann::json()}};
}

nlohmann::json json_of(const Overlap& overlap) {
  return {{"hidden", overlap.hidden()},
          {"computation_s", overlap.computation},
          {"exchange_s", overlap.exchange},
          {"both_s", overlap.both}};
}

std::string mean_text(const std::vector<Row>& rows, int ranks, Side side) {
  if (rows.empty()) return kNone;
  double sum = 0.0;
  for (const Row& row : rows) {
    sum += rates_of(row, side == Side::kTraining ? row.training : row.mpi, ranks).bus_bytes_per_s;
  }
  return fmt::format("{:.4g}", sum / static_cast<double>(rows.size()) / kGigabyte);
}

}  // namespace

Rates rates_of(const Row& row, const Times& times, int ranks) {
  const double seconds = times.median();
  const double rate = static_cast<double>(row.bytes) / seconds;
  return {seconds, rate, rate * row.kind->traffic(ranks)};
}

std::string heading(const Kind& kind, int ranks, int nodes) {
  std::string text = fmt::format(
      "# {} of {} ranks on {} {}\n"
      "# training: {}; MPI: {}\n",
      kind.name, ranks, nodes, nodes == 1 ? "node" : "nodes", kind.training, kind.mpi);
  text += fmt::format("#{:>11}  {:>11}  {:>6}  {:>6}  {:>5}  {:^36}  {:^36}\n", "", "", "", "", "",
                      "training", "MPI");
  text +=
      fmt::format("#{:>11}  {:>11}  {:>6}  {:>6}  {:>5}", "size", "count", "type", "redop", "root");
  for (int side = 0; side < 2; ++side) {
    text += fmt::format("  {:>9}  {:>7}  {:>7}  {:>6}", "time", "algbw", "busbw", "#wrong");
  }
  text += fmt::format("  {:>6}\n#{:>11}  {:>11}  {:>6}  {:>6}  {:>5}", "hidden", "(B)",
                      "(elements)", "", "", "");
  for (int side = 0; side < 2; ++side) {
    text += fmt::format("  {:>9}  {:>7}  {:>7}  {:>6}", "(us)", "(GB/s)", "(GB/s)", "");
  }
  return text + fmt::format("  {:>6}\n", "(%)");
}

std::string line(const Row& row, int ranks) {
  std::string text =
      fmt::format("{:>12}  {:>11}  {:>6}  {:>6}  {:>5}", row.bytes, count_of(row, ranks), "float",
                  row.kind->reduction, row.kind->root);
  text += columns(row, row.training, ranks) + columns(row, row.mpi, ranks);
  const std::string hidden = row.overlap
                                 ? fmt::format("{:.0f}", base::kPercent * row.overlap->hidden())
                                 : std::string(kNone);
  return text + fmt::format("  {:>6}\n", hidden);
}

std::int64_t wrong_elements(const std::vector<Row>& rows) {
  std::int64_t wrong = 0;
  for (const Row& row : rows) {
    wrong += row.mpi.wrong.value_or(0) + row.training.wrong.value_or(0);
  }
  return wrong;
}

std::string summary(const std::vector<Row>& rows, int ranks) {
  const bool is_checked = !rows.empty() && rows.front().mpi.wrong.has_value();
  const std::int64_t wrong = wrong_elements(rows);
  const std::string verdict =
      is_checked ? fmt::format("{} {}", wrong, wrong == 0 ? "OK" : "FAILED") : "not checked";
  return fmt::format(
      "# Out of bounds values : {}\n# Avg bus bandwidth    : {} (training), {} (MPI)\n", verdict,
      mean_text(rows, ranks, Side::kTraining), mean_text(rows, ranks, Side::kMpi));
}

nlohmann::json json_of(const Row& row, int ranks) {
  const nlohmann::json none;
  return {{"operation", row.kind->name},
          {"bytes", row.bytes},
          {"count", count_of(row, ranks)},
          {"type", "float"},
          {"redop", row.kind->reduction},
          {"root", row.kind->root},
          {"training", json_of(row, row.training, ranks)},
          {"mpi", json_of(row, row.mpi, ranks)},
          {"overlap", row.overlap ? json_of(*row.overlap) : none}};
}

nlohmann::json definitions() {
  return {
      {"links", "messages between the first ranks of neighbouring nodes, the last with the first"},
      {"latency_s", "half the round trip of 8 bytes, the median of 50"},
      {"bytes_per_s",
       "of a link: message size over half of its round trip, the best of 3; of a "
       "host: the better of its two links"},
      {"slow",
       "hosts below 80 % of the median, and links between two hosts that are faster "
       "elsewhere; of two hosts none can be told"},
      {"failure", "why results cannot be trusted; null if they can"},
      {"bytes", "the larger of a rank's two buffers; of a link: the message size"},
      {"count", "elements of 4 bytes that a rank gives each other, or all"},
      {"training", "the exchange by the code that training calls"},
      {"mpi", "the exchange by blocking calls of the MPI library"},
      {"time_s",
       "seconds of a call, after a barrier, on the slowest rank; the calls of both sides take "
       "turns"},
      {"algbw_bytes_per_s", "bytes over the median time"},
      {"busbw_bytes_per_s",
       "algbw times what the busiest rank must send over `bytes`: allreduce 2 (n - 1) / n; "
       "reduce-scatter, all-gather and alltoall (n - 1) / n; broadcast 1; halo 1, of 2 ranks 1/2"},
      {"wrong",
       "elements, over all ranks and checks, that are not what they must be; null: not checked"},
      {"overlap",
       "the exchange while training computes about as long and looks after it 64 times, medians; "
       "null for what training waits for, and for exchanges below 1 ms"},
      {"hidden", "(computation_s + exchange_s - both_s) / exchange_s, from 0 to 1"},
      {"computation_s", "seconds of the computation alone, on all threads of the ranks"},
      {"exchange_s", "seconds of the exchange alone"},
      {"both_s", "seconds of both at once"}};
}

}  // namespace exchange_bench
