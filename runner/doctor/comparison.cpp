// Medians, majorities, and the nodes that deviate from them.
#include "runner/doctor/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "runner/base/json_text.h"
#include "runner/base/median.h"
#include "runner/documents.h"

namespace doctor {
namespace {

using Json = nlohmann::json;

/// A node below this fraction of the median is slow.
constexpr double kSlowShare = 0.8;

std::string remedy_of(const std::string& id) {
  if (id == "rate.network") {
    return "look at its link (ethtool DEVICE, ip -s link), or leave the node out (Slurm: "
           "--exclude=NODE)";
  }
  if (id.starts_with("rate.disk")) {
    return "look at its disk (iostat -x 1), choose another folder by --set staging.directory, or "
           "leave the node out (Slurm: --exclude=NODE)";
  }
  return "look for other processes (top), its governor and its memory (dmidecode -t memory), or "
         "leave the node out (Slurm: --exclude=NODE)";
}

/// The better of each node's links by `value`, so that a slow node does not affect its neighbours.
template <class Value, class Better>
std::vector<double> best_of_links(std::size_t nodes, const std::vector<Link>& links, Value value,
                                  Better better) {
  std::vector<double> best(nodes, std::nan(""));
  for (const Link& link : links) {
    for (const int node : {link.left, link.right}) {
      double& at = best[static_cast<std::size_t>(node)];
      if (std::isnan(at) || better(value(link), at)) at = value(link);
    }
  }
  return best;
}

std::string name(const Hosts& hosts, int node) { return hosts[static_cast<std::size_t>(node)]; }

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : base::json_line(value);
}

/// memory_bytes of equal machines may differ by a module's reserved pages.
bool are_alike(const std::string& key, const Json& a, const Json& b) {
  constexpr double kShare = 0.02;
  if (key != "memory_bytes" || !a.is_number() || !b.is_number()) return a == b;
  const double first = a.get<double>(), second = b.get<double>();
  return std::abs(first - second) <= kShare * std::max(first, second);
}

/// The most frequent value; in a tie, the first node's.
Json majority(const std::string& key, const std::vector<Json>& facts) {
  Json most;
  std::ptrdiff_t count = 0;
  for (const Json& candidate : facts) {
    const Json value = candidate.value(key, Json());
    const auto same = std::ranges::count_if(
        facts, [&](const Json& other) { return are_alike(key, other.value(key, Json()), value); });
    if (same > count) {
      count = same;
      most = value;
    }
  }
  return most;
}

}  // namespace

std::string quantity_text(double value, const std::string& unit) {
  if (unit == "bytes/s") {
    return value >= 1e9 ? fmt::format("{:.1f} GB/s", value / 1e9)
                        : fmt::format("{:.1f} MB/s", value / 1e6);
  }
  if (unit == "flop/s") return fmt::format("{:.1f} GFLOP/s", value / 1e9);
  if (unit == "s") {
    if (value >= 1.0) return fmt::format("{:.2f} s", value);
    return value >= 1e-3 ? fmt::format("{:.1f} ms", value * 1e3)
                         : fmt::format("{:.1f} us", value * 1e6);
  }
  if (unit == "bytes") return runner::bytes_text(value);
  return fmt::format("{:.6g}{}{}", value, unit.empty() ? "" : " ", unit);
}

Findings compare_rates(const std::string& id, const Hosts& hosts,
                       const std::vector<double>& rates) {
  const std::string unit = catalogue_entry(id).unit;
  const double middle = base::median_of(rates);
  Findings findings;
  for (std::size_t node = 0; node < hosts.size(); ++node) {
    const bool slow = hosts.size() > 1 && rates[node] < kSlowShare * middle;
    findings.push_back(
        make_finding(id.c_str(), slow ? Verdict::kWarning : Verdict::kOk, hosts[node],
                     (slow ? "slow: " : "") + quantity_text(rates[node], unit),
                     slow ? fmt::format("at least {:.0f} % of the median of {} nodes, {}",
                                        100 * kSlowShare, hosts.size(), quantity_text(middle, unit))
                          : "",
                     slow ? remedy_of(id) : "", rates[node]));
  }
  return findings;
}

