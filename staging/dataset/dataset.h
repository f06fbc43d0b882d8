// The interface to samples: index -> bytes and label, independent of how the files are packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace dataset {

/// Encoded samples of a classification dataset in a fixed order: sorted by class folder, then file
/// name (byte order). Class ids are the positions of the sorted class names. read() is thread-safe.
class Dataset {
 public:
  struct Stamp {
    std::int64_t bytes = 0;
    std::int64_t mtime_ns = 0;        ///< since the Unix epoch
    std::uint64_t name_hash = 0;      ///< of the name in the dataset, or where else it lies there
    std::int64_t expanded_bytes = 0;  ///< see stamp_to_expand()
  };
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;
  virtual const std::vector<std::string>& class_names() const = 0;
  virtual std::int32_t label(std::int64_t index) const = 0;
  /// Number of bytes that read() returns for this sample.
  virtual std::int64_t bytes(std::int64_t index) const = 0;
  /// Reads the sample's encoded bytes into `out` (resized). Throws DataError naming file and
  /// offset.
  virtual void read(std::int64_t index, std::vector<std::byte>& out) const = 0;
  /// A name for messages and listings: "train.tar: airplane/0001.jpg".
  virtual std::string name(std::int64_t index) const = 0;
  /// The file that contains exactly this sample, for readers of parts of it; "" if there is none,
  /// or if the sample may only be read through read().
  virtual std::string path(std::int64_t /*index*/) const { return ""; }
  /// Called by a reader of path(index) with what it found when it opened the file. Thread-safe.
  /// Throws DataError for a file that is too large for a sample.
  virtual void note_opened(std::int64_t /*index*/, const Stamp& /*found*/) const {}
  /// The path that was opened.
  virtual std::string source() const { return "memory"; }
  /// Values that change when the sample does. For samples in separate files this stats the file.
  virtual Stamp stamp(std::int64_t index) const { return {bytes(index), 0}; }
  /// The same, with the bytes that the sample takes once expanded, if its file is compressed and
  /// states them (stated_bytes()). For that a few bytes of files are read whose names say that they
  /// may be compressed.
  virtual Stamp stamp_to_expand(std::int64_t index) const { return stamp(index); }
  /// No sample takes more once it is expanded.
  virtual std::int64_t most_expanded_bytes() const { return 0; }
  /// What people should know about the dataset, and about the samples read since the last call,
  /// although reading did not fail. Thread-safe.
  virtual std::vector<std::string> take_remarks() const { return {}; }
  /// Memory for a sample of this size, with its stamp as it is read. Its bytes are there when the
  /// next is asked for.
  using Room = std::function<std::span<std::byte>(std::int64_t index, const Stamp& found)>;
  /// Reads each of `indices` into memory that `room` gives, in whichever order suits the storage;
  /// adjacent small samples are read together in large blocks. Returns the number of reads. Throws
  /// DataError as read() does.
  virtual std::int64_t read_many(std::span<const std::int64_t> indices, const Room& room) const;
};

/// An interleaved 8-bit RGB image, row-major.
struct Image {
  int height = 0, width = 0;
  std::vector<std::uint8_t> pixels;  ///< [height, width, 3]
  std::string flaw = {};             ///< of the file, without an effect on any pixel; or ""
};

/// A rectangle of an image's pixels.
struct Region {
  int top = 0, left = 0, height = 0, width = 0;
  bool operator==(const Region&) const = default;
};

/// Decodes a JPEG (baseline, progressive, grayscale, CMYK/YCCK) or PNG, recognised by content, to
/// RGB; ISLOW DCT, fancy upsampling. Throws DataError beginning with `name` for anything that does
/// not decode completely. A JPEG with all its pixels may have stray bytes between its segments, or
/// lack the end mark.
Image decode_image(const std::vector<std::byte>& bytes, const std::string& name);
/// What is wanted of an image: a region, of which a JPEG's may be decoded at 1/2, 1/4 or 1/8 of its
/// size, without the high frequencies of its transform (DCT): about the means over squares of
/// pixels, at less cost. Then top and left are rounded down, bottom and right up, to whole pixels
/// of that size.
struct View {
  View(const Region& wanted, int factor = 1) : region(wanted), shrink(factor) {}
  Region region;
  int shrink;  ///< 1, 2, 4 or 8; has no effect on PNGs
};
/// The view that is wanted of an image of this size.
using ChooseView = std::function<View(int height, int width)>;
/// All of it.
inline Region whole_image(int height, int width) { return {0, 0, height, width}; }
/// The same pixels, but only those of a view, which takes less time; the whole file is checked all
/// the same. Throws ShapeError for a region that is empty or not within the image, or a factor that
/// is none.
Image decode_view(const std::vector<std::byte>& bytes, const std::string& name,
                  const ChooseView& choose);
/// Sets only height and width, from the header.
Image decode_image_header(const std::vector<std::byte>& bytes, const std::string& name);

}  // namespace dataset
