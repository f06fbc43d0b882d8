// Sums of memory and their text.
#include "runner/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runner/documents.h"

namespace runner {
namespace {

using Json = nlohmann::json;

std::int64_t sum(const MemoryNeeds::Parts& parts) {
  std::int64_t bytes = 0;
  for (const auto& [part, part_bytes] : parts) bytes += part_bytes;
  return bytes;
}

void print_line(std::ostream& out, const std::string& what, std::int64_t bytes) {
  constexpr int kWidth = 36;
  out << fmt::format("  {:<{}} {:>10}\n", what, kWidth, bytes_text(static_cast<double>(bytes)));
}

/// Prints the largest part first.
void print_parts(std::ostream& out, const Json& parts) {
  std::vector<std::pair<std::int64_t, std::string>> lines;
  for (const auto& [part, bytes] : parts.items()) {
    lines.emplace_back(bytes.get<std::int64_t>(), part);
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [bytes, part] : lines) print_line(out, part, bytes);
}

}  // namespace

Json memory_document(const MemoryNeeds& needs, const PlannedRank& place) {
  const std::int64_t rank = sum(needs.rank), node = sum(needs.node);
  return {{"rank", place.rank},
          {"ranks", place.ranks},
          {"node_ranks", place.node_ranks},
          {"threads", place.threads},
          {"rank_bytes", needs.rank},
          {"node_bytes", needs.node},
          {"total_bytes", rank + node},
          {"node_total_bytes", place.node_ranks * rank + node},
          {"peak", {{"at", needs.peak_at}, {"bytes", needs.peak}}},
          {"definitions",
           {{"rank_bytes",
             "of each rank, by part; without the program, its libraries and images "
             "that are being decoded"},
            {"node_bytes", "of all ranks of a node together, by part"},
            {"total_bytes", "rank_bytes and node_bytes: what a rank's resident set comes to"},
            {"node_total_bytes", "rank_bytes of as many ranks as a node has, and node_bytes"},
            {"peak",
             "of activations and scratch: what they consist of when most of them is in use; "
             "what is missing from rank_bytes are gaps between lifetimes"}}}};
}

void print_memory(const Json& document, std::ostream& out) {
  const auto number = [&](const char* key) { return document.at(key).get<std::int64_t>(); };
  out << fmt::format("rank {} of {}, threads: {}\n", number("rank"), number("ranks"),
                     number("threads"));
  print_parts(out, document.at("rank_bytes"));
  out << "once for all ranks of a node\n";
  print_parts(out, document.at("node_bytes"));
  out << "in all\n";
  print_line(out, "a rank", number("total_bytes"));
  if (number("node_ranks") > 1) {
    print_line(out, fmt::format("a node of {} ranks", number("node_ranks")),
               number("node_total_bytes"));
  }
  const Json& peak = document.at("peak");
  out << fmt::format("activations and scratch where most is in use, {}\n",
                     peak.at("at").get<std::string>());
  print_parts(out, peak.at("bytes"));
}

}  // namespace runner
