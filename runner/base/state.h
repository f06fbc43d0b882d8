// The state of a workload in a checkpoint: named arrays, either whole on every rank or distributed
// by rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace base {

enum class ElementType { kFloat32, kFloat64, kInt64 };

template <class T>
constexpr ElementType element_type() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> ||
                std::is_same_v<T, std::int64_t>);
  if constexpr (std::is_same_v<T, float>) return ElementType::kFloat32;
  if constexpr (std::is_same_v<T, double>) return ElementType::kFloat64;
  return ElementType::kInt64;
}

constexpr std::int64_t size_of(ElementType type) { return type == ElementType::kFloat32 ? 4 : 8; }

/// Arrays in this group are only for resuming; readers of weights skip them.
inline constexpr char kResumeGroup[] = "resume/";

enum class Holding {
  kEveryRank,   ///< all ranks have the same array
  kRowsOfRanks  ///< each rank holds some rows; together they are the array, each row once
};

/// One array of a state; name, element type and shape are the same on every rank.
struct StateArray {
  std::string name;  ///< '/' makes groups
  ElementType element = ElementType::kFloat32;
  std::vector<std::int64_t> shape;  ///< of the whole array, row-major; at least one extent
  Holding holding = Holding::kEveryRank;
  std::int64_t first_row = 0, rows = 0;  ///< this rank's rows, for kRowsOfRanks
  /// The bytes that this rank holds: the state's own memory, or `scratch` after filling it. Valid
  /// until the state or scratch changes.
  std::function<std::span<const std::byte>(std::vector<std::byte>& scratch)> bytes;

  std::int64_t row_bytes() const {
    return std::accumulate(shape.begin() + 1, shape.end(), size_of(element), std::multiplies<>());
  }
  std::int64_t total_bytes() const { return shape.front() * row_bytes(); }
};

/// An array that every rank holds; `values` returns it in row-major order when it is written.
template <class T>
StateArray replicated(std::string name, std::vector<std::int64_t> shape,
                      std::function<std::vector<T>()> values) {
  const auto bytes = [values = std::move(values)](std::vector<std::byte>& scratch) {
    const std::vector<T> all = values();
    scratch.resize(all.size() * sizeof(T));
    std::memcpy(scratch.data(), all.data(), scratch.size());
    return std::span<const std::byte>(scratch);
  };
  return {std::move(name), element_type<T>(), std::move(shape), Holding::kEveryRank, 0, 0, bytes};
}

/// The arrays of a checkpoint. All calls but has() throw a DataError that names file and array if
/// the array is missing or of another type or shape.
class StateSource {
 public:
  virtual ~StateSource() = default;
  virtual bool has(const std::string& name) const = 0;
  virtual std::vector<std::int64_t> shape(const std::string& name) const = 0;
  /// Collective. The whole array on every rank.
  virtual void read(const std::string& name, ElementType element,
                    const std::vector<std::int64_t>& shape, std::span<std::byte> out) const = 0;
  /// Not collective: reads rows from `first_row` on until `out` is full.
  virtual void read_rows(const std::string& name, ElementType element, std::int64_t first_row,
                         std::span<std::byte> out) const = 0;
};

/// Collective. The values of a whole array in row-major order.
template <class T>
std::vector<T> read_array(const StateSource& source, const std::string& name,
                          const std::vector<std::int64_t>& shape) {
  const std::int64_t count =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  std::vector<T> values(static_cast<std::size_t>(count));
  source.read(name, element_type<T>(), shape, std::as_writable_bytes(std::span<T>(values)));
  return values;
}

}  // namespace base
