// Decoded images of this process, kept in memory for later epochs and evaluations.
// Hides how much of an image is decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "staging/cache/store.h"
#include "staging/dataset/dataset.h"

namespace images {

/// Keeps whole images, up to a number of bytes, by cache::Policy::kNextUse: those whose next use
/// comes first; an image makes room only for one that is used before it. `choose` may not shrink.
/// Thread-safe.
class DecodedImages {
 public:
  explicit DecodedImages(std::int64_t bytes);

  /// The part that `choose` wants of image `index`, which is used again at `next_use`
  /// (cache::kNever: not at all); nullopt if the image is not kept, and then `choose` is not
  /// called. Has no flaw, as decode() told it.
  std::optional<dataset::Image> find(std::int64_t index, std::int64_t next_use,
                                     const dataset::ChooseView& choose);
  /// The same by decode_view() of an encoded image, of which more is decoded only where the whole
  /// is to be kept. Throws what decode_view() does; then nothing is kept.
  dataset::Image decode(const std::vector<std::byte>& bytes, const std::string& name,
                        std::int64_t index, std::int64_t next_use,
                        const dataset::ChooseView& choose);
  std::int64_t images() const { return store_.samples(); }
  std::int64_t bytes() const { return store_.kept().memory_bytes; }

 private:
  void keep(std::int64_t index, std::int64_t next_use, const dataset::Image& image);

  cache::Store store_;
};

}  // namespace images
