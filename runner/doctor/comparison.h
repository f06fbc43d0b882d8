// Nodes against each other: who is slow, who is odd. Every list is by node.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/doctor/finding.h"
#include "runner/doctor/network.h"

namespace doctor {

using Hosts = std::vector<std::string>;

/// "19.8 GB/s", "120 MB/s", "34.1 us": by the unit of a check.
std::string quantity_text(double value, const std::string& unit);

/// A finding for each node: a warning for one below 80 % of the median of all nodes. Of a single
/// node the rate alone.
Findings compare_rates(const std::string& id, const Hosts& hosts, const std::vector<double>& rates);

/// rate.network by node and, where no node explains it, by link; rate.latency by node.
Findings compare_links(const Hosts& hosts, const std::vector<Link>& links);

/// nodes.alike: a finding for each fact in which a node differs from most, and host.name for names
/// that several nodes have.
Findings compare_facts(const Hosts& hosts, const std::vector<nlohmann::json>& facts);

/// clock.offset of each node but the first.
Findings judge_offsets(const Hosts& hosts, const std::vector<double>& offsets_s);

/// mpi.ring and mpi.allreduce.
Findings judge_collectives(const NetworkTimes& times, int ranks);

}  // namespace doctor
