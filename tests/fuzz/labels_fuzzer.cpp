// Arbitrary bytes as the labels of a flat dataset: a DataError, or a known class for each image.
// The first byte selects the integer of the first class and whether classes have names.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "staging/dataset/arrange.h"
#include "tests/fuzz/memory_file.h"

namespace {

/// Each number up to the largest label becomes a class, so large ones only take time.
bool has_large_number(std::string_view text) {
  constexpr std::size_t kMostDigits = 4;
  std::size_t digits = 0;
  for (const char byte : text) {
    digits = byte >= '0' && byte <= '9' ? digits + 1 : 0;
    if (digits > kMostDigits) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool has_names = (data[0] & 2) != 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (!has_names && has_large_number(text)) return 0;
  const fuzz::MemoryFile file(data + 1, size - 1);
  dataset::OpenOptions options;
  options.labels_file = file.path();
  options.first_label = data[0] & 1;
  if (has_names) options.class_names = {"cat", "n01440764", "n01443537"};
  const std::vector<std::string_view> images = {"a b.jpg", "a.jpg", "c.png"};
  dataset::Listing listing;
  try {
    const std::vector<std::int32_t> labels = dataset::read_labels(images, options, listing);
    fuzz::require(labels.size() == images.size());
    for (const std::int32_t label : labels) {
      fuzz::require(label >= 0 && label < std::ssize(listing.class_names));
    }
    fuzz::require(!has_names || listing.class_names == options.class_names);
  } catch (const base::DataError&) {
  }
  return 0;
}
