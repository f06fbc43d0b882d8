// Writes a whole file or nothing.
#include "analysis/report/output_file.h"

#include "runner/base/error.h"
#include "runner/base/replaced_file.h"

namespace analysis::report {

namespace fs = std::filesystem;

void write_output_file(const fs::path& path, std::string_view content) {
  std::error_code failed;
  const fs::path folder = path.parent_path();
  if (!folder.empty()) fs::create_directories(folder, failed);
  if (failed) throw base::SystemError(folder.string() + ": " + failed.message());
  base::write_file(path.string(), content);
}

}  // namespace analysis::report
