// Expands zstd files.
#include <fmt/core.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <memory>
#include <new>

#include "staging/dataset/expanded_bytes.h"

namespace dataset {
namespace {

/// Expands frame by frame into memory for all of a frame, so that zstd needs no window beside it,
/// however large a one the file asks for.
class ZstdExpander {
 public:
  ZstdExpander(std::span<const std::byte> file, ExpandedBytes& out)
      : file_(file), out_(out), context_(ZSTD_createDCtx(), ZSTD_freeDCtx) {
    if (!context_) throw std::bad_alloc();
  }

  void expand() {
    while (offset_ < file_.size()) {
      const std::span<const std::byte> rest = file_.subspan(offset_);
      if (const auto bytes = skippable_bytes(rest)) {
        if (*bytes > rest.size()) fail("the file is cut inside a skippable frame");
        offset_ += *bytes;
      } else {
        expand_frame(rest.first(bytes_of_frame(rest)));
      }
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { out_.fail(offset_, "zstd", what); }

  [[noreturn]] void refuse(std::size_t status, std::span<const std::byte> frame) const {
    const ZSTD_ErrorCode code = ZSTD_getErrorCode(status);
    if (code == ZSTD_error_memory_allocation) throw std::bad_alloc();
    if (code == ZSTD_error_dictionary_wrong) {
      fail(fmt::format("the frame needs dictionary {}, and samples are read without one",
                       ZSTD_getDictID_fromFrame(frame.data(), frame.size())));
    }
    if (code == ZSTD_error_srcSize_wrong) fail("the file is cut inside a frame, or damaged");
    fail(ZSTD_getErrorName(status));
  }

  std::size_t bytes_of_frame(std::span<const std::byte> rest) const {
    if (rest.size() < sizeof(kZstdMagic)) {
      fail("the file is cut inside a frame, or other bytes follow one");
    }
    if (number32(rest) != kZstdMagic) {
      fail("expected the end of the file or another frame, found other bytes");
    }
    const std::size_t bytes = ZSTD_findFrameCompressedSize(rest.data(), rest.size());
    if (ZSTD_isError(bytes) != 0) refuse(bytes, rest);
    return bytes;
  }

  void expand_frame(std::span<const std::byte> frame) {
    constexpr std::size_t kLeastGuess = 64 << 10, kGuessedRatio = 4;
    const unsigned long long stated = ZSTD_getFrameContentSize(frame.data(), frame.size());
    if (stated == ZSTD_CONTENTSIZE_ERROR) fail("the header of a frame is damaged");
    const bool is_stated = stated != ZSTD_CONTENTSIZE_UNKNOWN;
    std::size_t more = is_stated ? stated : std::max(kGuessedRatio * frame.size(), kLeastGuess);
    for (;; more *= 2) {
      out_.reserve(more);
      const std::span<std::byte> memory = out_.memory();
      if (is_stated && memory.size() < stated) out_.refuse_more(offset_, "zstd");
      const std::size_t status = ZSTD_decompressDCtx(context_.get(), memory.data(), memory.size(),
                                                     frame.data(), frame.size());
      if (ZSTD_isError(status) == 0) {
        out_.take(status, offset_, "zstd");
        offset_ += frame.size();
        return;
      }
      const bool is_too_short = ZSTD_getErrorCode(status) == ZSTD_error_dstSize_tooSmall;
      if (is_stated || !is_too_short) refuse(status, frame);
      if (!out_.can_grow()) out_.refuse_more(offset_, "zstd");
    }
  }

  std::span<const std::byte> file_;
  ExpandedBytes& out_;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_;
  std::size_t offset_ = 0;
};

}  // namespace

std::optional<std::uint64_t> stated_by_zstd(std::span<const std::byte> begin) {
  if (begin.size() < sizeof(kZstdMagic) || number32(begin) != kZstdMagic) return std::nullopt;
  const unsigned long long stated = ZSTD_getFrameContentSize(begin.data(), begin.size());
  const bool is_stated = stated != ZSTD_CONTENTSIZE_UNKNOWN && stated != ZSTD_CONTENTSIZE_ERROR;
  return is_stated ? std::optional<std::uint64_t>(stated) : std::nullopt;
}

void expand_zstd(std::span<const std::byte> file, ExpandedBytes& out) {
  ZstdExpander(file, out).expand();
}

}  // namespace dataset
