// The report's document and its text.
#include "runner/doctor/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "runner/base/median.h"
#include "runner/base/printable.h"

namespace doctor {
namespace {

using Json = nlohmann::json;

Findings all_findings(const Report& report) {
  Findings all = report.between;
  for (const NodeReport& node : report.nodes) {
    all.insert(all.end(), node.findings.begin(), node.findings.end());
  }
  return all;
}

std::int64_t count(const Findings& findings, Verdict verdict) {
  return std::ranges::count(findings, verdict, &Finding::verdict);
}

Json as_json(const Findings& findings) {
  Json all = Json::array();
  for (const Finding& finding : findings) all.push_back(to_json(finding));
  return all;
}

Json network_json(const Report& report) {
  Json links = Json::array(), rings = Json::array(), sums = Json::array();
  const auto host = [&](int node) { return report.nodes.at(static_cast<std::size_t>(node)).host; };
  for (const Link& link : report.network.links) {
    links.push_back({{"left", host(link.left)},
                     {"right", host(link.right)},
                     {"latency_s", link.latency_s},
                     {"bytes_per_s", link.bytes_per_s},
                     {"message_bytes", link.bytes}});
  }
  for (const Collective& ring : report.network.rings) {
    rings.push_back({{"message_bytes", ring.bytes}, {"seconds", ring.seconds}});
  }
  for (const Collective& sum : report.network.sums) {
    sums.push_back({{"bytes", sum.bytes}, {"seconds", sum.seconds}, {"is_exact", sum.is_exact}});
  }
  return {{"links", links}, {"rings", rings}, {"sums", sums}};
}

/// "node1, node2, node3 and 5 more".
std::string host_list(const std::vector<std::string>& hosts) {
  constexpr std::size_t kNamed = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kNamed, hosts.size()); ++i) {
    text += (i == 0 ? "" : ", ") + base::printable(hosts[i]);
  }
  if (hosts.size() > kNamed) text += fmt::format(" and {} more", hosts.size() - kNamed);
  return text;
}

/// A finding that several nodes share.
struct Group {
  Finding finding;  ///< the first node's
  std::vector<std::string> hosts;
};

std::vector<Group> grouped(const Report& report, Verdict verdict) {
  std::vector<Group> groups;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
  const auto add = [&](const Finding& finding, const std::string& host) {
    if (finding.verdict != verdict) return;
    const auto [at, is_new] = places.try_emplace(
        {finding.id, finding.subject, host.empty() ? finding.measured : finding.remedy},
        groups.size());
    if (is_new) groups.push_back({finding, {}});
    if (!host.empty()) groups[at->second].hosts.push_back(host);
  };
  for (const NodeReport& node : report.nodes) {
    for (const Finding& finding : node.findings) add(finding, node.host);
  }
  for (const Finding& finding : report.between) add(finding, "");
  return groups;
}

void print_group(const Group& group, bool names_hosts, std::ostream& out) {
  const Finding& finding = group.finding;
  out << fmt::format("{:<10}{:<20}", to_string(finding.verdict), finding.id);
  if (names_hosts && !group.hosts.empty()) out << host_list(group.hosts) << ": ";
  if (!finding.subject.empty()) out << base::printable(finding.subject) << ": ";
  out << base::printable(finding.measured) << '\n';
  const auto print_more = [&](const char* what, const std::string& text) {
    if (!text.empty()) out << fmt::format("{:<10}{}: {}\n", "", what, base::printable(text));
  };
  print_more("expected", finding.expected);
  print_more("mend", finding.remedy);
}

