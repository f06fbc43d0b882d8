// The memory that training would need, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>

#include "runner/workload.h"

namespace runner {

/// {"rank", "ranks", "node_ranks", "threads", "rank_bytes" and "node_bytes" by part, "total_bytes"
/// of a rank alone on its node, "node_total_bytes", "peak": {"at", "bytes" by part},
/// "definitions"}.
nlohmann::json memory_document(const MemoryNeeds& needs, const PlannedRank& place);

/// Prints `document`, as made by memory_document().
void print_memory(const nlohmann::json& document, std::ostream& out);

}  // namespace runner
