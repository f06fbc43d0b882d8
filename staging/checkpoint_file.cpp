// Writing and reading of checkpoints.
#include "staging/checkpoint_file.h"

// Inlined, as the library's header recommends for speed.
#define XXH_INLINE_ALL
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "runner/agreed_error.h"
#include "runner/base/descriptor.h"
#include "runner/base/error.h"
#include "runner/base/replaced_file.h"
#include "runner/together.h"
#include "staging/checkpoint_header.h"
#include "staging/checkpoint_layout.h"
#include "staging/dataset/file.h"
#include "staging/hash.h"
#include "staging/output_file.h"

namespace staging {
namespace {

namespace fs = std::filesystem;
using runner::Communicator;

/// Bytes read and hashed at a time.
constexpr std::int64_t kFramePieceBytes = std::int64_t{1} << 20;

/// Writes `path`.part. Messages name `shown`, the final file.
class OpenPart {
 public:
  enum class How { kNew, kThere };
  OpenPart(const std::string& part, std::string shown, How how = How::kThere)
      : file_(how == How::kNew
                  ? base::open_part(part)
                  : base::Descriptor(::open(part.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW))),
        shown_(std::move(shown)) {
    if (!file_) throw base::system_error(shown_ + ": cannot be opened for writing", errno);
  }
  void write(std::int64_t offset, std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t wrote = ::pwrite(file_.get(), bytes.data(), bytes.size(), offset);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) {
        throw base::system_error(fmt::format("{}: offset {}: cannot be written", shown_, offset),
                                 errno);
      }
      offset += wrote;
      bytes = bytes.subspan(static_cast<std::size_t>(wrote));
    }
  }
  void sync() const {
    if (::fsync(file_.get()) != 0) throw base::system_error(shown_ + ": fsync failed", errno);
  }

 private:
  base::Descriptor file_;
  std::string shown_;
};

/// Passes all bytes around the arrays to `use`, in blocks of at most kFramePieceBytes, and returns
/// their hash. `read` fills a span with the bytes from an offset on.
template <class Read, class Use>
std::uint64_t hash_frame(const CheckpointHeader& header, const Read& read, const Use& use) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  std::vector<std::byte> bytes;
  for (const FramePart& part : frame_of(header)) {
    for (std::int64_t at = 0; at < part.bytes; at += kFramePieceBytes) {
      bytes.resize(static_cast<std::size_t>(std::min(kFramePieceBytes, part.bytes - at)));
      read(part.offset + at, std::span<std::byte>(bytes));
      XXH3_64bits_update(&state, bytes.data(), bytes.size());
      use(part.offset + at, std::span<const std::byte>(bytes));
    }
  }
  return XXH3_64bits_digest(&state);
}

/// Writes one checkpoint. Each step is collective.
class Writer {
 public:
  Writer(const Communicator& world, const std::string& path, const std::string& about,
         const std::vector<base::StateArray>& arrays)
      : world_(world), path_(path), part_(path + ".part"), about_(about), arrays_(arrays) {}

  void go() {
    try {
      lay_out_file();
      write_pieces();
      gather_hashes();
      complete();
    } catch (...) {
      std::error_code ignored;
      if (world_.rank() == 0) fs::remove(part_, ignored);
      throw;
    }
  }

 private:
  void lay_out_file();
  void write_pieces();
  void gather_hashes();
  void complete();

  const Communicator& world_;
  const std::string &path_, part_, &about_;
  const std::vector<base::StateArray>& arrays_;
  CheckpointHeader header_;
  std::vector<std::int64_t> written_;  ///< array, segment and hash of each piece of this rank
};

