// Arbitrary bytes as the trace next to a log: layers and spans with usable times, or a finding that
// says what is wrong.
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "analysis/trace_file.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/memory_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFolder folder;
  folder.write("result_0.trace.json", std::string_view(reinterpret_cast<const char*>(data), size));
  std::vector<analysis::Finding> findings;
  const auto trace = analysis::read_trace_of(folder.path() + "/result_0.txt", findings);
  fuzz::require(trace.has_value() == findings.empty());
  if (!trace) return 0;
  for (const auto& [layer, seconds] : trace->layers) {
    fuzz::require(std::isfinite(seconds) && seconds >= 0.0);
  }
  std::map<std::int64_t, std::int64_t> spans;
  for (const analysis::TraceSpan& span : trace->spans) {
    fuzz::require(span.rank >= 0 && span.rank < analysis::RunTrace::kMostRanks);
    fuzz::require(++spans[span.rank] <= analysis::RunTrace::kMostSpans);
    fuzz::require(span.begin_s >= 0.0 && span.end_s >= span.begin_s && std::isfinite(span.end_s));
  }
  fuzz::require(trace->spans_left_out >= 0);
  return 0;
}
