// Expands gzip files.
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "staging/dataset/expand.h"
#include "staging/dataset/expanded_bytes.h"

namespace dataset {
namespace {

/// Limits a size to what zlib's 32-bit counts can hold; longer data are passed in several calls.
uInt inflate_piece(std::size_t bytes) {
  return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max() / 2));
}

/// zlib's input pointer is not const, although zlib only reads from it.
Bytef* inflate_input(std::span<const std::byte> bytes) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
}

void require_inflate_memory(int status) {
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
}

class GzipExpander {
 public:
  GzipExpander(std::span<const std::byte> file, ExpandedBytes& out) : file_(file), out_(out) {
    constexpr int kGzipOnly = MAX_WBITS + 16;
    require_inflate_memory(inflateInit2(&stream_, kGzipOnly));
    stream_.next_in = inflate_input(file);
  }
  ~GzipExpander() { inflateEnd(&stream_); }
  GzipExpander(const GzipExpander&) = delete;
  GzipExpander& operator=(const GzipExpander&) = delete;

  void expand() {
    reserve_stated();
    for (;;) {
      const int status = step();
      if (status == Z_STREAM_END) {
        if (left() == 0) return;
        if (compression_of(file_.subspan(offset())) != Compression::kGzip) {
          fail("expected the end of the file or another gzip member, found other bytes");
        }
        inflateReset(&stream_);
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        require_inflate_memory(status);
        fail(stream_.msg == nullptr ? "damaged" : stream_.msg);
      } else if (stream_.avail_out != 0 && left() == 0) {
        fail("the file is cut inside a gzip member");
      }
    }
  }

 private:
  std::size_t offset() const {
    return static_cast<std::size_t>(stream_.next_in - inflate_input(file_));
  }
  std::size_t left() const { return file_.size() - offset(); }
  [[noreturn]] void fail(const std::string& what) const { out_.fail(offset(), "gzip", what); }

  /// The last four bytes of an intact file are the size of its last member's content.
  void reserve_stated() {
    if (file_.size() < sizeof(std::uint32_t)) return;
    out_.reserve(number32(file_, file_.size() - sizeof(std::uint32_t)));
  }

  int step() {
    const std::span<std::byte> memory = out_.next();
    const uInt room = inflate_piece(memory.size());
    stream_.avail_in = inflate_piece(left());
    stream_.next_out = reinterpret_cast<Bytef*>(memory.data());
    stream_.avail_out = room;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    out_.take(room - stream_.avail_out, offset(), "gzip");
    return status;
  }

  std::span<const std::byte> file_;
  ExpandedBytes& out_;
  z_stream stream_{};
};

}  // namespace

std::optional<std::uint64_t> stated_by_gzip(std::span<const std::byte> end) {
  if (end.size() < sizeof(std::uint32_t)) return std::nullopt;
  return number32(end, end.size() - sizeof(std::uint32_t));
}

void expand_gzip(std::span<const std::byte> file, ExpandedBytes& out) {
  GzipExpander(file, out).expand();
}

}  // namespace dataset
