// The command `bench exchange`.
#include "workloads/parallel/exchange_bench/bench.h"

#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "runner/agreed_error.h"
#include "runner/base/error.h"
#include "runner/base/printable.h"
#include "runner/base/system_facts.h"
#include "runner/doctor/comparison.h"
#include "runner/doctor/network.h"
#include "runner/node_hosts.h"
#include "runner/together.h"
#include "staging/space.h"
#include "workloads/parallel/exchange_bench/measure.h"
#include "workloads/parallel/exchange_bench/operation.h"
#include "workloads/parallel/exchange_bench/sizes.h"
#include "workloads/parallel/exchange_bench/table.h"

namespace exchange_bench {
namespace {

using nlohmann::json;
using runner::Surroundings;

/// The version of the document.
constexpr int kSchema = 1;

struct Options {
  std::vector<std::string> operations = {"allreduce"};
  std::string least, most, step;  ///< as given; "": the default
  Sizes sizes;
  Effort effort;
};

std::vector<std::string> names_of_kinds() {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.emplace_back(kind.name);
  return names;
}

std::vector<const Kind*> chosen(const Options& options) {
  std::vector<const Kind*> found;
  for (const Kind& kind : kinds()) {
    if (std::ranges::any_of(options.operations, [&](const std::string& name) {
          return name == kind.name || name == "all";
        })) {
      found.push_back(&kind);
    }
  }
  return found;
}

/// Throws ConfigError for sizes that no ranks could have.
void read_sizes(Options& options) {
  Sizes& sizes = options.sizes;
  if (!options.least.empty()) sizes.least = parse_size("--minbytes", options.least);
  if (!options.most.empty()) sizes.most = parse_size("--maxbytes", options.most);
  if (!options.step.empty()) sizes.step = parse_size("--stepbytes", options.step);
  (void)list_sizes(sizes, sizeof(float));
}

/// Bytes that a size must divide by.
std::int64_t unit_of(const Kind& kind, int ranks) {
  return kind.unit(ranks) * static_cast<std::int64_t>(sizeof(float));
}

/// Collective. Throws AgreedError if the buffers of a node's ranks do not fit its memory, and takes
/// those of the largest size for a moment, as limits of shared memory show only then.
void require_memory(const std::vector<const Kind*>& kinds, const Sizes& sizes,
                    const Surroundings& around) {
  const int ranks = around.topology.node.size();
  for (const Kind* const kind : kinds) {
    const std::int64_t most = list_sizes(sizes, unit_of(*kind, around.world.size())).back();
    runner::together(around.world, [&] {
      const std::int64_t needed = kind->buffers * most * ranks;
      const std::int64_t available = staging::available_memory();
      if (needed <= available) return;
      throw base::ConfigError(fmt::format(
          "bench exchange: --maxbytes: {} ranks of {} take {} for the buffers of {}, of which {} "
          "are available",
          ranks, base::host_name(), base::bytes_text(static_cast<double>(needed)), kind->name,
          base::bytes_text(static_cast<double>(available))));
    });
    kind->make(most / static_cast<std::int64_t>(sizeof(float)), around);
  }
}

/// Links between the nodes, one after another round a ring, and what is slower than the others: a
/// host, or a link between two that are fast elsewhere.
struct Network {
  json links = json::array(), slow = json::array();
};
Network measure_links(const Surroundings& around, std::ostream& table) {
  const std::vector<doctor::Link> links = doctor::measure_links(around.world, around.topology);
  const doctor::Hosts hosts = runner::node_hosts(around.world, around.topology);
  Network network;
  if (around.world.rank() != 0) return network;
  for (const doctor::Link& link : links) {
    network.links.push_back({{"left", hosts[static_cast<std::size_t>(link.left)]},
                             {"right", hosts[static_cast<std::size_t>(link.right)]},
                             {"latency_s", link.latency_s},
                             {"bytes_per_s", link.bytes_per_s},
                             {"bytes", link.bytes}});
  }
  for (const doctor::Finding& finding : doctor::compare_links(hosts, links)) {
    if (finding.verdict != doctor::Verdict::kWarning) continue;
    network.slow.push_back({{"subject", finding.subject}, {"bytes_per_s", *finding.value}});
    table << base::printable(fmt::format("# {}: {}; expected {}", finding.subject, finding.measured,
                                         finding.expected))
          << '\n';
  }
  return network;
}

/// Why these results cannot be trusted; null if they can.
json failure_of(const std::vector<Row>& rows, int ranks) {
  const std::int64_t wrong = wrong_elements(rows);
  if (wrong == 0) return {};
  std::string places;
  for (const Row& row : rows) {
    if (wrong_elements({row}) == 0) continue;
    if (!places.empty()) places += ", ";
    places += fmt::format("{} of {} bytes", row.kind->name, row.bytes);
  }
  return fmt::format("bench exchange: {} elements on {} ranks are not what they must be: {}", wrong,
                     ranks, places);
}

json measure_all(const Options& options, const Surroundings& around, std::ostream& table) {
  const int ranks = around.world.size();
  if (ranks < 2) {
    throw base::ConfigError(  // alone, so no other rank waits
        "bench exchange: expected at least 2 ranks, found 1; start it by mpirun -n 2 trainmark "
        "bench exchange");
  }
  omp_set_num_threads(around.threads);
  const std::vector<const Kind*> measured = chosen(options);
  require_memory(measured, options.sizes, around);
  const bool prints = around.world.rank() == 0;
  const Network network = measure_links(around, table);
  std::vector<Row> rows;
  for (const Kind* const kind : measured) {
    if (prints) table << heading(*kind, ranks, around.topology.node_count) << std::flush;
    std::vector<Row> of_kind;
    for (const std::int64_t bytes : list_sizes(options.sizes, unit_of(*kind, ranks))) {
      of_kind.push_back(measure(*kind, bytes, options.effort, around));
      if (prints) table << line(of_kind.back(), ranks) << std::flush;
    }
    if (prints) table << summary(of_kind, ranks) << std::flush;
    rows.insert(rows.end(), of_kind.begin(), of_kind.end());
  }
  json document = {{"schema", kSchema},
                   {"kind", "exchange"},
                   {"ranks", ranks},
                   {"nodes", around.topology.node_count},
                   {"threads_per_rank", around.threads},
                   {"links", network.links},
                   {"slow", network.slow},
                   {"definitions", definitions()},
                   {"failure", failure_of(rows, ranks)}};
  for (const Row& row : rows) document["rows"].push_back(json_of(row, ranks));
  return document;
}

runner::DeclaredMachineBench declare(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  std::vector<std::string> names = names_of_kinds();
  names.emplace_back("all");
  app.add_option("--operation", options->operations, "the collectives; several, or all")
      ->check(CLI::IsMember(names))
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("-b,--minbytes", options->least,
                 "smallest size: bytes, or a number with K, M, G; by default 8");
  app.add_option("-e,--maxbytes", options->most, "largest size; by default 64M");
  app.add_option("-f,--stepfactor", options->sizes.factor, "from a size to the next")
      ->check(CLI::Range(2, 1024))
      ->capture_default_str();
  app.add_option("-i,--stepbytes", options->step, "from a size to the next, in place of a factor");
  app.add_option("-n,--iters", options->effort.iterations, "timed calls of each size and side")
      ->check(CLI::Range(Effort::kFewest, 1'000'000))
      ->capture_default_str();
  app.add_option("-w,--warmup_iters", options->effort.warmup, "calls before the clock starts")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  app.add_option(
         "--seconds", options->effort.seconds,
         fmt::format("time of the calls before the clock starts, and of the timed calls of a "
                     "size; beyond it {} timed calls are enough",
                     Effort::kFewest))
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  app.add_option("-c,--check", options->effort.checks, "whether results are checked: 0 or 1")
      ->capture_default_str();
  return {[options] { read_sizes(*options); },
          [options](const Surroundings& around, std::ostream& table) {
            return measure_all(*options, around, table);
          }};
}

}  // namespace

runner::MachineBench bench() {
  return {"exchange", "collectives between ranks, by training's code and by MPI, over sizes",
          "-b 8 -e 64M -f 2 --operation allreduce,alltoall", declare};
}

}  // namespace exchange_bench
