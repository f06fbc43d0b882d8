// The offsets of a checkpoint's arrays in its file, and which rank writes which piece.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/base/state.h"
#include "runner/communicator.h"
#include "staging/checkpoint_header.h"
#include "staging/h5_memory.h"

namespace staging {

/// The rows that one rank holds of an array with Holding::kRowsOfRanks.
struct HeldRows {
  std::int64_t first = 0, count = 0;
};

/// Collective; the result is on rank 0. held[a][r]: the rows of array a that rank r holds, empty
/// for an array that every rank holds whole. Throws AgreedError when rows are missing or held
/// twice.
std::vector<std::vector<HeldRows>> gather_held_rows(const runner::Communicator& world,
                                                    const std::vector<base::StateArray>& arrays);

/// The header of `arrays`, in their order, cut into pieces. All offsets and hashes are still 0.
CheckpointHeader plan_pieces(const std::vector<base::StateArray>& arrays,
                             const std::vector<std::vector<HeldRows>>& held, std::string about);

/// The bytes of an HDF5 file with these arrays, contiguous and unwritten, after a user block large
/// enough for the header. Fills in the header's offsets and sizes, and sorts its arrays by offset.
/// `name` is used in messages. Throws SystemError.
SparseBytes lay_out(CheckpointHeader& header, const std::string& name);

/// A piece of an array, written by one rank.
struct Piece {
  std::size_t header_array = 0, header_segment = 0;  ///< indices into the header
  std::size_t array = 0;                             ///< index into the state's arrays
  std::int64_t begin = 0;                            ///< in the rows that this rank holds
  std::int64_t offset = 0, bytes = 0;                ///< in the file
};

/// The pieces that `rank` of `ranks` writes: its share, by bytes, of the arrays that every rank
/// holds, and all rows that it alone holds.
std::vector<Piece> pieces_of(const CheckpointHeader& header,
                             const std::vector<base::StateArray>& arrays, int rank, int ranks);

}  // namespace staging
