// Counter-based random streams and a stateless permutation, both independent of the number of
// ranks.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace base {

/// What a stream is for: streams of different purposes never share numbers. Append only: the values
/// are part of the stream's key.
enum class Purpose : std::uint32_t {
  kWeights,
  kShuffle,
  kAugment,
  kGenerate,
  kDropout,
  kSeeds,
  kBootstrap
};

/// Random numbers that are a pure function of (seed, purpose, epoch, index). The rank never enters.
/// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11 (Philox4x32-10).
class RandomStream {
 public:
  /// `index`: a global sample index, or `hash_name(parameter)`.
  RandomStream(std::uint64_t seed, Purpose purpose, std::uint64_t epoch, std::uint64_t index);

  std::uint32_t next_u32();
  std::uint64_t next_u64();
  /// Uniform in [0, 1) with 53 bits.
  double uniform();
  /// Uniform in [low, high).
  double uniform(double low, double high);
  /// Uniform integer in [0, count), unbiased; count > 0.
  std::uint64_t below(std::uint64_t count);
  /// Standard normal (Box-Muller on doubles; both values of a pair are used).
  double normal();
  /// Standard normal redrawn until within +-2.
  double truncated_normal();

 private:
  void refill();
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  int used_ = 4;
  double spare_normal_ = 0.0;
  bool has_spare_ = false;
};

/// One Philox4x32-10 block (exposed for its published test vectors).
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

/// A stable 64-bit hash of a name (FNV-1a), to give each parameter its own stream.
std::uint64_t hash_name(std::string_view name);

/// A pseudo-random permutation of 0..count-1 in constant memory (Feistel network with cycle
/// walking).
class Permutation {
 public:
  Permutation(std::uint64_t count, std::uint64_t seed, std::uint64_t epoch);
  /// The element at `position`; throws Error(kInternal) if position >= count.
  std::uint64_t operator()(std::uint64_t position) const;
  /// The position of `element`, the inverse; throws Error(kInternal) if element >= count.
  std::uint64_t position_of(std::uint64_t element) const;

 private:
  void require_below_count(const char* what, std::uint64_t value) const;
  std::uint64_t count_;
  int half_bits_;
  std::array<std::uint32_t, 8> round_keys_;
};

}  // namespace base
