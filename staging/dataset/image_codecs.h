// The decoders behind decode_image().
// Hides libjpeg and libpng, whose errors leave by longjmp.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "staging/dataset/dataset.h"

namespace dataset {

enum class Extent { kHeader, kPixels };

/// More pixels than any photograph has mean a damaged header, not an image.
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 27;

/// Throw DataError beginning with `name` for anything that does not decode completely.
void decode_jpeg(const std::vector<std::byte>& bytes, const std::string& name, Extent extent,
                 Image& image);
void decode_png(const std::vector<std::byte>& bytes, const std::string& name, Extent extent,
                Image& image);
/// Sets height and width and, for kPixels, makes room. Throws DataError beyond kMaxPixels.
void shape_image(std::int64_t height, std::int64_t width, const std::string& name, Extent extent,
                 Image& image);

}  // namespace dataset
