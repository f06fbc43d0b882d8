// Output files of commands.
#include "analysis/command/outputs.h"

#include <ostream>
#include <set>

#include "analysis/find_logs.h"
#include "analysis/report/output_file.h"
#include "runner/base/error.h"
#include "runner/base/printable.h"

namespace analysis::command {

namespace fs = std::filesystem;

std::vector<fs::path> with_side_files(const std::vector<fs::path>& logs) {
  std::vector<fs::path> files;
  std::set<fs::path> folders;
  for (const fs::path& log : logs) {
    files.push_back(log);
    for (const char* const ending : {".telemetry.json", ".trace.json", ".config.json", ".live.json",
                                     ".weights.h5", ".checkpoints"}) {
      files.push_back(fs::path(log).replace_extension(ending));
    }
    folders.insert(full_path(log).parent_path());
  }
  for (const fs::path& folder : folders) {
    for (const char* const name : {"scaling.json", "set_summary.json", "entry.json"}) {
      files.push_back(folder / name);
    }
    const fs::path submission = submission_around(folder);
    if (!submission.empty()) files.push_back(submission / "systems");
  }
  return files;
}

void write_files(const std::vector<OutputFile>& files, std::ostream& messages, bool quiet) {
  for (const auto& [path, content] : files) {
    report::write_output_file(path, content);
    if (!quiet) messages << "wrote " << base::printable(path.string()) << '\n';
  }
}

}  // namespace analysis::command
