// The decoders called by decode_image().
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "staging/dataset/dataset.h"

namespace dataset {

/// A header with more pixels than this is taken as damaged.
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 27;

/// Both throw DataError beginning with `name` for anything that does not decode completely. Without
/// `choose` only the header is read: the image has no pixels.
Image decode_jpeg(const std::vector<std::byte>& bytes, const std::string& name,
                  const ChooseView& choose);
Image decode_png(const std::vector<std::byte>& bytes, const std::string& name,
                 const ChooseView& choose);
/// An image without pixels. Throws DataError beyond kMaxPixels.
Image sized_image(std::int64_t height, std::int64_t width, const std::string& name);
/// The view that `choose` wants of `image`, or throws ShapeError as decode_view() does.
View view_of(const ChooseView& choose, const std::string& name, const Image& image);
/// Makes `image` one of the region's size.
void make_room(const Region& region, Image& image);

}  // namespace dataset
