// Changes to a log that do not change its meaning: other line ends, prefixes of launchers, foreign
// lines, records of several ranks. The logs are those of tests/analysis/data, and published ones if
// available.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "published_logs/published_logs.h"

namespace log_changes {

namespace fs = std::filesystem;

constexpr char kToken[] = ":::MLLOG ";

inline std::vector<fs::path> logs_to_try() {
  std::vector<fs::path> paths;
  for (const fs::path& root : {fs::path("tests/analysis/data"), published::folder()}) {
    if (root.empty()) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("result_") && name.ends_with(".txt")) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Lines without their ends, as the reader takes them.
inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' && i > 0 && text[i - 1] == '\r') continue;
    if (text[i] != '\n' && text[i] != '\r') {
      line += text[i];
      continue;
    }
    lines.push_back(std::move(line));
    line.clear();
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

inline bool is_record(const std::string& line) { return line.find(kToken) != std::string::npos; }

using Change = std::function<std::string(const std::vector<std::string>&)>;

/// Applies `change` to each line and appends `end`.
inline Change each(const std::function<std::string(const std::string&)>& change, const char* end) {
  return [change, end](const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += change(line) + end;
    return text;
  };
}

/// A change and its name.
struct Named {
  std::string name;
  Change change;
};

/// Changes that keep the records and their order.
inline std::vector<Named> harmless() {
  const auto as_it_is = [](const std::string& line) { return line; };
  std::vector<Named> all = {{"LF", each(as_it_is, "\n")},
                            {"CR LF", each(as_it_is, "\r\n")},
                            {"CR", each(as_it_is, "\r")}};
  for (const std::string prefix : {"[0] ", "  0: ", "\x1b[32m", "I0518 21:33:07.3 x.py:168] "}) {
    const auto prefixed = [prefix](const std::string& line) {
      return is_record(line) ? prefix + line : line;
    };
    all.push_back({"prefix " + prefix, each(prefixed, "\n")});
  }
  all.push_back({"foreign lines", [](const std::vector<std::string>& lines) {
                   std::string text = "#!/bin/bash\n\n";
                   for (std::size_t i = 0; i < lines.size(); ++i) {
                     if (i % 3 == 0) {
                       text += "NCCL INFO: 50%\r 100%\r\n{\"key\": \"run_stop\"}\n:::MLLOG{}\n";
                     }
                     text += lines[i] + "\n";
                   }
                   return text + "real 0m1s";
                 }});
  return all;
}

/// Three ranks log each record at the same time.
inline Change three_ranks() {
  return each(
      [](const std::string& line) {
        return is_record(line) ? line + "\n" + line + "\n" + line : line;
      },
      "\n");
}

}  // namespace log_changes
