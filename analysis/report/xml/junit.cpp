// Findings as JUnit XML.
#include "analysis/report/xml/junit.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "analysis/report/xml/element.h"

namespace analysis::report {
namespace {

std::string line_of(const JudgedFile& file, const Finding& finding) {
  const std::string place =
      finding.line > 0 ? fmt::format(":{}:{}", finding.line, finding.column) : "";
  const std::string rule = finding.rule.empty() ? "" : " [" + finding.rule + "]";
  const std::string suppressed = finding.suppressed_because.empty()
                                     ? ""
                                     : fmt::format(" (suppressed: {})", finding.suppressed_because);
  return xml_text(fmt::format("{}{}: {}: {}{}{}", file.file, place, to_string(finding.severity),
                              finding.text, rule, suppressed)) +
         '\n';
}

bool is_error(const Finding& finding) {
  return finding.severity == Finding::Severity::kError && finding.suppressed_because.empty();
}

/// The first error, as the most likely reason why the file failed.
std::string reason_of(const JudgedFile& file) {
  const auto first = std::find_if(file.findings.begin(), file.findings.end(), is_error);
  return first == file.findings.end() ? "does not comply with its ruleset" : first->text;
}

std::string lines_of(const JudgedFile& file, bool errors) {
  std::string lines;
  for (const Finding& finding : file.findings) {
    if (is_error(finding) == errors) lines += line_of(file, finding);
  }
  return lines;
}

std::string case_of(const JudgedFile& file) {
  const std::filesystem::path path = file.file;
  const std::string folder = path.parent_path().generic_string();
  std::string text =
      fmt::format("  <testcase classname=\"{}\" name=\"{}\">\n",
                  xml_text(folder.empty() ? "." : folder), xml_text(path.filename().string()));
  std::string output = lines_of(file, false);
  if (file.verdict == Verdict::kUnknown) {
    text += fmt::format("   <skipped message=\"UNKNOWN: {}\"/>\n", xml_text(file.unknown_because));
  }
  if (file.verdict != Verdict::kFail) {
    output = lines_of(file, true) + output;
  } else {
    text += fmt::format("   <failure type=\"verdict\" message=\"{}\">{}</failure>\n",
                        xml_text(reason_of(file)), lines_of(file, true));
  }
  if (!output.empty()) text += "   <system-out>" + output + "</system-out>\n";
  return text + "  </testcase>\n";
}

}  // namespace

std::string findings_junit(const std::vector<JudgedFile>& files, const std::string& suite) {
  const auto having = [&](Verdict verdict) {
    return std::ranges::count_if(files,
                                 [&](const JudgedFile& file) { return file.verdict == verdict; });
  };
  const std::string counts =
      fmt::format("name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"",
                  xml_text(suite), files.size(), having(Verdict::kFail), having(Verdict::kUnknown));
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites " + counts +
                     ">\n <testsuite " + counts + ">\n";
  for (const JudgedFile& file : files) text += case_of(file);
  return text + " </testsuite>\n</testsuites>\n";
}

}  // namespace analysis::report
