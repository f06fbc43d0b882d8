// The door to samples: (index -> bytes and label), whatever the files look like.
// Hides folders, archives and packed shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace dataset {

/// Encoded samples of a classification dataset in a fixed order: sorted by class folder, then file
/// name (byte order). Class ids are the ranks of the sorted class names. read() may be called from
/// several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;
  virtual const std::vector<std::string>& class_names() const = 0;
  virtual std::int32_t label(std::int64_t index) const = 0;
  /// Bytes that read() gives for this sample.
  virtual std::int64_t bytes(std::int64_t index) const = 0;
  /// The sample's encoded bytes, into `out` (resized). Throws DataError naming file and offset.
  virtual void read(std::int64_t index, std::vector<std::byte>& out) const = 0;
  /// "train.tar: airplane/0001.jpg": for messages and listings.
  virtual std::string name(std::int64_t index) const = 0;
  /// The file that is this sample and nothing else, for readers of parts of it; "" where there is
  /// none, or where only read() may give it.
  virtual std::string path(std::int64_t /*index*/) const { return ""; }
  /// The path that was opened.
  virtual std::string source() const { return "memory"; }
  /// What changes when the sample does; one look at the file system for samples in own files.
  struct Stamp {
    std::int64_t bytes = 0;
    std::int64_t mtime_ns = 0;  ///< since the Unix epoch
  };
  virtual Stamp stamp(std::int64_t index) const { return {bytes(index), 0}; }
  /// Hands all of `indices` to `sink` in the order that suits the storage, read in large pieces
  /// where samples lie together. Returns the number of reads. Throws DataError as read() does.
  using Sink = std::function<void(std::int64_t index, std::span<const std::byte> bytes)>;
  virtual std::int64_t read_many(std::span<const std::int64_t> indices, const Sink& sink) const;
};

/// An interleaved 8-bit RGB image, row-major.
struct Image {
  int height = 0, width = 0;
  std::vector<std::uint8_t> pixels;  ///< [height, width, 3]
};

/// JPEG (baseline, progressive, grayscale, CMYK/YCCK) or PNG by content, to RGB; ISLOW DCT, fancy
/// upsampling. Throws DataError beginning with `name` for anything that does not decode completely.
Image decode_image(const std::vector<std::byte>& bytes, const std::string& name);
/// Height and width from the header alone.
Image decode_image_header(const std::vector<std::byte>& bytes, const std::string& name);

}  // namespace dataset
