// The decoders called by decode_image().
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "staging/dataset/dataset.h"

namespace dataset {

enum class Extent { kHeader, kPixels };

/// A header with more pixels than this is taken as damaged.
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 27;

/// Both throw DataError beginning with `name` for anything that does not decode completely.
void decode_jpeg(const std::vector<std::byte>& bytes, const std::string& name, Extent extent,
                 Image& image);
void decode_png(const std::vector<std::byte>& bytes, const std::string& name, Extent extent,
                Image& image);
/// Sets height and width and, for kPixels, resizes the pixels. Throws DataError beyond kMaxPixels.
void shape_image(std::int64_t height, std::int64_t width, const std::string& name, Extent extent,
                 Image& image);

}  // namespace dataset
