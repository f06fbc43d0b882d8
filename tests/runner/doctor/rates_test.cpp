// The rate of a disk.
#include "runner/doctor/rates.h"

#include <gmock/gmock.h>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"

namespace doctor {
namespace {

TEST(DiskRate, IsMeasuredWithoutATrace) {
  const base::TemporaryDirectory root;
  const DiskRates rates = measure_disk(root.path().string());
  EXPECT_GT(rates.write_bytes_per_s, 1e5);
  EXPECT_GT(rates.read_bytes_per_s, 1e5);
  EXPECT_GE(rates.bytes, std::int64_t{1} << 20);
  EXPECT_LE(rates.bytes, std::int64_t{64} << 20);
  EXPECT_TRUE(std::filesystem::is_empty(root.path()));
}

TEST(DiskRate, NamesAFolderThatCannotBeWritten) {
  EXPECT_THROW(measure_disk("/proc"), base::SystemError);
}

}  // namespace
}  // namespace doctor
