// Philox4x32-10, the distributions on top of it, and the Feistel permutation.
#include "runner/base/random.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <string>

#include "runner/base/error.h"

namespace base {

namespace {

constexpr int kPhiloxRounds = 10;
constexpr std::array<std::uint32_t, 2> kPhiloxMultiplier = {0xD2511F53u, 0xCD9E8D57u};
constexpr std::array<std::uint32_t, 2> kPhiloxWeyl = {0x9E3779B9u, 0xBB67AE85u};

/// Block numbers carry from the first counter word into the upper half of the second, whose lower
/// half holds the purpose.
constexpr std::uint32_t kBlockCarry = 1u << 16;

/// A Feistel network over fewer bits than this yields few different permutations.
constexpr int kMinHalfBits = 4;

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

/// The key of an epoch. Seed and epoch together are wider than a key, so one Philox block mixes
/// them.
std::array<std::uint32_t, 2> epoch_key(std::uint64_t seed, std::uint64_t epoch) {
  const auto mixed = philox4x32({low(epoch), high(epoch), 0, 0}, {low(seed), high(seed)});
  return {mixed[0], mixed[1]};
}

/// A bijective mixing of 32 bits (xor-shifts and odd multipliers).
std::uint32_t mix(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7FEB352Du;
  x ^= x >> 15;
  x *= 0x846CA68Bu;
  x ^= x >> 16;
  return x;
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t first = std::uint64_t{kPhiloxMultiplier[0]} * counter[0];
    const std::uint64_t second = std::uint64_t{kPhiloxMultiplier[1]} * counter[2];
    counter = {high(second) ^ counter[1] ^ key[0], low(second), high(first) ^ counter[3] ^ key[1],
               low(first)};
    key[0] += kPhiloxWeyl[0];
    key[1] += kPhiloxWeyl[1];
  }
  return counter;
}

RandomStream::RandomStream(std::uint64_t seed, Purpose purpose, std::uint64_t epoch,
                           std::uint64_t index)
    : key_(epoch_key(seed, epoch)),
      counter_{0, static_cast<std::uint32_t>(purpose), low(index), high(index)} {}

void RandomStream::refill() {
  block_ = philox4x32(counter_, key_);
  used_ = 0;
  if (++counter_[0] == 0) counter_[1] += kBlockCarry;
}

std::uint32_t RandomStream::next_u32() {
  if (used_ == 4) refill();
  return block_[static_cast<std::size_t>(used_++)];
}

std::uint64_t RandomStream::next_u64() {
  const std::uint64_t lower = next_u32();
  return lower | (std::uint64_t{next_u32()} << 32);
}

double RandomStream::uniform() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }

double RandomStream::uniform(double low_end, double high_end) {
  const double value = low_end + (high_end - low_end) * uniform();
  return value < high_end ? value : std::nextafter(high_end, low_end);  // the sum may round up
}

std::uint64_t RandomStream::below(std::uint64_t count) {
  if (count == 0) throw Error(ExitCode::kInternal, "RandomStream::below: count must be positive");
  const std::uint64_t surplus = (0 - count) % count;  // 2^64 mod count
  std::uint64_t value = next_u64();
  while (value < surplus) value = next_u64();
  return value % count;
}

double RandomStream::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

double RandomStream::truncated_normal() {
  double value = normal();
  while (std::abs(value) > 2.0) value = normal();
  return value;
}

std::uint64_t hash_name(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001B3u;
  }
  return hash;
}

Permutation::Permutation(std::uint64_t count, std::uint64_t seed, std::uint64_t epoch)
    : count_(count), half_bits_(kMinHalfBits), round_keys_{} {
  const int bits = count > 1 ? 64 - std::countl_zero(count - 1) : 1;
  if (bits > 2 * kMinHalfBits) half_bits_ = (bits + 1) / 2;
  RandomStream stream(seed, Purpose::kShuffle, epoch, hash_name("permutation"));
  for (std::uint32_t& key : round_keys_) key = stream.next_u32();
}

void Permutation::require_below_count(const char* what, std::uint64_t value) const {
  if (value < count_) return;
  throw Error(ExitCode::kInternal, std::string("Permutation: ") + what + " must be below " +
                                       std::to_string(count_) + ", got " + std::to_string(value));
}

std::uint64_t Permutation::operator()(std::uint64_t position) const {
  require_below_count("position", position);
  const std::uint32_t mask = low((std::uint64_t{1} << half_bits_) - 1);
  std::uint64_t value = position;
  do {  // the network permutes a power of 4: walk its cycle until back among 0..count-1
    std::uint32_t left = low(value >> half_bits_), right = low(value) & mask;
    for (const std::uint32_t key : round_keys_) {
      const std::uint32_t next = left ^ (mix(right ^ key) & mask);
      left = right;
      right = next;
    }
    value = (std::uint64_t{left} << half_bits_) | right;
  } while (value >= count_);
  return value;
}

std::uint64_t Permutation::position_of(std::uint64_t element) const {
  require_below_count("element", element);
  const std::uint32_t mask = low((std::uint64_t{1} << half_bits_) - 1);
  std::uint64_t value = element;
  do {  // the same cycle, walked backward
    std::uint32_t left = low(value >> half_bits_), right = low(value) & mask;
    for (auto key = round_keys_.rbegin(); key != round_keys_.rend(); ++key) {
      const std::uint32_t before = right ^ (mix(left ^ *key) & mask);
      right = left;
      left = before;
    }
    value = (std::uint64_t{left} << half_bits_) | right;
  } while (value >= count_);
  return value;
}

}  // namespace base