void Writer::lay_out_file() {
  const auto held = gather_held_rows(world_, arrays_);
  runner::on_rank_0(world_, [&] {
    header_ = plan_pieces(arrays_, held, about_);
    const SparseBytes frame = lay_out(header_, path_);
    const OpenPart file(part_, path_, OpenPart::How::kNew);
    header_.hdf5_bytes_hash = hash_frame(
        header_, [&](std::int64_t at, std::span<std::byte> out) { frame.read(at, out); },
        [&](std::int64_t at, std::span<const std::byte> bytes) { file.write(at, bytes); });
  });
  std::int64_t file_bytes = header_.file_bytes;
  world_.broadcast(std::as_writable_bytes(std::span(&file_bytes, 1)), 0);
  const std::string text = world_.broadcast(world_.rank() == 0 ? to_text(header_) : "", 0);
  header_ = parse_header(text, file_bytes, path_);
}

void Writer::write_pieces() {
  runner::together(world_, [&] {
    const OpenPart file(part_, path_);
    std::vector<std::byte> scratch;
    std::span<const std::byte> bytes;
    std::size_t at_hand = arrays_.size();
    for (const Piece& piece : pieces_of(header_, arrays_, world_.rank(), world_.size())) {
      if (piece.array != at_hand) bytes = arrays_[piece.array].bytes(scratch);
      at_hand = piece.array;
      const auto own = bytes.subspan(static_cast<std::size_t>(piece.begin),
                                     static_cast<std::size_t>(piece.bytes));
      const std::uint64_t hash = hash_of(own);
      file.write(piece.offset, own);
      written_.push_back(static_cast<std::int64_t>(piece.header_array));
      written_.push_back(static_cast<std::int64_t>(piece.header_segment));
      written_.push_back(static_cast<std::int64_t>(hash));
    }
    file.sync();
  });
}

void Writer::gather_hashes() {
  const auto all = world_.gather(std::span<const std::int64_t>(written_), 0);
  for (std::size_t i = 0; i + 2 < all.size(); i += 3) {
    CheckpointArray& array = header_.arrays.at(static_cast<std::size_t>(all[i]));
    array.segments.at(static_cast<std::size_t>(all[i + 1])).hash =
        static_cast<std::uint64_t>(all[i + 2]);
  }
}

void Writer::complete() {
  runner::on_rank_0(world_, [&] {
    {
      const OpenPart file(part_, path_);
      file.write(0, std::as_bytes(std::span<const char>(to_text(header_))));
      file.sync();
    }
    std::error_code error;
    fs::rename(part_, path_, error);
    if (error) throw base::system_error(path_ + ": cannot be put in place", error.value());
    const fs::path folder = fs::path(path_).parent_path();
    sync_folder(folder.empty() ? "." : folder.string());
  });
}

std::string read_header_text(const dataset::File& file) {
  std::string line(static_cast<std::size_t>(std::min(kHeaderLineBytes, file.size())), '\0');
  file.read(0, std::as_writable_bytes(std::span<char>(line)));
  const std::int64_t length = header_length(line, file.size(), file.path());
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read(0, std::as_writable_bytes(std::span<char>(text)));
  return text;
}

}  // namespace

void write_checkpoint(const Communicator& world, const std::string& path, const std::string& about,
                      const std::vector<base::StateArray>& arrays) {
  Writer(world, path, about, arrays).go();
}

struct CheckpointReader::State {
  State(const Communicator& communicator, const std::string& path)
      : world(communicator), name(path) {}

  void open() {
    std::string text;
    runner::on_rank_0(world, [&] { text = read_header_text(dataset::File(name)); });
    text = world.broadcast(text, 0);
    runner::together(world, [&] {
      file.emplace(name);
      header = parse_header(text, file->size(), name);
    });
  }

  /// Compares every byte with its hash; the pieces are dealt to the ranks in turn.
  void verify() const {
    runner::together(world, [&] {
      int turn = 0;
      for (const CheckpointArray& array : header.arrays) {
        std::int64_t offset = array.offset;
        for (const CheckpointSegment& segment : array.segments) {
          if (turn++ % world.size() == world.rank()) verify_segment(array.name, offset, segment);
          offset += segment.bytes;
        }
      }
      if (world.rank() == 0) verify_frame();
    });
  }

