// Differences between nodes, and the description derived from them.
#include "runner/node_facts.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "runner/base/thrown_message.h"
#include "runner/system_description.h"

namespace runner {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::int64_t kGib = std::int64_t{1} << 30;

json node(const std::string& host) {
  return {{"host", host},
          {"build", {{"version", "1.2.3"}, {"revision", "abc"}, {"compiler", "Own 12"}}},
          {"libraries", {{"MPI", "Own MPI 4"}}},
          {"machine",
           {{"sockets", 2},
            {"cores", 128},
            {"logical_cpus", 256},
            {"numa_nodes", 8},
            {"memory_bytes", 251 * kGib},
            {"kernel", "Linux 6.1"},
            {"governor", "performance"},
            {"operating_system", "Own Linux 1"}}},
          {"hardware",
           {{"memory_modules", "16x 16.0 GiB DDR4-3200"},
            {"installed_memory_bytes", 256 * kGib},
            {"storage_type", "1x NVMe"},
            {"storage_bytes", 1024 * kGib},
            {"virtual_machine", false},
            {"smt", true}}},
          {"caches", "256x L1d 32.0 KiB"}};
}

SystemDescriptionOptions said(const std::string& submitter, int nodes) {
  SystemDescriptionOptions options;
  options.submitter = submitter;
  options.nodes = nodes;
  return options;
}

TEST(NodeDifferences, AreNoneBetweenEqualNodesWhoseKernelsKeepMoreOrLess) {
  json other = node("node2");
  other["machine"]["memory_bytes"] = 250 * kGib;
  EXPECT_THAT(node_differences({node("node1"), other}), IsEmpty());
  other["machine"]["memory_bytes"] = 240 * kGib;
  EXPECT_EQ(node_differences({node("node1"), other}).size(), 1U);
}

TEST(NodeDifferences, NameTheFactItsValuesAndWhichNodesHaveThem) {
  json slow = node("node3"), bare = node("node4");
  slow["machine"]["governor"] = "powersave";
  bare["machine"].erase("governor");
  const auto found = node_differences({node("node1"), slow, node("node2"), bare});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(to_text(found[0]),
            "machine.governor: performance on 2 nodes, powersave on node3, (not known) on node4");
  EXPECT_THAT(found[0].values[0].hosts, ElementsAre("node1", "node2"));
}

TEST(NodeDifferences, NameNoMoreThanEightNodesInALine) {
  std::vector<json> nodes(30, node("same"));
  for (int i = 0; i < 12; ++i) {
    nodes.push_back(node("n" + std::to_string(i)));
    nodes.back()["libraries"]["MPI"] = "Own MPI 5";
  }
  EXPECT_EQ(to_text(node_differences(nodes).at(0)),
            "libraries.MPI: Own MPI 4 on 30 nodes, Own MPI 5 on n0, n1, n2, n3, n4, n5, n6, n7 and "
            "4 more");
}

TEST(NodeDifferences, BecomeADocumentWithTheFactsOfEachNode) {
  json other = node("node2");
  other["machine"]["kernel"] = "Linux 6.2";
  const std::vector<json> nodes = {node("node1"), other};
  const json document = differences_document(nodes, node_differences(nodes));
  EXPECT_EQ(document["nodes"].size(), 2U);
  EXPECT_EQ(document["differences"], json::parse(R"([{"fact": "machine.kernel", "values": [
              {"value": "Linux 6.1", "hosts": ["node1"]},
              {"value": "Linux 6.2", "hosts": ["node2"]}]}])"));
}

TEST(NodeFacts, OfThisNodeHoldNothingThatARankHasForItself) {
  const json facts = node_facts({{"MPI", "x"}});
  EXPECT_FALSE(facts["host"].get<std::string>().empty());
  EXPECT_FALSE(facts["machine"].contains("affinity"));
  EXPECT_FALSE(facts["machine"].contains("usable_cpus"));
  EXPECT_FALSE(facts["machine"]["environment"].contains("OMPI_COMM_WORLD_RANK"));
  EXPECT_TRUE(facts["hardware"].contains("memory_modules"));
}

