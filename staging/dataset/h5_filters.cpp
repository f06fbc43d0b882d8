// HDF5's own filters of chunks, undone without HDF5. Source: HDF5 File Format Specification,
// version 3.0, "Filter Pipeline"; H5Zscaleoffset.c for the layout of a scaled chunk.
#include "staging/dataset/h5_filters.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "runner/base/error.h"
#include "runner/base/printable.h"

namespace dataset {
namespace {

using Stored = std::vector<std::byte>;

/// More than filters that run before others add to a chunk: a checksum, the head of scaled values.
constexpr std::size_t kMostAdded = 64;

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  }
  return value;
}

Stored inflated(const Stored& stored, std::size_t bytes) {
  Stored out(bytes + kMostAdded);
  uLongf done = out.size();
  const int status = uncompress(reinterpret_cast<Bytef*>(out.data()), &done,
                                reinterpret_cast<const Bytef*>(stored.data()), stored.size());
  if (status != Z_OK) throw base::DataError(fmt::format("zlib: {}", zError(status)));
  out.resize(done);
  return out;
}

/// The shuffle filter stores the first bytes of all elements, then the second ones, and so on.
Stored unshuffled(const Stored& stored, std::size_t element_bytes) {
  Stored out = stored;  // an incomplete last element stays at the end
  const std::size_t elements = stored.size() / element_bytes;
  for (std::size_t byte = 0; byte < element_bytes; ++byte) {
    for (std::size_t i = 0; i < elements; ++i) {
      out[i * element_bytes + byte] = stored[byte * elements + i];
    }
  }
  return out;
}

std::uint32_t folded(std::uint32_t sum) { return (sum & 0xffff) + (sum >> 16); }

/// Fletcher's checksum over big-endian 16-bit words; an odd last byte is the upper half of one.
std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  constexpr std::size_t kWordsUntilOverflow = 360;
  std::uint32_t first = 0, second = 0;
  std::size_t words = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    first += std::to_integer<std::uint32_t>(bytes[i]) << 8;
    if (i + 1 < bytes.size()) first += std::to_integer<std::uint32_t>(bytes[i + 1]);
    second += first;
    if (++words % kWordsUntilOverflow == 0) {
      first = folded(first);
      second = folded(second);
    }
  }
  first = folded(folded(first));
  second = folded(folded(second));
  return second << 16 | first;
}

/// The same, as versions before 1.6.3 wrote it.
std::uint32_t with_swapped_bytes(std::uint32_t sum) {
  return (sum & 0x00ff00ff) << 8 | (sum >> 8 & 0x00ff00ff);
}

Stored without_checksum(Stored stored) {
  constexpr std::size_t kSumBytes = 4;
  if (stored.size() < kSumBytes) throw base::DataError("no checksum");
  const std::span<const std::byte> all(stored);
  const auto found = static_cast<std::uint32_t>(little_endian(all.last(kSumBytes)));
  const std::uint32_t sum = fletcher32(all.first(all.size() - kSumBytes));
  if (found != sum && found != with_swapped_bytes(sum)) {
    throw base::DataError(
        fmt::format("the checksum {:08x} instead of {:08x} (Fletcher-32)", found, sum));
  }
  stored.resize(stored.size() - kSumBytes);
  return stored;
}

/// Undoes scaling: each value is stored as its difference from the least one, in as few bits as the
/// largest difference takes; floats were multiplied by a power of ten and rounded before.
class Scaled {
 public:
  Scaled(const Stored& stored, const std::vector<unsigned>& values, std::size_t bytes,
         std::size_t element_bytes)
      : stored_(stored), bytes_(bytes), size_(element_bytes) {
    constexpr std::size_t kFewest = 8;
    if (values.size() < kFewest || values[kSize] != size_ || size_ > sizeof(std::uint64_t)) {
      throw base::DataError("parameters of scale-offset for other elements");
    }
    is_float_ = values[kClass] == 1;
    decimals_ = static_cast<int>(values[kFactor]);
    order_ = values[kOrder] == 0 ? std::endian::little : std::endian::big;
    has_fill_ = values[kHasFill] != 0;
    for (std::size_t i = kFewest; i < std::min(values.size(), kFewest + 2); ++i) {
      fill_ |= std::uint64_t{values[i]} << 32 * (i - kFewest);
    }
    read_head();
  }