  void verify_segment(const std::string& array, std::int64_t offset,
                      const CheckpointSegment& segment) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(segment.bytes));
    file->read(offset, bytes);
    if (hash_of(bytes) == segment.hash) return;
    throw base::DataError(
        fmt::format("{}: {}: {} bytes from offset {} on differ from their checksum (XXH3)", name,
                    array, segment.bytes, offset));
  }

  void verify_frame() const {
    const auto hash = hash_frame(
        header, [&](std::int64_t at, std::span<std::byte> out) { file->read(at, out); },
        [](std::int64_t, std::span<const std::byte>) {});
    if (hash == header.hdf5_bytes_hash) return;
    throw base::DataError(name + ": HDF5's own bytes differ from their checksum (XXH3)");
  }

  const CheckpointArray& find(const std::string& array, base::ElementType element) const {
    const CheckpointArray& found = find(array);
    if (found.element != element) refuse(array, "of another element type");
    return found;
  }
  const CheckpointArray& find(const std::string& array) const {
    const auto found = place_of(array);
    if (found == header.arrays.end()) refuse(array, "absent");
    return *found;
  }
  std::vector<CheckpointArray>::const_iterator place_of(const std::string& array) const {
    return std::ranges::find(header.arrays, array, &CheckpointArray::name);
  }
  /// Not collective: the header, and so this failure, is the same on every rank.
  [[noreturn]] void refuse(const std::string& array, const std::string& what) const {
    throw runner::AgreedError(base::ExitCode::kData,
                              fmt::format("{}: {}: is {}", name, array, what));
  }

  const Communicator& world;
  const std::string name;
  std::optional<dataset::File> file;
  CheckpointHeader header;
};

CheckpointReader::CheckpointReader(const Communicator& world, const std::string& path)
    : state_(std::make_unique<State>(world, path)) {
  state_->open();
  state_->verify();
}

CheckpointReader::~CheckpointReader() = default;

const std::string& CheckpointReader::about() const { return state_->header.about; }

bool CheckpointReader::has(const std::string& name) const {
  return state_->place_of(name) != state_->header.arrays.end();
}

std::vector<std::int64_t> CheckpointReader::shape(const std::string& name) const {
  return state_->find(name).shape;
}

void CheckpointReader::read(const std::string& name, base::ElementType element,
                            const std::vector<std::int64_t>& shape,
                            std::span<std::byte> out) const {
  const CheckpointArray& array = state_->find(name, element);
  if (array.shape != shape || array.total_bytes() != static_cast<std::int64_t>(out.size())) {
    state_->refuse(name, fmt::format("of shape [{}], expected [{}]", fmt::join(array.shape, ", "),
                                     fmt::join(shape, ", ")));
  }
  // Only one rank reads: a shared file system serves a single reader best.
  runner::on_rank_0(state_->world, [&] { state_->file->read(array.offset, out); });
  state_->world.broadcast(out, 0);
}

void CheckpointReader::read_rows(const std::string& name, base::ElementType element,
                                 std::int64_t first_row, std::span<std::byte> out) const {
  const CheckpointArray& array = state_->find(name, element);
  const std::int64_t row_bytes = array.total_bytes() / array.shape.front();
  const auto bytes = static_cast<std::int64_t>(out.size());
  const std::int64_t rows = bytes / row_bytes;
  if (first_row < 0 || rows * row_bytes != bytes || first_row > array.shape.front() - rows) {
    throw base::DataError(
        fmt::format("{}: {}: expected rows within {} of {} bytes, got {} bytes "
                    "from row {} on",
                    state_->name, name, array.shape.front(), row_bytes, bytes, first_row));
  }
  state_->file->read(array.offset + first_row * row_bytes, out);
}

runner::CheckpointFormat checkpoint_format() {
  return {write_checkpoint,
          [](const Communicator& world, const std::string& path) {
            auto reader = std::make_unique<CheckpointReader>(world, path);
            std::string about = reader->about();
            return runner::CheckpointContent{std::move(about), std::move(reader)};
          },
          [](const std::string& path) {
            const dataset::File file(path);
            return parse_header(read_header_text(file), file.size(), path).about;
          }};
}

}  // namespace staging
