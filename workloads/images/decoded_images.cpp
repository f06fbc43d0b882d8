// Decoded images of this process, kept in memory for later epochs and evaluations.
#include "workloads/images/decoded_images.h"

#include <cstring>
#include <memory>
#include <utility>

namespace images {
namespace {

/// What is kept of an image: this, then its pixels.
struct Extent {
  std::int32_t height = 0, width = 0;
  std::size_t bytes() const {
    return sizeof(Extent) +
           std::size_t{3} * static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
  }
};

/// `pixels`: of an image of this width.
dataset::Image part_of(const void* pixels, int width, const dataset::Region& region) {
  const auto bytes_of = [](int count) { return std::size_t{3} * static_cast<std::size_t>(count); };
  const std::size_t stride = bytes_of(width), row = bytes_of(region.width);
  dataset::Image part{region.height, region.width, {}};
  part.pixels.resize(row * static_cast<std::size_t>(region.height));
  const auto* from = static_cast<const std::uint8_t*>(pixels) +
                     stride * static_cast<std::size_t>(region.top) + bytes_of(region.left);
  std::uint8_t* to = part.pixels.data();
  for (int y = 0; y < region.height; ++y, from += stride, to += row) std::memcpy(to, from, row);
  return part;
}

}  // namespace

DecodedImages::DecodedImages(std::int64_t bytes)
    : store_({.memory_bytes = bytes}, cache::Policy::kNextUse, nullptr) {}

std::optional<dataset::Image> DecodedImages::find(std::int64_t index, std::int64_t next_use,
                                                  const dataset::ChooseView& choose) {
  const cache::Store::Bytes kept = store_.share(index, next_use);
  if (!kept) return std::nullopt;
  Extent extent;
  std::memcpy(&extent, kept->data(), sizeof extent);
  const dataset::View view = choose(extent.height, extent.width);
  return part_of(kept->data() + sizeof extent, extent.width, view.region);
}

dataset::Image DecodedImages::decode(const std::vector<std::byte>& bytes, const std::string& name,
                                     std::int64_t index, std::int64_t next_use,
                                     const dataset::ChooseView& choose) {
  std::optional<dataset::Region> part;  // of an image that is decoded as a whole
  dataset::Image image = dataset::decode_view(bytes, name, [&](int height, int width) {
    const dataset::View view = choose(height, width);
    const auto size = static_cast<std::int64_t>(Extent{height, width}.bytes());
    if (!store_.wants(next_use, size)) return view;
    part = view.region;
    return dataset::View(dataset::whole_image(height, width));
  });
  if (!part) return image;
  keep(index, next_use, image);
  dataset::Image wanted = part_of(image.pixels.data(), image.width, *part);
  wanted.flaw = std::move(image.flaw);
  return wanted;
}

void DecodedImages::keep(std::int64_t index, std::int64_t next_use, const dataset::Image& image) {
  const Extent extent{image.height, image.width};
  std::vector<std::byte> kept(extent.bytes());
  std::memcpy(kept.data(), &extent, sizeof extent);
  std::memcpy(kept.data() + sizeof extent, image.pixels.data(), image.pixels.size());
  store_.put(index, std::make_shared<const std::vector<std::byte>>(std::move(kept)), next_use);
}

}  // namespace images