  Stored undone() {
    Stored out(bytes_);
    const std::size_t bits = 8 * size_;
    for (std::size_t at = 0; at + size_ <= out.size(); at += size_) {
      const std::uint64_t taken = take(bits_);
      put(bits_ == bits ? swapped(taken) : value_of(taken), std::span(out).subspan(at, size_));
    }
    return out;
  }

 private:
  static constexpr std::size_t kFactor = 1, kClass = 3, kSize = 4, kOrder = 6, kHasFill = 7;
  static constexpr std::size_t kHeadBytes = 21, kLeast = 5;

  void read_head() {
    if (stored_.size() < kHeadBytes) throw base::DataError("no head of scaled values");
    const std::span<const std::byte> head(stored_);
    bits_ = little_endian(head.first(4));
    const auto least_bytes = std::to_integer<std::size_t>(head[4]);
    if (bits_ > 8 * size_ || least_bytes > sizeof(std::uint64_t) ||
        stored_.size() - kHeadBytes < (bytes_ / size_ * bits_ + 7) / 8) {
      throw base::DataError(
          fmt::format("{} bytes of scaled values of {} bits", stored_.size(), bits_));
    }
    least_ = little_endian(head.subspan(kLeast, least_bytes));
  }

  /// The next bits, the most significant one first.
  std::uint64_t take(std::size_t bits) {
    std::uint64_t value = 0;
    while (bits > 0) {
      const std::size_t left = 8 - place_ % 8, now = std::min(left, bits);
      const auto byte = std::to_integer<std::uint64_t>(stored_[kHeadBytes + place_ / 8]);
      value = value << now | (byte >> (left - now) & ((1U << now) - 1));
      place_ += now;
      bits -= now;
    }
    return value;
  }

  /// Values of full width are stored as they lie in the writer's memory: little-endian.
  std::uint64_t swapped(std::uint64_t value) const {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < size_; ++i) out = out << 8 | (value >> 8 * i & 0xff);
    return out;
  }

  std::uint64_t value_of(std::uint64_t stored) const {
    const std::uint64_t fill_mark = (std::uint64_t{1} << bits_) - 1;
    if (has_fill_ && stored == fill_mark) return fill_;
    if (!is_float_) return stored + least_;
    const double scale = std::pow(10.0, decimals_), difference = static_cast<double>(stored);
    if (size_ == sizeof(double)) {
      return std::bit_cast<std::uint64_t>(difference / scale + std::bit_cast<double>(least_));
    }
    const auto least = std::bit_cast<float>(static_cast<std::uint32_t>(least_));
    return std::bit_cast<std::uint32_t>(static_cast<float>(difference) / static_cast<float>(scale) +
                                        least);
  }

  void put(std::uint64_t value, std::span<std::byte> out) const {
    for (std::size_t i = 0; i < size_; ++i) {
      const std::size_t place = order_ == std::endian::little ? i : size_ - 1 - i;
      out[place] = static_cast<std::byte>(value >> 8 * i);
    }
  }

  const Stored& stored_;
  const std::size_t bytes_, size_;
  bool is_float_ = false, has_fill_ = false;
  int decimals_ = 0;
  std::endian order_ = std::endian::little;
  std::uint64_t fill_ = 0, least_ = 0, bits_ = 0;
  std::size_t place_ = 0;  ///< of the next bit
};

