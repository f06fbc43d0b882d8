// Table of the figures of a staged set.
#include "analysis/staged_fields.h"

namespace analysis {
namespace {

using StagedFields = std::vector<Field<StagedSet>>;

/// A figure that is a member.
template <class Member>
auto get(Member StagedSet::*member) {
  return [member](const StagedSet& set) { return optional_value(set.*member); };
}

auto get(NodeExtent StagedSet::*extent, std::optional<double> NodeExtent::*value) {
  return [=](const StagedSet& set) { return optional_value(set.*extent.*value); };
}

void add_what_was_copied(StagedFields& table) {
  table.push_back(
      {"mode", "",
       "where samples were read while training: stream: in place; shard: from a copy "
       "of what the node's ranks need; scatter: the same, read once for all nodes that need it; "
       "full: from a copy of the whole set",
       [](const StagedSet& set) { return Value(set.mode); }});
  table.push_back({"nodes", "", "nodes of the run", get(&StagedSet::nodes)});
  table.push_back({"reused_nodes", "", "nodes that had all that they needed of an earlier copy",
                   get(&StagedSet::reused_nodes)});
  table.push_back(
      {"packs", "", "packs copied or found there, summed over the nodes", get(&StagedSet::packs)});
  table.push_back({"samples", "", "samples copied or found there, summed over the nodes",
                   get(&StagedSet::samples)});
  table.push_back(
      {"bytes", "bytes", "of these samples, summed over the nodes", get(&StagedSet::bytes)});
  table.push_back({"resumed_bytes", "bytes",
                   "bytes of samples that were there already on nodes that copied the rest",
                   get(&StagedSet::resumed_bytes)});
  table.push_back({"source_bytes", "bytes",
                   "read from where the configuration has the samples, such as a shared file "
                   "system, by all ranks",
                   get(&StagedSet::source_bytes)});
  table.push_back(
      {"source_reads", "", "read calls for source_bytes", get(&StagedSet::source_reads)});
  table.push_back({"network_bytes", "bytes",
                   "sent to other nodes, which receive as many, by all ranks",
                   get(&StagedSet::network_bytes)});
  table.push_back({"written_bytes", "bytes",
                   "written to the nodes' storage by all ranks: samples, their places and "
                   "checksums",
                   get(&StagedSet::written_bytes)});
  table.push_back({"direct_bytes", "bytes", "of written_bytes, those written around the page cache",
                   get(&StagedSet::direct_bytes)});
  table.push_back({"memory_bytes", "bytes",
                   "the most that a node could take for samples on their way to its copy",
                   get(&StagedSet::memory_bytes)});
  table.push_back({"overlap", "", "whether samples were copied while others were trained on",
                   get(&StagedSet::overlaps)});
  table.push_back({"left_bytes", "bytes",
                   "of samples that were still to be copied when training ended, or that could "
                   "not be copied meanwhile; they were read from where the configuration has them",
                   get(&StagedSet::left_bytes)});
}

void add_how_long(StagedFields& table) {
  table.push_back({"planning_s", "s",
                   "time of the slowest rank for examining the set's samples and what the nodes "
                   "have of them; the first set's includes the latter for all sets",
                   get(&StagedSet::planning_s)});
  const auto seconds = &StagedSet::seconds;
  table.push_back({"seconds_min", "s", "copying time of the fastest node, 0 or near it if reused",
                   get(seconds, &NodeExtent::min)});
  table.push_back({"seconds_median", "s", "copying time of the median node",
                   get(seconds, &NodeExtent::median)});
  table.push_back({"seconds_max", "s",
                   "copying time of the slowest node; logs of earlier versions include planning",
                   get(seconds, &NodeExtent::max)});
  const auto rate = &StagedSet::bytes_per_second;
  const auto add_rate = [&](const char* name, const char* which,
                            std::optional<double> NodeExtent::*value) {
    table.push_back({name, "bytes/s",
                     std::string(which) +
                         " over the nodes that copied, of the bytes that a node "
                         "copied per second of its copying time; 0 if all reused their copies",
                     get(rate, value)});
  };
  add_rate("bytes_per_second_min", "least", &NodeExtent::min);
  add_rate("bytes_per_second_median", "median", &NodeExtent::median);
  add_rate("bytes_per_second_mean", "mean", &NodeExtent::mean);
  add_rate("bytes_per_second_max", "largest", &NodeExtent::max);
  table.push_back({"imbalance", "",
                   "largest / mean of the bytes that a node copied, over all nodes: 1 if all "
                   "copied equally much, 0 if none copied",
                   get(&StagedSet::imbalance)});
}

}  // namespace

const std::vector<Field<StagedSet>>& staged_fields() {
  static const StagedFields table = [] {
    StagedFields fields;
    add_what_was_copied(fields);
    add_how_long(fields);
    return fields;
  }();
  return table;
}

const char* slowest_definition() {
  return "up to three nodes that copied at the lowest bytes_per_second, the slowest first";
}

}  // namespace analysis
