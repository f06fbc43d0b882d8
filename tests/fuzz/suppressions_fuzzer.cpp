// Arbitrary bytes as a file of suppressions: a ConfigError, or entries that hide findings only with
// a reason, and no error of a submission.
#include <cstdint>

#include "analysis/findings/suppressions.h"
#include "runner/base/error.h"
#include "tests/fuzz/memory_file.h"

namespace {

analysis::Finding finding(analysis::Finding::Severity severity, const char* rule) {
  return {severity, 1, 1, "text", rule};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using Severity = analysis::Finding::Severity;
  const fuzz::MemoryFile file(data, size);
  try {
    const auto entries = analysis::read_suppressions(file.path());
    analysis::CheckReport report;
    report.files.resize(1);
    report.files[0].name = "cosmoflow/result_0.txt";
    report.files[0].audit = {finding(Severity::kWarning, "short-epoch"),
                             finding(Severity::kNote, "telemetry-damaged")};
    report.submission.emplace();
    auto& found = report.submission->report.findings;
    found.push_back({"systems/demo.json", finding(Severity::kError, "system.missing")});
    analysis::suppress(report, entries);
    fuzz::require(report.suppressions.size() == entries.size());
    fuzz::require(found[0].finding.suppressed_because.empty());
    std::int64_t hidden = 0, uses = 0;
    for (const auto& one : report.files[0].audit) hidden += one.suppressed_because.empty() ? 0 : 1;
    for (const auto& use : report.suppressions) uses += use.findings;
    fuzz::require(hidden == uses);
    for (const auto& entry : entries) fuzz::require(!entry.reason.empty());
  } catch (const base::ConfigError&) {
  }
  return 0;
}
