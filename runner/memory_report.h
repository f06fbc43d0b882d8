// What training would need of a machine's memory, for people and as JSON.
// Hides sums and text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>

#include "runner/workload.h"

namespace runner {

/// {"rank", "ranks", "node_ranks", "threads", "rank_bytes" and "node_bytes" by part, "total_bytes"
/// of a rank that is alone, "node_total_bytes", "peak": {"at", "bytes" by part}, "definitions"}.
nlohmann::json memory_document(const MemoryNeeds& needs, const PlannedRank& place);

/// The same, as lines. `document` is memory_document()'s.
void print_memory(const nlohmann::json& document, std::ostream& out);

}  // namespace runner
