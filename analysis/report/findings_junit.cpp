// Findings as JUnit XML.
// Hides the format, and what may not stand in XML.
#include "analysis/report/findings_junit.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "runner/base/printable.h"

namespace analysis::report {
namespace {

/// U+FFFE and U+FFFF, the only characters that printable() leaves and XML 1.0 forbids, begin so.
constexpr std::string_view kNoCharacter = "\xef\xbf";
constexpr std::size_t kNoCharacterBytes = 3;

/// Safe as text and inside double-quoted attributes.
std::string xml(std::string_view text) {
  const std::string plain = base::printable(text);
  std::string escaped;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const std::string_view rest = std::string_view(plain).substr(i);
    if (rest.starts_with(kNoCharacter) && rest.size() >= kNoCharacterBytes &&
        static_cast<unsigned char>(rest[2]) >= 0xbe) {
      escaped += '?';
      i += kNoCharacterBytes - 1;
    } else if (plain[i] == '&') {
      escaped += "&amp;";
    } else if (plain[i] == '<') {
      escaped += "&lt;";
    } else if (plain[i] == '>') {
      escaped += "&gt;";
    } else if (plain[i] == '"') {
      escaped += "&quot;";
    } else {
      escaped += plain[i];
    }
  }
  return escaped;
}

std::string line_of(const JudgedFile& file, const Finding& finding) {
  const std::string place =
      finding.line > 0 ? fmt::format(":{}:{}", finding.line, finding.column) : "";
  const std::string rule = finding.rule.empty() ? "" : " [" + finding.rule + "]";
  const std::string suppressed = finding.suppressed_because.empty()
                                     ? ""
                                     : fmt::format(" (suppressed: {})", finding.suppressed_because);
  return xml(fmt::format("{}{}: {}: {}{}{}", file.file, place, to_string(finding.severity),
                         finding.text, rule, suppressed)) +
         '\n';
}

bool is_error(const Finding& finding) {
  return finding.severity == Finding::Severity::kError && finding.suppressed_because.empty();
}

/// The first error, which says most of why a file failed.
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
  std::string text = fmt::format("  <testcase classname=\"{}\" name=\"{}\">\n",
                                 xml(folder.empty() ? "." : folder), xml(path.filename().string()));
  std::string output = lines_of(file, false);
  if (file.passed) {
    output = lines_of(file, true) + output;
  } else {
    text += fmt::format("   <failure type=\"verdict\" message=\"{}\">{}</failure>\n",
                        xml(reason_of(file)), lines_of(file, true));
  }
  if (!output.empty()) text += "   <system-out>" + output + "</system-out>\n";
  return text + "  </testcase>\n";
}

}  // namespace

std::string findings_junit(const std::vector<JudgedFile>& files, const std::string& suite) {
  const auto failures = std::count_if(files.begin(), files.end(),
                                      [](const JudgedFile& file) { return !file.passed; });
  const std::string counts = fmt::format("name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\"",
                                         xml(suite), files.size(), failures);
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites " + counts +
                     ">\n <testsuite " + counts + ">\n";
  for (const JudgedFile& file : files) text += case_of(file);
  return text + " </testsuite>\n</testsuites>\n";
}

}  // namespace analysis::report
