// Compares nodes to find slow and deviating ones. Every list is by node.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/doctor/finding.h"
#include "runner/doctor/network.h"

namespace doctor {

using Hosts = std::vector<std::string>;

/// "19.8 GB/s", "120 MB/s", "34.1 us", depending on a check's unit.
std::string quantity_text(double value, const std::string& unit);

/// One finding per node: a warning if it is below 80 % of the median of all nodes. With a single
/// node, only the rate.
Findings compare_rates(const std::string& id, const Hosts& hosts, const std::vector<double>& rates);

/// rate.network by node and, if no node explains a slow link, by link; rate.latency by node.
Findings compare_links(const Hosts& hosts, const std::vector<Link>& links);

/// nodes.alike: a finding for each fact in which a node differs from most nodes. host.name: names
/// that several nodes share.
Findings compare_facts(const Hosts& hosts, const std::vector<nlohmann::json>& facts);

/// clock.offset of each node but the first.
Findings judge_offsets(const Hosts& hosts, const std::vector<double>& offsets_s);

/// mpi.ring and mpi.allreduce.
Findings judge_collectives(const NetworkTimes& times, int ranks);

}  // namespace doctor
