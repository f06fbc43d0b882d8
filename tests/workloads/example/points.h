// Points of the plane, inside or outside of a circle, and files of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "staging/dataset/dataset.h"
#include "staging/dataset/file.h"

namespace example {

inline constexpr std::int64_t kCoordinates = 2, kClasses = 2;

struct Point {
  float x = 0.0F, y = 0.0F;
  std::int32_t label = 0;  ///< 1 inside of the circle
};

enum class Set { kTrain, kValidation, kBench };
/// Depends only on its arguments.
Point draw_point(std::uint64_t seed, Set set, std::int64_t index);

std::vector<std::byte> encode(const std::vector<Point>& points);
/// Throws DataError beginning with `name` for an invalid label.
Point decode(std::span<const std::byte> bytes, const std::string& name);

/// A file of points. Thread-safe.
class PointFile final : public dataset::Dataset {
 public:
  /// Throws DataError when the file cannot be opened, is empty, or is not a whole number of points
  /// long.
  explicit PointFile(const std::string& path);
  std::int64_t size() const override { return points_; }
  const std::vector<std::string>& class_names() const override { return names_; }
  std::int32_t label(std::int64_t /*index*/) const override { return 0; }
  std::int64_t bytes(std::int64_t index) const override;
  void read(std::int64_t index, std::vector<std::byte>& out) const override;
  std::string name(std::int64_t index) const override;
  std::string source() const override { return file_.path(); }
  Stamp stamp(std::int64_t index) const override { return {bytes(index), file_.mtime_ns()}; }

 private:
  const dataset::File file_;
  const std::int64_t points_;
  const std::vector<std::string> names_ = {""};
};

}  // namespace example
