// Copying that goes on while this rank trains, whoever drives it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "staging/bring.h"

namespace staging {

/// Transfers that are made one after the other. Reading and writing that fails ends nothing but
/// copying: samples that are not copied are still in their source.
class CopyBeside {
 public:
  explicit CopyBeside(std::vector<Transfer> transfers)
      : transfers_(std::move(transfers)), results_(transfers_.size()) {}
  virtual ~CopyBeside() = default;
  CopyBeside(const CopyBeside&) = delete;
  CopyBeside& operator=(const CopyBeside&) = delete;

  const std::vector<Transfer>& transfers() const { return transfers_; }
  /// Not collective. Called on the main thread now and then; never waits.
  virtual void advance() = 0;
  /// Whether nothing is going on any more.
  virtual bool is_done() const = 0;
  /// Collective over all ranks. Ends it, at the latest after the samples that are being read and
  /// the packs that are being sent and written. What is not yet a whole pack is removed.
  virtual void end() = 0;

  /// Of one transfer.
  struct Result {
    Moved moved;
    std::int64_t took_ns = 0;
    std::string failure;  ///< why not all was moved; else ""
  };
  /// By transfer. Only after end().
  const std::vector<Result>& results() const { return results_; }

 protected:
  Result& result(std::size_t transfer) { return results_[transfer]; }

 private:
  const std::vector<Transfer> transfers_;
  std::vector<Result> results_;
};

/// Lowers the priority of the calling thread, and of those that it starts from now on, below that
/// of threads that train.
void give_way();

}  // namespace staging
