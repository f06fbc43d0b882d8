// Rates of moving bytes, for people.
#include "runner/base/rate_text.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace base {

std::string rate_text(double bytes_per_second) {
  constexpr std::array kUnits = {std::pair{1e12, "TB/s"}, std::pair{1e9, "GB/s"},
                                 std::pair{1e6, "MB/s"}, std::pair{1e3, "kB/s"}};
  constexpr double kRoundsToOne = 0.9995;  // with three digits
  for (const auto& [unit, name] : kUnits) {
    if (bytes_per_second >= kRoundsToOne * unit) {
      return fmt::format("{:.3g} {}", bytes_per_second / unit, name);
    }
  }
  return fmt::format("{:.3g} B/s", bytes_per_second);
}

}  // namespace base
