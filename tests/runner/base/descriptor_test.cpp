// A file descriptor has one owner, which closes it.
#include "runner/base/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

namespace {

static_assert(!std::is_copy_constructible_v<base::Descriptor>);
static_assert(!std::is_copy_assignable_v<base::Descriptor>);

base::Descriptor open_null() { return base::Descriptor(::open("/dev/null", O_RDONLY)); }

bool is_open(int raw) { return ::fcntl(raw, F_GETFD) != -1; }

TEST(Descriptor, IsClosedWithItsOwner) {
  int raw = -1;
  {
    const base::Descriptor file = open_null();
    ASSERT_TRUE(file);
    raw = file.get();
    EXPECT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
}

TEST(Descriptor, StaysOpenWhenItIsMoved) {
  base::Descriptor first = open_null();
  const int raw = first.get();
  base::Descriptor second(std::move(first));
  EXPECT_EQ(second.get(), raw);
  EXPECT_TRUE(is_open(raw));
  second = open_null();
  EXPECT_NE(second.get(), raw);
  EXPECT_FALSE(is_open(raw));
}

TEST(Descriptor, OfAFailedCallIsNone) {
  EXPECT_FALSE(base::Descriptor(::open("/absent/file", O_RDONLY)));
}

}  // namespace
