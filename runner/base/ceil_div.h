// Integer division and multiples, rounded up.
#pragma once

#include <concepts>

namespace base {

/// amount / size rounded up: how many pieces of `size` hold `amount`. A negative amount gives 0 or
/// less, not its exact ceiling.
template <std::integral Amount, std::integral Size>
constexpr auto ceil_div(Amount amount, Size size) {
  return (amount + size - 1) / size;
}

/// The smallest multiple of `size` that is not below `amount`, which is not negative.
template <std::integral Amount, std::integral Size>
constexpr auto round_up(Amount amount, Size size) {
  return ceil_div(amount, size) * size;
}

}  // namespace base
