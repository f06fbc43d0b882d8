// Whether oneDNN is found to be trustworthy, and what is said where it is not.
#include "workloads/nn/library_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/base/error.h"
#include "workloads/nn/onednn.h"

namespace {

TEST(LibraryCheck, LosesNothingHere) {
  nn::Device device;
  EXPECT_EQ(nn::elements_lost(device.engine, device.stream), 0);
  EXPECT_NO_THROW(nn::refuse_if_lost(0, "2.6.3"));
}

TEST(LibraryRefusal, SaysWhatWasLostAndWhatToDo) {
  try {
    nn::refuse_if_lost(192, "3.7.2");
    FAIL() << "not refused";
  } catch (const base::LibraryError& error) {
    EXPECT_EQ(error.code(), base::ExitCode::kSystem);
    EXPECT_THAT(error.what(), testing::HasSubstr("oneDNN 3.7.2 computes wrong"));
    EXPECT_THAT(error.what(), testing::HasSubstr("of 256 numbers"));
    EXPECT_THAT(error.what(), testing::HasSubstr("192 are lost"));
    EXPECT_THAT(error.what(), testing::HasSubstr("oneDNN 2 (as Debian 12 has it)"));
  }
}

}  // namespace
