// Tests of checkpoint files on several ranks: bits are preserved, and files are complete or absent.
#include "staging/checkpoint_file.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "runner/agreed_error.h"
#include "runner/base/thrown_message.h"
#include "shared_directory.h"
#include "staging/h5.h"

namespace staging {
namespace {

namespace fs = std::filesystem;
using runner::Communicator;
using testing::HasSubstr;

/// A state with arrays of all kinds: some larger than a piece, rows spread unevenly over ranks.
class Example {
 public:
  explicit Example(const Communicator& world) : world_(world) {
    common_.resize(3 * 700'001);
    for (std::size_t i = 0; i < common_.size(); ++i) common_[i] = 1.0F / (1.0F + float(i));
    common_[1] = -0.0F;
    common_[2] = 1e-42F;
    common_[3] = std::numeric_limits<float>::infinity();
    // Rank r has r + 1 rows; the last rank has the first rows.
    for (int r = world.size() - 1; r > world.rank(); --r) first_row_ += r + 1;
    own_.resize(static_cast<std::size_t>((world.rank() + 1) * kWidth));
    for (std::size_t i = 0; i < own_.size(); ++i) own_[i] = value(first_row_, i);
  }
  static double value(std::int64_t row, std::size_t i) {
    return 0.1 * static_cast<double>(row * kWidth + static_cast<std::int64_t>(i));
  }
  std::int64_t all_rows() const { return std::int64_t{world_.size()} * (world_.size() + 1) / 2; }

  std::vector<base::StateArray> arrays() const {
    const auto own = [this](std::vector<std::byte>&) {
      return std::as_bytes(std::span<const double>(own_));
    };
    return {base::replicated<float>("layer1.0.weight", {3, 700'001}, [this] { return common_; }),
            base::replicated<std::int64_t>("resume/count", {2},
                                           [] {
                                             return std::vector<std::int64_t>{-1, 1LL << 60};
                                           }),
            {"resume/table",
             base::ElementType::kFloat64,
             {all_rows(), kWidth},
             base::Holding::kRowsOfRanks,
             first_row_,
             world_.rank() + 1,
             own}};
  }
  const std::vector<float>& common() const { return common_; }
  const std::vector<double>& own() const { return own_; }
  std::int64_t first_row() const { return first_row_; }
  static constexpr std::int64_t kWidth = 1000;

 private:
  const Communicator& world_;
  std::vector<float> common_;
  std::vector<double> own_;
  std::int64_t first_row_ = 0;
};

class CheckpointFile : public testing::Test {
 protected:
  std::string path() const { return folder_.path() + "/checkpoint.h5"; }
  void write() const { write_checkpoint(world_, path(), "about {}", example_.arrays()); }
  /// The message of opening the file after rank 0 has run `damage`.
  std::string refused(const std::function<void()>& damage) const {
    world_.barrier();
    if (world_.rank() == 0) damage();
    world_.barrier();
    return base::thrown_message<runner::AgreedError>([&] { CheckpointReader(world_, path()); });
  }
  void flip(std::int64_t offset) const {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    char byte = 0;
    file.seekg(offset).read(&byte, 1);
    byte = static_cast<char>(byte ^ 4);
    file.seekp(offset).write(&byte, 1);
  }
  const Communicator world_ = Communicator::world();
  const runner::SharedDirectory folder_{world_};
  const Example example_{world_};
};

TEST_F(CheckpointFile, GivesBackTheSameBits) {
  write();
  EXPECT_FALSE(fs::exists(path() + ".part"));
  const CheckpointReader reader(world_, path());
  EXPECT_EQ(reader.about(), "about {}");
  const auto common = base::read_array<float>(reader, "layer1.0.weight", {3, 700'001});
  EXPECT_EQ(std::memcmp(common.data(), example_.common().data(), common.size() * sizeof(float)), 0);
  EXPECT_EQ(base::read_array<std::int64_t>(reader, "resume/count", {2})[1], 1LL << 60);
  EXPECT_EQ(reader.shape("resume/table"),
            (std::vector<std::int64_t>{example_.all_rows(), Example::kWidth}));
  std::vector<double> own(example_.own().size());
  const auto bytes = std::as_writable_bytes(std::span(own));
  reader.read_rows("resume/table", base::ElementType::kFloat64, example_.first_row(), bytes);
  EXPECT_EQ(own, example_.own());
}

TEST_F(CheckpointFile, CanBeReadByAnyNumberOfRanks) {
  write();
  const Communicator alone = world_.split(-1, 0);
  const CheckpointReader reader(alone, path());
  const auto table =
      base::read_array<double>(reader, "resume/table", {example_.all_rows(), Example::kWidth});
  for (std::size_t i = 0; i < table.size(); ++i) ASSERT_EQ(table[i], Example::value(0, i)) << i;
}

TEST_F(CheckpointFile, IsAnHdf5File) {
  write();
  const H5StateReader reader(path());
  EXPECT_EQ(reader.names(),
            (std::vector<std::string>{"layer1.0.weight", "resume/count", "resume/table"}));
  const auto common = reader.read("layer1.0.weight", {3, 700'001});
  EXPECT_EQ(std::memcmp(common.data(), example_.common().data(), common.size() * sizeof(float)), 0);
}

TEST_F(CheckpointFile, NoticesDamageAnywhere) {
  write();
  world_.barrier();
  const auto size = static_cast<std::int64_t>(fs::file_size(path()));
  // Both ends, and places spread over the header, HDF5's own bytes and arrays. The padding after
  // the header is left out, since nothing reads it.
  for (const std::int64_t at : {std::int64_t{0}, std::int64_t{200}, size / 3, size / 2, size - 1}) {
    EXPECT_THAT(refused([&] { flip(at); }), HasSubstr("checkpoint.h5")) << at;
    world_.barrier();
    if (world_.rank() == 0) flip(at);
    world_.barrier();
    EXPECT_NO_THROW(CheckpointReader(world_, path())) << at;
  }
  EXPECT_THAT(refused([&] { fs::resize_file(path(), static_cast<std::uintmax_t>(size - 1)); }),
              HasSubstr("expected a file of"));
  EXPECT_THAT(refused([&] { fs::resize_file(path(), 0); }), HasSubstr("an empty file"));
  EXPECT_THAT(refused([&] { fs::remove(path()); }), HasSubstr("cannot be opened"));
}

TEST_F(CheckpointFile, RefusesArraysThatAreNotWhatIsAskedFor) {
  write();
  const CheckpointReader reader(world_, path());
  const auto told = [&](const std::function<void()>& ask) {
    return base::thrown_message<base::Error>(ask);
  };
  EXPECT_THAT(told([&] { reader.shape("absent"); }), HasSubstr("absent: is absent"));
  EXPECT_THAT(told([&] {
                base::read_array<double>(reader, "layer1.0.weight", {3, 700'001});
              }),
              HasSubstr("another element type"));
  EXPECT_THAT(told([&] {
                base::read_array<float>(reader, "layer1.0.weight", {700'001, 3});
              }),
              HasSubstr("of shape [3, 700001], expected [700001, 3]"));
  std::vector<double> row(Example::kWidth);
  EXPECT_THAT(told([&] {
                reader.read_rows("resume/table", base::ElementType::kFloat64, example_.all_rows(),
                                 std::as_writable_bytes(std::span(row)));
              }),
              HasSubstr("expected rows within"));
}

TEST_F(CheckpointFile, RefusesRowsThatTwoRanksHave) {
  std::vector<base::StateArray> arrays = example_.arrays();
  if (world_.rank() == 0) --arrays[2].rows;
  EXPECT_THAT(base::thrown_message<runner::AgreedError>(
                  [&] { write_checkpoint(world_, path(), "", arrays); }),
              HasSubstr("resume/table: expected each of"));
  EXPECT_FALSE(fs::exists(path()));
}

/// Limits the size of files that this process may write: writing beyond fails as on a full disk.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_F(CheckpointFile, LeavesTheOldOneWhenAnyRankCannotWrite) {
  write();
  for (int failing = 0; failing < world_.size(); ++failing) {
    std::string told;
    {
      const FileLimit limit(world_.rank() == failing ? 1 << 16 : RLIM_INFINITY);
      told = base::thrown_message<runner::AgreedError>([&] { write(); });
    }
    EXPECT_THAT(told, HasSubstr("checkpoint.h5"));
    EXPECT_THAT(told, HasSubstr(failing == 0 ? "" : "on rank " + std::to_string(failing)));
    world_.barrier();
    EXPECT_FALSE(fs::exists(path() + ".part"));
    EXPECT_NO_THROW(CheckpointReader(world_, path()));
  }
}

TEST_F(CheckpointFile, SaysWhyAFolderTakesNone) {
  EXPECT_THAT(base::thrown_message<runner::AgreedError>([&] {
                write_checkpoint(world_, folder_.path() + "/absent/a.h5", "", example_.arrays());
              }),
              HasSubstr("absent/a.h5"));
}

}  // namespace
}  // namespace staging