TEST(SystemDescription, HasTheFieldsOfTheCheckerAsText) {
  const auto fields = describe_system(said("me", 4), node("node1"));
  EXPECT_EQ(fields.size(), 33U);
  for (const auto& [name, value] : fields.items()) EXPECT_TRUE(value.is_string()) << name;
  EXPECT_EQ(fields["number_of_nodes"], "4");
  EXPECT_EQ(fields["host_processors_per_node"], "2");
  EXPECT_EQ(fields["host_processor_core_count"], "64");
  EXPECT_EQ(fields["host_processor_vcpu_count"], "128");
  EXPECT_EQ(fields["host_memory_capacity"], "256.0 GiB");
  EXPECT_EQ(fields["host_memory_configuration"], "16x 16.0 GiB DDR4-3200");
  EXPECT_EQ(fields["host_storage_capacity"], "1.0 TiB");
  EXPECT_EQ(fields["hw_notes"], "NUMA nodes 8, SMT on, frequency governor performance");
  EXPECT_EQ(fields["sw_notes"], "kernel Linux 6.1, Own 12");
  EXPECT_EQ(fields["cooling"], "");
}

TEST(SystemDescription, IsThatOfMostNodesWithTheDifferencesInTheNotes) {
  json small = node("node1"), old = node("node4");
  small["hardware"]["installed_memory_bytes"] = 128 * kGib;
  old["libraries"]["MPI"] = "Own MPI 3";
  const auto fields = describe_nodes({}, {small, node("node2"), node("node3"), old});
  EXPECT_EQ(fields["host_memory_capacity"], "256.0 GiB");
  EXPECT_THAT(fields["hw_notes"].get<std::string>(),
              HasSubstr("; nodes differ in hardware.installed_memory_bytes: 256.0 GiB on 3 nodes, "
                        "128.0 GiB on node1"));
  EXPECT_THAT(fields["hw_notes"].get<std::string>(), Not(HasSubstr("MPI")));
  EXPECT_THAT(fields["sw_notes"].get<std::string>(),
              HasSubstr("nodes differ in libraries.MPI: Own MPI 4 on 3 nodes, Own MPI 3 on node4"));
}

TEST(SystemDescription, KeepsWhatAPersonHasFilledInAndFillsTheRest) {
  const json written = {{"cooling", "liquid"},
                        {"host_networking_topology", "dragonfly"},
                        {"host_memory_capacity", "  "},
                        {"number_of_nodes", 4},
                        {"hw_notes", "racks 1 to 4"},
                        {"division", "closed"},
                        {"contact", "me"}};
  const auto updated = update_description(written, describe_system(said("", 4), node("node1")), {});
  EXPECT_EQ(updated.fields["cooling"], "liquid");
  EXPECT_EQ(updated.fields["host_networking_topology"], "dragonfly");
  EXPECT_EQ(updated.fields["host_memory_capacity"], "256.0 GiB");
  EXPECT_EQ(updated.fields["hw_notes"], "racks 1 to 4");
  EXPECT_EQ(updated.fields["division"], "closed");
  EXPECT_EQ(updated.fields["contact"], "me");
  EXPECT_EQ(updated.fields.size(), 34U);
  EXPECT_THAT(updated.contradictions, IsEmpty());
  EXPECT_GT(updated.filled, 5);
}

TEST(SystemDescription, TellsContradictionsAndKeepsTheFile) {
  const json written = {{"host_processor_model_name", "Other CPU"}, {"number_of_nodes", "8"}};
  json machine = node("node1");
  machine["machine"]["cpu_model"] = "Own CPU";
  const auto updated = update_description(written, describe_system(said("", 4), machine), {});
  EXPECT_EQ(updated.fields["host_processor_model_name"], "Other CPU");
  EXPECT_THAT(updated.contradictions,
              ElementsAre("number_of_nodes: the file says \"8\", the machine '4'",
                          "host_processor_model_name: the file says \"Other CPU\", the machine "
                          "'Own CPU'"));
}

TEST(SystemDescription, TakesWhatIsSaidNowInPlaceOfTheFile) {
  const json written = {{"submitter", "before"}, {"status", "Preview"}, {"number_of_nodes", "8"}};
  const SystemDescriptionOptions now = said("now", 4);
  const auto updated = update_description(written, describe_system(now, node("node1")), now);
  EXPECT_EQ(updated.fields["submitter"], "now");
  EXPECT_EQ(updated.fields["number_of_nodes"], "4");
  EXPECT_EQ(updated.fields["status"], "Preview");
  EXPECT_THAT(updated.contradictions, IsEmpty());
}

}  // namespace
}  // namespace runner
