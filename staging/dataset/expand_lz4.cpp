// Expands files of lz4 frames.
#include <fmt/core.h>
#include <lz4frame.h>

#include <algorithm>
#include <memory>
#include <new>

#include "staging/dataset/expanded_bytes.h"

namespace dataset {
namespace {

class Lz4Expander {
 public:
  Lz4Expander(std::span<const std::byte> file, ExpandedBytes& out) : file_(file), out_(out) {
    LZ4F_dctx* context = nullptr;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) != 0) {
      throw std::bad_alloc();
    }
    context_.reset(context);
  }

  void expand() {
    while (offset_ < file_.size()) {
      if (const auto bytes = skippable_bytes(rest())) {
        if (*bytes > rest().size()) fail("the file is cut inside a skippable frame");
        offset_ += *bytes;
      } else {
        read_header();
        expand_blocks();
      }
    }
  }

 private:
  std::span<const std::byte> rest() const { return file_.subspan(offset_); }
  [[noreturn]] void fail(const std::string& what) const { out_.fail(offset_, "lz4", what); }

  void require(std::size_t status) const {
    if (LZ4F_isError(status) != 0) fail(LZ4F_getErrorName(status));
  }

  void read_header() {
    constexpr std::uint32_t kLegacyMagic = 0x184C2102;
    const std::span<const std::byte> bytes = rest();
    if (bytes.size() < sizeof(kLegacyMagic)) {
      fail("the file is cut inside a frame, or other bytes follow one");
    }
    if (number32(bytes) == kLegacyMagic) fail("the legacy format of lz4 -l is not read");
    if (number32(bytes) != kLz4Magic) {
      fail("expected the end of the file or another frame, found other bytes");
    }
    if (bytes.size() < LZ4F_HEADER_SIZE_MIN) fail("the file is cut inside a frame's header");
    const std::size_t header = LZ4F_headerSize(bytes.data(), bytes.size());
    require(header);
    if (bytes.size() < header) fail("the file is cut inside a frame's header");
    LZ4F_frameInfo_t frame{};
    std::size_t taken = bytes.size();
    require(LZ4F_getFrameInfo(context_.get(), &frame, bytes.data(), &taken));
    if (frame.dictID != 0) {
      fail(fmt::format("the frame needs dictionary {}, and samples are read without one",
                       frame.dictID));
    }
    reserve(frame.contentSize);
    offset_ += taken;
  }

  /// Memory for a frame's content, if its header states the size; else for what is usual.
  void reserve(std::uint64_t stated) {
    constexpr std::size_t kUsualRatio = 4;
    out_.reserve(stated != 0 ? stated : kUsualRatio * rest().size());
  }

  void expand_blocks() {
    for (;;) {
      const std::span<std::byte> memory = out_.next();
      std::size_t taken = rest().size(), written = memory.size();
      const std::size_t hint =
          LZ4F_decompress(context_.get(), memory.data(), &written, rest().data(), &taken, nullptr);
      require(hint);
      offset_ += taken;
      out_.take(written, offset_, "lz4");
      if (hint == 0) return;
      if (rest().empty() && written < memory.size()) fail("the file is cut inside a frame");
      if (taken == 0 && written == 0) fail("damaged");
    }
  }

  struct Free {
    void operator()(LZ4F_dctx* context) const { LZ4F_freeDecompressionContext(context); }
  };
  std::span<const std::byte> file_;
  ExpandedBytes& out_;
  std::unique_ptr<LZ4F_dctx, Free> context_;
  std::size_t offset_ = 0;
};

}  // namespace

std::optional<std::uint64_t> stated_by_lz4(std::span<const std::byte> begin) {
  constexpr std::size_t kFlags = 4, kSize = 6, kSizeBytes = 8;
  constexpr std::byte kHasSize{0x08};
  if (begin.size() < kSize + kSizeBytes || number32(begin) != kLz4Magic) return std::nullopt;
  if ((begin[kFlags] & kHasSize) == std::byte{0}) return std::nullopt;
  const std::uint64_t high = number32(begin, kSize + kSizeBytes / 2);
  return high << 32U | number32(begin, kSize);
}

void expand_lz4(std::span<const std::byte> file, ExpandedBytes& out) {
  Lz4Expander(file, out).expand();
}

}  // namespace dataset