Findings compare_links(const Hosts& hosts, const std::vector<Link>& links) {
  if (links.empty()) return {};
  const auto rate = [](const Link& link) { return link.bytes_per_s; };
  const auto best = best_of_links(hosts.size(), links, rate, std::greater<>());
  Findings findings = compare_rates("rate.network", hosts, best);
  const double middle = base::median_of(best);
  const auto is_slow = [&](int node) {
    return best[static_cast<std::size_t>(node)] < kSlowShare * middle;
  };
  for (const Link& link : links) {
    if (rate(link) >= kSlowShare * middle || is_slow(link.left) || is_slow(link.right)) continue;
    findings.push_back(make_finding(
        "rate.network", Verdict::kWarning, name(hosts, link.left) + " - " + name(hosts, link.right),
        "slow: " + quantity_text(rate(link), "bytes/s") +
            ", though both nodes are faster elsewhere",
        fmt::format("at least {:.0f} % of {}", 100 * kSlowShare, quantity_text(middle, "bytes/s")),
        "look at the switches and cables between them, or whether others use them", rate(link)));
  }
  constexpr double kSlowLatency = 4.0;
  const auto latency = [](const Link& link) { return link.latency_s; };
  const auto quickest = best_of_links(hosts.size(), links, latency, std::less<>());
  const double usual = base::median_of(quickest);
  for (std::size_t node = 0; node < hosts.size(); ++node) {
    const bool slow = hosts.size() > 2 && quickest[node] > kSlowLatency * usual;
    findings.push_back(make_finding(
        "rate.latency", slow ? Verdict::kNote : Verdict::kOk, hosts[node],
        quantity_text(quickest[node], "s"),
        slow ? fmt::format("at most {:.0f} times the median, {}", kSlowLatency,
                           quantity_text(usual, "s"))
             : "",
        slow ? "see whether other processes use its CPUs, or whether it is far away" : "",
        quickest[node]));
  }
  return findings;
}

Findings compare_facts(const Hosts& hosts, const std::vector<Json>& facts) {
  Findings findings;
  for (const auto& [key, first] : facts.front().items()) {
    const Json most = majority(key, facts);
    for (std::size_t node = 0; node < hosts.size(); ++node) {
      const Json own = facts[node].value(key, Json());
      if (are_alike(key, own, most)) continue;
      const bool same_program = key == "revision" || key == "libraries";
      findings.push_back(make_finding("nodes.alike", Verdict::kWarning, hosts[node],
                                      fmt::format("{}: {}", key, text_of(own)),
                                      "as most nodes: " + text_of(most),
                                      same_program ? "install the same program and libraries there"
                                                   : "use nodes of one kind (Slurm: --constraint, "
                                                     "--exclude=NODE)"));
    }
  }
  std::map<std::string, int> named;
  for (const std::string& host : hosts) ++named[host];
  for (const auto& [host, count] : named) {
    if (count == 1) continue;
    findings.push_back(make_finding(
        "host.name", Verdict::kWarning, host, fmt::format("{} nodes have this name", count),
        "a name of its own each", "as root on them: hostnamectl set-hostname NAME"));
  }
  if (findings.empty()) {
    findings.push_back(make_finding("nodes.alike", Verdict::kOk, "",
                                    hosts.size() == 1 ? "a single node" : "all nodes are alike"));
  }
  return findings;
}

Findings judge_offsets(const Hosts& hosts, const std::vector<double>& offsets_s) {
  constexpr double kMost = 1.0;
  Findings findings;
  for (std::size_t node = 1; node < hosts.size(); ++node) {
    const double offset = offsets_s[node];
    const bool far = std::abs(offset) > kMost;
    findings.push_back(
        make_finding("clock.offset", far ? Verdict::kNote : Verdict::kOk, hosts[node],
                     fmt::format("{:+.6f} s against {}", offset, hosts.front()),
                     far ? fmt::format("within {} s, so that logs can be compared", kMost) : "",
                     far ? "start chronyd, or ntpd, on all nodes" : "", offset));
  }
  return findings;
}

Findings judge_collectives(const NetworkTimes& times, int ranks) {
  Findings findings;
  for (const Collective& ring : times.rings) {
    const double rate = static_cast<double>(ring.bytes) / ring.seconds;
    findings.push_back(make_finding("mpi.ring", Verdict::kOk,
                                    quantity_text(static_cast<double>(ring.bytes), "bytes"),
                                    quantity_text(rate, "bytes/s"), "", "", rate));
  }
  for (const Collective& sum : times.sums) {
    findings.push_back(make_finding(
        "mpi.allreduce", sum.is_exact ? Verdict::kOk : Verdict::kError,
        quantity_text(static_cast<double>(sum.bytes), "bytes"),
        fmt::format("{} on {} ranks{}", quantity_text(sum.seconds, "s"), ranks,
                    sum.is_exact ? "" : ", and the sum is wrong"),
        sum.is_exact ? "" : "the exact sum",
        sum.is_exact ? "" : "try another transport: export OMPI_MCA_btl=tcp,self OMPI_MCA_pml=ob1",
        sum.seconds));
  }
  return findings;
}

}  // namespace doctor
