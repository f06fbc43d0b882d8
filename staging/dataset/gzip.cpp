// Compression of whole gzip files.
#include "staging/dataset/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace dataset {
namespace {

void require_deflate_memory(int status) {
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
}

/// Limits a size to what zlib's 32-bit counts can hold; longer data are passed in several calls.
uInt deflate_piece(std::size_t bytes) {
  return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max() / 2));
}

}  // namespace

std::vector<std::byte> gzip(std::span<const std::byte> content) {
  constexpr int kMemory = 9, kGzipOnly = MAX_WBITS + 16;
  z_stream stream{};
  require_deflate_memory(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipOnly,
                                      kMemory, Z_DEFAULT_STRATEGY));
  std::vector<std::byte> file(deflateBound(&stream, content.size()));
  // zlib's input pointer is not const, although zlib only reads from it.
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(content.data()));
  std::size_t done = 0, taken = 0;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    const uInt room = deflate_piece(file.size() - done),
               given = deflate_piece(content.size() - taken);
    stream.next_out = reinterpret_cast<Bytef*>(file.data() + done);
    stream.avail_out = room;
    stream.avail_in = given;
    status = deflate(&stream, taken + given == content.size() ? Z_FINISH : Z_NO_FLUSH);
    done += room - stream.avail_out;
    taken += given - stream.avail_in;
  }
  deflateEnd(&stream);
  file.resize(done);
  return file;
}

}  // namespace dataset
