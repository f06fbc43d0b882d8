// Points of the plane, and files of them: a Point is stored as it is in memory.
#include "workloads/example/points.h"

#include <fmt/core.h>

#include <cstring>

#include "runner/base/error.h"
#include "runner/base/random.h"

namespace example {
namespace {

constexpr std::int64_t kBytes = sizeof(Point);

std::int64_t points_in(const dataset::File& file) {
  if (file.size() > 0 && file.size() % kBytes == 0) return file.size() / kBytes;
  throw base::DataError(fmt::format("{}: expected points of {} bytes each, found {} bytes",
                                    file.path(), kBytes, file.size()));
}

}  // namespace

Point draw_point(std::uint64_t seed, Set set, std::int64_t index) {
  constexpr double kSquaredRadius = 0.6;  // so that almost half of the points are inside
  base::RandomStream random(seed, base::Purpose::kGenerate, static_cast<std::uint64_t>(set),
                            static_cast<std::uint64_t>(index));
  Point point;
  point.x = static_cast<float>(random.uniform(-1.0, 1.0));
  point.y = static_cast<float>(random.uniform(-1.0, 1.0));
  point.label = point.x * point.x + point.y * point.y < kSquaredRadius ? 1 : 0;
  return point;
}

std::vector<std::byte> encode(const std::vector<Point>& points) {
  const auto bytes = std::as_bytes(std::span<const Point>(points));
  return {bytes.begin(), bytes.end()};
}

Point decode(std::span<const std::byte> bytes, const std::string& name) {
  Point point;
  if (bytes.size() != sizeof(point)) {
    throw base::DataError(
        fmt::format("{}: expected {} bytes, found {}", name, sizeof(point), bytes.size()));
  }
  std::memcpy(&point, bytes.data(), sizeof(point));
  if (point.label < 0 || point.label >= kClasses) {
    throw base::DataError(fmt::format("{}: expected label 0 or 1, found {}", name, point.label));
  }
  return point;
}

PointFile::PointFile(const std::string& path) : file_(path), points_(points_in(file_)) {}

std::int64_t PointFile::bytes(std::int64_t /*index*/) const { return kBytes; }

void PointFile::read(std::int64_t index, std::vector<std::byte>& out) const {
  out.resize(sizeof(Point));
  file_.read(index * kBytes, out);
}

std::string PointFile::name(std::int64_t index) const {
  return fmt::format("{}: point {}", file_.path(), index);
}

}  // namespace example
