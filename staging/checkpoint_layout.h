// Where the arrays of a checkpoint lie in its file, and which rank writes which piece.
// Hides HDF5, and how rows of ranks become pieces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/base/state.h"
#include "runner/communicator.h"
#include "staging/checkpoint_header.h"
#include "staging/h5_memory.h"

namespace staging {

/// Rows that a rank has of an array with Holding::kRowsOfRanks.
struct HeldRows {
  std::int64_t first = 0, count = 0;
};

/// Collective; the result is on rank 0. held[a][r]: what rank r has of array a, empty where every
/// rank has all of it. Throws AgreedError when rows are missing or held twice.
std::vector<std::vector<HeldRows>> gather_held_rows(const runner::Communicator& world,
                                                    const std::vector<base::StateArray>& arrays);

/// The header of arrays in this order, cut into pieces, with all places and hashes still 0.
CheckpointHeader plan_pieces(const std::vector<base::StateArray>& arrays,
                             const std::vector<std::vector<HeldRows>>& held, std::string about);

/// The bytes of an HDF5 file with these arrays, contiguous and unwritten behind a user block that
/// has room for the header. Fills in the header's places and sizes, and orders its arrays by place.
/// `name` stands in messages. Throws SystemError.
SparseBytes lay_out(CheckpointHeader& header, const std::string& name);

/// A piece of an array that this rank writes.
struct Piece {
  std::size_t header_array = 0, header_segment = 0;  ///< indices into the header
  std::size_t array = 0;                             ///< index into the state's arrays
  std::int64_t begin = 0;                            ///< in what this rank has of the array
  std::int64_t offset = 0, bytes = 0;                ///< in the file
};

/// The pieces of `rank` of `ranks`: its share of what all have, by bytes, and all that is its own.
std::vector<Piece> pieces_of(const CheckpointHeader& header,
                             const std::vector<base::StateArray>& arrays, int rank, int ranks);

}  // namespace staging
