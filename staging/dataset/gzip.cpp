// Compression and expansion of whole gzip files.
#include "staging/dataset/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "staging/dataset/expand.h"
#include "staging/dataset/expanded_bytes.h"

namespace dataset {
namespace {

constexpr int kGzipOnly = MAX_WBITS + 16;
/// The most that deflate expands to. Source: "Maximum Compression Factor", zlib.net/zlib_tech.html.
constexpr std::size_t kMostRatio = 1032;

/// Limits a size to what zlib's 32-bit counts can hold; longer data are passed in several calls.
uInt piece_of(std::size_t bytes) {
  return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max() / 2));
}

/// zlib's input pointer is not const, although zlib only reads from it.
Bytef* input_of(std::span<const std::byte> bytes) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
}

void require_memory(int status) {
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
}

class GzipExpander {
 public:
  GzipExpander(std::span<const std::byte> file, ExpandedBytes& out) : file_(file), out_(out) {
    require_memory(inflateInit2(&stream_, kGzipOnly));
    stream_.next_in = input_of(file);
  }
  ~GzipExpander() { inflateEnd(&stream_); }
  GzipExpander(const GzipExpander&) = delete;
  GzipExpander& operator=(const GzipExpander&) = delete;

  void expand() {
    // A damaged statement must not take memory that the file could not fill.
    if (const auto stated = stated_by_gzip(file_)) {
      out_.reserve(std::min<std::size_t>(*stated, kMostRatio * file_.size()));
    }
    for (;;) {
      const int status = step();
      if (status == Z_STREAM_END) {
        if (left() == 0) return;
        if (compression_of(file_.subspan(offset())) != Compression::kGzip) {
          fail("expected the end of the file or another gzip member, found other bytes");
        }
        inflateReset(&stream_);
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        require_memory(status);
        fail(stream_.msg == nullptr ? "damaged" : stream_.msg);
      } else if (stream_.avail_out != 0 && left() == 0) {
        fail("the file is cut inside a gzip member");
      }
    }
  }

 private:
  std::size_t offset() const { return static_cast<std::size_t>(stream_.next_in - input_of(file_)); }
  std::size_t left() const { return file_.size() - offset(); }
  [[noreturn]] void fail(const std::string& what) const { out_.fail(offset(), "gzip", what); }

  int step() {
    const std::span<std::byte> memory = out_.next();
    const uInt room = piece_of(memory.size());
    stream_.avail_in = piece_of(left());
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
  // The last four bytes of an intact file are the size of its last member's content.
  if (end.size() < sizeof(std::uint32_t)) return std::nullopt;
  return number32(end, end.size() - sizeof(std::uint32_t));
}

void expand_gzip(std::span<const std::byte> file, ExpandedBytes& out) {
  GzipExpander(file, out).expand();
}

std::vector<std::byte> gzip(std::span<const std::byte> content) {
  constexpr int kMemory = 9;
  z_stream stream{};
  require_memory(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipOnly, kMemory,
                              Z_DEFAULT_STRATEGY));
  std::vector<std::byte> file(deflateBound(&stream, content.size()));
  stream.next_in = input_of(content);
  std::size_t done = 0, taken = 0;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    const uInt room = piece_of(file.size() - done), given = piece_of(content.size() - taken);
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
