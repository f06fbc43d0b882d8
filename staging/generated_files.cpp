// Files of a generated dataset, each written atomically and only once.
#include "staging/generated_files.h"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "runner/base/error.h"

namespace staging {

namespace fs = std::filesystem;

std::int64_t bytes_left_at(const std::string& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  return error ? -1 : static_cast<std::int64_t>(bytes);
}

void write_generated(const std::string& path, std::span<const std::byte> data) {
  const std::string begun = path + "~";
  std::ofstream out(begun, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  out.close();
  std::error_code error;
  if (out) fs::rename(begun, path, error);
  if (!out || error) throw base::system_error(path + ": write failed", errno);
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
