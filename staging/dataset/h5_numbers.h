// Stored numbers of any kind as doubles.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

namespace dataset {

/// The element type of an array. kOther: not a number of a supported size.
struct H5Number {
  enum class Kind { kSigned, kUnsigned, kFloat, kOther };
  Kind kind = Kind::kOther;
  std::size_t bytes = 0;  ///< 1, 2, 4 or 8; kFloat: not 1
  std::endian order = std::endian::little;
  bool is_float() const { return kind == Kind::kFloat && bytes >= sizeof(float); }
};

template <class Stored>
Stored stored_as(const std::byte* from) {
  Stored value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// The value of a number in half precision, exactly.
inline double from_half(std::uint16_t bits) {
  constexpr int kMantissaBits = 10, kBias = 15, kSpecial = 31;
  const int exponent = bits >> kMantissaBits & kSpecial, mantissa = bits & 0x3FF;
  if (exponent == kSpecial && mantissa != 0) return std::nan("");
  const double size = exponent == kSpecial ? std::numeric_limits<double>::infinity()
                      : exponent == 0      ? std::ldexp(mantissa, 1 - kBias - kMantissaBits)
                                           : std::ldexp(mantissa + (1 << kMantissaBits),
                                                        exponent - kBias - kMantissaBits);
  return bits >> 15 != 0 ? -size : size;
}

/// Passes each stored number to `use` as a double. Whole numbers of up to 53 bits are exact.
template <class Use>
void for_each_number(const H5Number& number, std::span<const std::byte> bytes, const Use& use) {
  const auto each = [&](auto read) {
    for (std::size_t at = 0; at < bytes.size(); at += number.bytes) use(read(&bytes[at]));
  };
  const bool is_signed = number.kind == H5Number::Kind::kSigned;
  const auto number_as = [](auto sample) {
    return [](const std::byte* from) {
      return static_cast<double>(stored_as<decltype(sample)>(from));
    };
  };
  if (number.kind == H5Number::Kind::kFloat) {
    if (number.bytes == 2)
      each([](const std::byte* b) { return from_half(stored_as<std::uint16_t>(b)); });
    if (number.bytes == 4) each(number_as(float{}));
    if (number.bytes == 8) each(number_as(double{}));
    return;
  }
  if (number.bytes == 1)
    is_signed ? each(number_as(std::int8_t{})) : each(number_as(std::uint8_t{}));
  if (number.bytes == 2) {
    is_signed ? each(number_as(std::int16_t{})) : each(number_as(std::uint16_t{}));
  }
  if (number.bytes == 4) {
    is_signed ? each(number_as(std::int32_t{})) : each(number_as(std::uint32_t{}));
  }
  if (number.bytes == 8) {
    is_signed ? each(number_as(std::int64_t{})) : each(number_as(std::uint64_t{}));
  }
}

/// One stored whole number of any width. Unsigned ones of 64 bits keep their bits.
inline std::int64_t whole_number(const H5Number& number, std::span<const std::byte> bytes) {
  const bool is_signed = number.kind == H5Number::Kind::kSigned;
  const std::byte* const from = bytes.data();
  if (number.bytes == 1) {
    return is_signed ? std::int64_t{stored_as<std::int8_t>(from)} : stored_as<std::uint8_t>(from);
  }
  if (number.bytes == 2) {
    return is_signed ? std::int64_t{stored_as<std::int16_t>(from)} : stored_as<std::uint16_t>(from);
  }
  if (number.bytes == 4) {
    return is_signed ? std::int64_t{stored_as<std::int32_t>(from)} : stored_as<std::uint32_t>(from);
  }
  return stored_as<std::int64_t>(from);
}

}  // namespace dataset
