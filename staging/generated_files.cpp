// Files of a generated dataset, each written atomically and only once.
#include "staging/generated_files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "runner/base/error.h"
#include "runner/base/replaced_file.h"

namespace staging {

namespace fs = std::filesystem;

std::int64_t bytes_left_at(const std::string& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  return error ? -1 : static_cast<std::int64_t>(bytes);
}

void write_generated(const std::string& path, std::span<const std::byte> data) {
  const std::string begun = path + "~";
  const base::Descriptor file = base::open_part(begun);
  if (!file) throw base::system_error(path + ": cannot be created", errno);
  for (std::span<const std::byte> rest = data; !rest.empty();) {
    const ssize_t wrote = ::write(file.get(), rest.data(), rest.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) throw base::system_error(path + ": cannot be written", errno);
    rest = rest.subspan(static_cast<std::size_t>(wrote));
  }
  // No fsync for each of many files: what a crash loses is generated again from the same options.
  if (std::rename(begun.c_str(), path.c_str()) != 0) {
    throw base::system_error(path + ": cannot be put in place", errno);
  }
}

std::int64_t keep_or_write(const std::string& path,
                           const std::function<std::vector<std::byte>()>& make) {
  const std::int64_t left = bytes_left_at(path);
  if (left >= 0) return left;
  const std::vector<std::byte> data = make();
  write_generated(path, data);
  return static_cast<std::int64_t>(data.size());
}

}  // namespace staging