/// Prints a rate of several nodes: its median, minimum and maximum, with host names.
void print_rates(const std::string& id, const std::vector<const Finding*>& found,
                 std::ostream& out) {
  const std::string unit = catalogue_entry(id).unit;
  std::vector<double> values;
  for (const Finding* finding : found) values.push_back(finding->value.value_or(0.0));
  const auto [least, most] = std::ranges::minmax_element(values);
  const auto named = [&](auto at) {
    return fmt::format(
        "{} ({})", quantity_text(*at, unit),
        base::printable(found[static_cast<std::size_t>(at - values.begin())]->subject));
  };
  if (found.size() == 1) {
    out << fmt::format("  {:<18}{}\n", id, quantity_text(values.front(), unit));
  } else {
    out << fmt::format("  {:<18}median {}, from {} to {}\n", id,
                       quantity_text(base::median_of(values), unit), named(least), named(most));
  }
}

void print_measured(const Report& report, std::ostream& out) {
  std::map<std::string, std::vector<const Finding*>> rates;
  for (const Finding& finding : report.between) {
    // Subjects that are not nodes are links, which are printed only if they are slow.
    const bool is_node = std::ranges::count(report.nodes, finding.subject, &NodeReport::host) > 0;
    if (finding.id.starts_with("rate.") && is_node) rates[finding.id].push_back(&finding);
  }
  for (const auto& [id, found] : rates) print_rates(id, found, out);
  for (const Finding& finding : report.between) {
    if (finding.id.starts_with("mpi.") && finding.value) {
      out << fmt::format("  {:<18}{}{}{}\n", finding.id, base::printable(finding.subject),
                         finding.subject.empty() ? "" : ": ", base::printable(finding.measured));
    }
  }
}

}  // namespace

base::ExitCode exit_code(const Report& report) { return exit_code(all_findings(report)); }

Json report_document(const Report& report) {
  const Findings all = all_findings(report);
  Json counts = Json::object(), nodes = Json::array();
  Verdict worst = Verdict::kOk;
  for (const Verdict verdict : kVerdicts) {
    counts[to_string(verdict)] = count(all, verdict);
    if (count(all, verdict) > 0 && verdict != Verdict::kNotKnown) worst = verdict;
  }
  for (const NodeReport& node : report.nodes) {
    nodes.push_back({{"host", node.host},
                     {"ranks", node.ranks},
                     {"threads", node.threads},
                     {"cpus", node.cpus},
                     {"findings", as_json(node.findings)}});
  }
  return {{"format", kReportFormat},
          {"configuration", report.configuration.empty() ? Json() : Json(report.configuration)},
          {"quick", report.quick},
          {"ranks", report.ranks},
          {"started_ranks", report.started_ranks},
          {"verdict", to_string(worst)},
          {"exit_code", static_cast<int>(exit_code(all))},
          {"counts", counts},
          {"nodes", nodes},
          {"between_nodes", as_json(report.between)},
          {"network", network_json(report)},
          {"checks", catalogue_json()}};
}

void print_report(const Report& report, std::ostream& out) {
  const Findings all = all_findings(report);
  const auto nodes = static_cast<std::int64_t>(report.nodes.size());
  const std::string host = report.nodes.empty() ? "" : report.nodes.front().host;
  out << (nodes == 1 ? base::printable(host) : base::counted(nodes, "node")) << ", "
      << base::counted(report.ranks, "rank")
      << (report.ranks == report.started_ranks ? "" : " as planned")
      << (report.configuration.empty() ? "" : ", for " + base::printable(report.configuration))
      << '\n';
  print_measured(report, out);
  out << base::counted(count(all, Verdict::kOk), "check") << " fine\n";
  for (const Verdict verdict :
       {Verdict::kNotKnown, Verdict::kNote, Verdict::kWarning, Verdict::kError}) {
    for (const Group& group : grouped(report, verdict)) print_group(group, nodes > 1, out);
  }
  const std::int64_t errors = count(all, Verdict::kError);
  const std::string rest = base::counted(count(all, Verdict::kWarning), "warning") + ", " +
                           base::counted(count(all, Verdict::kNote), "note");
  const std::string what = report.configuration.empty() ? "training" : "this configuration";
  out << (errors == 0 ? fmt::format("{} can run here: {}\n", what, rest)
                      : fmt::format("{} cannot run here: {}, {}\n", what,
                                    base::counted(errors, "error"), rest));
}

}  // namespace doctor
