// What is behind addresses.
#include "os/mapped.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "os/memory.hpp"

namespace hob::os {
namespace {

/// Eight pages that nobody touched.
class Pages {
 public:
  explicit Pages(int sharing, int file = -1)
      : base_(static_cast<char*>(::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                                        sharing | (file < 0 ? MAP_ANONYMOUS : 0), file, 0))) {
    ::madvise(base_, bytes(), MADV_NOHUGEPAGE);
  }
  ~Pages() { ::munmap(base_, bytes()); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  static std::uint64_t bytes() { return 8 * page_bytes(); }
  char* page(int number) { return base_ + static_cast<std::uint64_t>(number) * page_bytes(); }
  void touch(int first, int end) {
    for (int number = first; number < end; ++number) *page(number) = 1;
  }

 private:
  char* base_;
};

TEST(Mapped, MemoryOfItsOwnMayBeUntouched) {
  Pages pages(MAP_PRIVATE);
  EXPECT_TRUE(is_readable(pages.page(0), Pages::bytes(), Untouched::ordinary));
  void* const small = std::malloc(1000);
  EXPECT_TRUE(is_readable(small, 1000, Untouched::ordinary));
  std::free(small);
  static int never_touched[1 << 16];
  EXPECT_TRUE(is_readable(never_touched, sizeof never_touched, Untouched::ordinary))
      << "its first page may be of the program's file";
}

TEST(Mapped, SharedMemoryIsThereOnceItWasTouched) {
  Pages pages(MAP_SHARED);
  EXPECT_FALSE(is_readable(pages.page(0), Pages::bytes(), Untouched::ordinary));
  EXPECT_TRUE(is_readable(pages.page(0), Pages::bytes(), Untouched::any));
  pages.touch(0, 8);
  EXPECT_TRUE(is_readable(pages.page(0), Pages::bytes(), Untouched::ordinary));
}

TEST(Mapped, AFileEndsWithItsLastPage) {
  const int file = ::memfd_create("mapped_test", 0);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::ftruncate(file, static_cast<off_t>(2 * page_bytes())), 0);
  {
    Pages pages(MAP_PRIVATE, file);
    EXPECT_FALSE(is_readable(pages.page(0), 2 * page_bytes(), Untouched::ordinary));
    pages.touch(0, 2);
    EXPECT_TRUE(is_readable(pages.page(0), 2 * page_bytes(), Untouched::ordinary));
    EXPECT_FALSE(is_readable(pages.page(0), 3 * page_bytes(), Untouched::ordinary));
  }
  ::close(file);
}

TEST(Mapped, WhatIsProtectedOrNotThereIsNotReadable) {
  Pages pages(MAP_PRIVATE);
  pages.touch(0, 8);
  const auto readable = [&](int first, std::uint64_t bytes) {
    return is_readable(pages.page(first), bytes, Untouched::any);
  };
  ::mprotect(pages.page(3), page_bytes(), PROT_NONE);
  EXPECT_FALSE(readable(0, Pages::bytes()));
  EXPECT_TRUE(readable(0, 3 * page_bytes()));
  EXPECT_FALSE(readable(0, 3 * page_bytes() + 1));
  EXPECT_TRUE(readable(4, 4 * page_bytes()));
  ::munmap(pages.page(3), page_bytes());
  EXPECT_FALSE(readable(2, 2 * page_bytes()));
  EXPECT_FALSE(is_readable(nullptr, 1, Untouched::any));
}

TEST(Mapped, EveryPageCounts) {
  Pages pages(MAP_PRIVATE);
  pages.touch(0, 7);
  EXPECT_FALSE(is_readable(pages.page(0), Pages::bytes(), Untouched::none));
  EXPECT_TRUE(is_readable(pages.page(1) + 5, 6 * page_bytes() - 5, Untouched::none));
  EXPECT_FALSE(is_readable(pages.page(1) + 5, 6 * page_bytes() - 4, Untouched::none));
  pages.touch(7, 8);
  EXPECT_TRUE(is_readable(pages.page(0), Pages::bytes(), Untouched::none));
  EXPECT_TRUE(is_readable(pages.page(0), 0, Untouched::none));
}

// A guard region looks like ordinary memory in /proc/self/maps.
TEST(Mapped, GuardRegionsDoNotCount) {
#ifndef MADV_GUARD_INSTALL
  constexpr int MADV_GUARD_INSTALL = 102;
#endif
  Pages pages(MAP_PRIVATE);
  if (::madvise(pages.page(5), page_bytes(), MADV_GUARD_INSTALL) != 0)
    GTEST_SKIP() << "this kernel has none";
  EXPECT_FALSE(is_readable(pages.page(0), Pages::bytes(), Untouched::any));
  EXPECT_TRUE(is_readable(pages.page(0), 5 * page_bytes(), Untouched::any));
}

}  // namespace
}  // namespace hob::os
