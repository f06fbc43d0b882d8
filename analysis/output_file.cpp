// Writes a whole file or nothing.
// Hides the temporary file.
#include "analysis/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "runner/base/error.h"

namespace analysis {

namespace fs = std::filesystem;

void write_output_file(const fs::path& path, std::string_view content) {
  std::error_code failed;
  const fs::path folder = path.parent_path();
  if (!folder.empty()) fs::create_directories(folder, failed);
  if (failed) throw base::SystemError(folder.string() + ": " + failed.message());

  const fs::path temporary = path.string() + fmt::format(".{}.part", getpid());
  errno = 0;
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) {
    const int error_number = errno;
    fs::remove(temporary, failed);
    throw base::system_error(path.string() + ": cannot be written", error_number);
  }
  fs::rename(temporary, path, failed);
  if (!failed) return;
  const std::string reason = failed.message();
  fs::remove(temporary, failed);
  throw base::SystemError(path.string() + ": " + reason);
}

}  // namespace analysis