/// Filters that other programs use, by their registered numbers.
std::string_view name_of(H5Z_filter_t filter) {
  struct Known {
    H5Z_filter_t number;
    std::string_view name;
  };
  constexpr std::array kKnown = {Known{H5Z_FILTER_SZIP, "szip"},
                                 Known{H5Z_FILTER_NBIT, "n-bit"},
                                 Known{305, "LZO"},
                                 Known{307, "bzip2"},
                                 Known{32000, "LZF"},
                                 Known{32001, "Blosc"},
                                 Known{32004, "LZ4"},
                                 Known{32008, "bitshuffle"},
                                 Known{32013, "ZFP"},
                                 Known{32015, "Zstandard"},
                                 Known{32017, "SZ"},
                                 Known{32026, "Blosc2"}};
  const auto* const known = std::ranges::find(kKnown, filter, &Known::number);
  return known == kKnown.end() ? "" : known->name;
}

[[noreturn]] void refuse_filter(H5Z_filter_t filter, const std::string& name_in_file,
                                const std::string& label) {
  const std::string_view known = name_of(filter);
  const std::string name =
      known.empty() ? base::printable(name_in_file.empty() ? "one without a name" : name_in_file)
                    : std::string(known);
  throw base::DataError(fmt::format(
      "{}: expected data that are plain or filtered by deflate, shuffle, Fletcher-32 or "
      "scale-offset, found the filter {} ({}); write the file anew without it, for "
      "instance by `h5repack -f GZIP=1 OLD NEW`",
      label, name, filter));
}

}  // namespace

std::vector<H5Filter> filters_of(hid_t creation, const std::string& label) {
  using Kind = H5Filter::Kind;
  std::vector<H5Filter> filters;
  const int count = H5Pget_nfilters(creation);
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    std::array<unsigned, 32> values{};
    std::size_t found = values.size();
    std::array<char, 64> name{};
    const H5Z_filter_t filter = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &found,
                                               values.data(), name.size(), name.data(), nullptr);
    H5Filter one;
    one.values.assign(values.begin(), values.begin() + std::min(found, values.size()));
    if (filter == H5Z_FILTER_DEFLATE) {
      one.kind = Kind::kDeflate;
    } else if (filter == H5Z_FILTER_SHUFFLE) {
      one.kind = Kind::kShuffle;
    } else if (filter == H5Z_FILTER_FLETCHER32) {
      one.kind = Kind::kFletcher32;
    } else if (filter == H5Z_FILTER_SCALEOFFSET) {
      one.kind = Kind::kScaleOffset;
    } else if (filter == H5Z_FILTER_NBIT && one.values.size() > 1 && one.values[1] != 0) {
      one.kind = Kind::kIdentity;  // elements that use all of their bits are left as they are
    } else {
      refuse_filter(filter, std::string(name.data(), ::strnlen(name.data(), name.size())), label);
    }
    filters.push_back(std::move(one));
  }
  return filters;
}

std::vector<std::byte> unfiltered(std::vector<std::byte> stored,
                                  const std::vector<H5Filter>& filters, std::uint32_t skipped,
                                  std::size_t bytes, std::size_t element_bytes) {
  for (std::size_t i = filters.size(); i-- > 0;) {
    if ((skipped >> i & 1U) != 0) continue;
    switch (filters[i].kind) {
      case H5Filter::Kind::kDeflate:
        stored = inflated(stored, bytes);
        break;
      case H5Filter::Kind::kShuffle:
        stored = unshuffled(stored, element_bytes);
        break;
      case H5Filter::Kind::kFletcher32:
        stored = without_checksum(std::move(stored));
        break;
      case H5Filter::Kind::kScaleOffset:
        stored = Scaled(stored, filters[i].values, bytes, element_bytes).undone();
        break;
      case H5Filter::Kind::kIdentity:
        break;
    }
  }
  if (stored.size() != bytes) throw base::DataError(fmt::format("found {}", stored.size()));
  return stored;
}

}  // namespace dataset
