// Compression and decompression of whole gzip files.
#include "staging/dataset/gzip.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>

#include "runner/base/error.h"

namespace dataset {
namespace {

constexpr int kGzipOnly = MAX_WBITS + 16;

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

class Inflater {
 public:
  Inflater(std::span<const std::byte> file, std::int64_t most_bytes, const std::string& name)
      : file_(file), most_bytes_(static_cast<std::size_t>(most_bytes)), name_(name) {
    require_memory(inflateInit2(&stream_, kGzipOnly));
    stream_.next_in = input_of(file);
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::vector<std::byte> content() {
    content_.resize(first_guess() + 1);  // the spare byte lets zlib go on to the end of the member
    for (;;) {
      const int status = step();
      if (status == Z_STREAM_END) {
        if (left() == 0) break;
        if (!is_gzip(file_.subspan(offset()))) {
          fail("expected the end of the file or another gzip member, found other bytes");
        }
        inflateReset(&stream_);
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        require_memory(status);
        fail(stream_.msg == nullptr ? "damaged" : stream_.msg);
      } else if (stream_.avail_out == 0) {
        grow();
      } else if (left() == 0) {
        fail("the file is cut inside a gzip member");
      }
    }
    content_.resize(done_);
    return std::move(content_);
  }

 private:
  std::size_t offset() const { return static_cast<std::size_t>(stream_.next_in - input_of(file_)); }
  std::size_t left() const { return file_.size() - offset(); }

  /// The last four bytes of an intact file are the size of its last member's content.
  std::size_t first_guess() const {
    constexpr std::size_t kLeast = 4096;
    std::uint32_t stated = 0;
    if (file_.size() >= sizeof(stated)) {
      std::memcpy(&stated, file_.data() + file_.size() - sizeof(stated), sizeof(stated));
    }
    return std::min(most_bytes_, std::max<std::size_t>(stated, kLeast));
  }

  int step() {
    stream_.avail_in = piece_of(left());
    stream_.next_out = reinterpret_cast<Bytef*>(content_.data() + done_);
    stream_.avail_out = piece_of(content_.size() - done_);
    const uInt room = stream_.avail_out;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    done_ += room - stream_.avail_out;
    if (done_ > most_bytes_) {
      fail(fmt::format("the content is longer than the {} bytes that it may have", most_bytes_));
    }
    return status;
  }

  /// Grows to at most one byte above the bound. The extra byte tells content that is too long from
  /// content of exactly `most_bytes_` whose trailer is still unread.
  void grow() {
    if (done_ < content_.size()) return;
    content_.resize(std::min(most_bytes_ + 1, 2 * content_.size() + 1));
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw base::DataError(fmt::format("{}: offset {}: gzip: {}", name_, offset(), what));
  }

  std::span<const std::byte> file_;
  std::size_t most_bytes_;
  const std::string& name_;
  z_stream stream_{};
  std::vector<std::byte> content_;
  std::size_t done_ = 0;
};

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) {
  constexpr std::array kMagic = {std::byte{0x1f}, std::byte{0x8b}};
  return bytes.size() >= kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), bytes.begin());
}

std::vector<std::byte> gunzip(std::span<const std::byte> file, std::int64_t most_bytes,
                              const std::string& name) {
  return Inflater(file, most_bytes, name).content();
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
