// Arbitrary bytes as a log and the files next to it, in every format of the report: valid JSON, CSV
// with rows of equal length, HTML and text into which no content can slip markup or control codes.
// Lines of "%%" separate log, telemetry, trace, configuration and power log.
#include <array>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>

#include "analysis/findings/make_report.h"
#include "analysis/report/csv/report.h"
#include "analysis/report/html/report.h"
#include "analysis/report/json/report.h"
#include "analysis/report/text/report.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/memory_folder.h"

namespace {

namespace report = analysis::report;

void write_parts(std::string_view text, const fuzz::MemoryFolder& folder) {
  constexpr std::array kFiles = {"result_0.txt", "result_0.telemetry.json", "result_0.trace.json",
                                 "result_0.config.json", "power/result_0/node_0.txt"};
  constexpr std::string_view kBetween = "\n%%\n";
  for (const char* const file : kFiles) {
    const std::size_t end = text.find(kBetween);
    const std::string_view part = text.substr(0, end);
    if (!part.empty()) folder.write(file, part);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + kBetween.size());
  }
}

/// The number of cells of the CSV record at `at`, which moves behind it.
std::size_t take_record(std::string_view csv, std::size_t& at) {
  std::size_t cells = 1;
  bool is_quoted = false;
  for (; at < csv.size(); ++at) {
    if (csv[at] == '"') is_quoted = !is_quoted;
    if (is_quoted) continue;
    if (csv[at] == ',') ++cells;
    if (csv.substr(at).starts_with("\r\n")) break;
  }
  fuzz::require(!is_quoted && at + 2 <= csv.size());
  at += 2;
  return cells;
}

void check_csv(const std::string& csv) {
  std::size_t at = 0;
  const std::size_t columns = take_record(csv, at);
  while (at < csv.size()) fuzz::require(take_record(csv, at) == columns);
}

void check_text(const analysis::Report& made, report::Detail detail) {
  constexpr std::size_t kWidth = 100;
  std::ostringstream out;
  report::TextPage page(out, kWidth);
  report::write_text(page, made, detail);
  for (const char byte : out.str()) {
    fuzz::require(byte == '\n' || static_cast<unsigned char>(byte) >= ' ');
    fuzz::require(byte != '\x7f');
  }
}

/// By the C library, whose search is not slowed by the fuzzer's own marks.
std::size_t place_of(std::string_view text, std::string_view word, std::size_t at) {
  const void* const found = ::memmem(text.data() + at, text.size() - at, word.data(), word.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = place_of(text, word, 0); at != std::string_view::npos;
       at = place_of(text, word, at + 1)) {
    ++found;
  }
  return found;
}

void check_html(const std::string& html) {
  static const std::string empty = report::report_html({});
  for (const char* const tag : {"<script", "</script", "<style", "<noscript"}) {
    fuzz::require(count(html, tag) == count(empty, tag));
  }
  constexpr std::string_view kData = "id=\"data\">";
  const std::size_t begin = place_of(html, kData, 0) + kData.size();
  const std::size_t end = place_of(html, "</script>", begin);
  fuzz::require(nlohmann::json::accept(html.substr(begin, end - begin)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFolder folder;
  write_parts({reinterpret_cast<const char*>(data), size}, folder);
  const analysis::Report made = analysis::make_report({folder.path()}, {.threads = 1});
  fuzz::require(nlohmann::json::accept(report::report_json_text(made)));
  for (const auto& csv :
       {report::runs_csv(made), report::convergence_csv(made), report::subsystems_csv(made),
        report::ranks_csv(made), report::steps_csv(made), report::layers_csv(made),
        report::transfers_csv(made), report::waiting_csv(made), report::staging_csv(made),
        report::systems_csv(made)}) {
    check_csv(csv);
  }
  check_html(report::report_html(made));
  check_text(made, report::Detail::kScreen);
  check_text(made, report::Detail::kFull);
  return 0;
}
