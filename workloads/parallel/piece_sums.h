// Sums over ranks of pieces of a block, whatever they send.
#pragma once

#include <cstddef>
#include <thread>

namespace parallel {

/// Sums of pieces of floats, in place, each as often as wanted; all ranks get the same bits. Goes
/// on only within test() and wait().
class PieceSums {
 public:
  virtual ~PieceSums() = default;
  /// Begins the sum of a piece: on all ranks in the order of pieces, as many times each.
  virtual void begin(std::size_t piece) = 0;
  /// Goes on as far as messages have arrived. Returns whether nothing is under way.
  virtual bool test() = 0;
  /// Whether the sum of a piece is not under way.
  virtual bool is_done(std::size_t piece) const = 0;
  virtual void wait(std::size_t piece) {
    while (!is_done(piece)) {
      test();
      std::this_thread::yield();
    }
  }
};

}  // namespace parallel
