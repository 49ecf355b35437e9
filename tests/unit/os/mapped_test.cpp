// What is behind addresses.
#include "os/mapped.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// What is said of [begin, end), a line for each mapping.
std::vector<std::string> said_of(std::uintptr_t begin, std::uintptr_t end, MapsBy by) {
  std::vector<std::string> lines;
  const bool whole = each_mapping(
      begin, end,
      [&](const Mapping& m) {
        const std::string_view name = m.name.substr(0, m.name.find('\n'));
        lines.push_back(fmt::format("{:x} {:x} {} {} {} {}", m.begin, m.end, m.file, m.readable,
                                    m.shared, name));
        return true;
      },
      by);
  lines.push_back(whole ? "whole" : "a hole");
  return lines;
}

TEST(Mapped, OneByOneMappingsAreWhatTheTextSays) {
  const int file = ::memfd_create("mapped_test", 0);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::ftruncate(file, static_cast<off_t>(Pages::bytes())), 0);
  const Pages shared(MAP_SHARED), of_file(MAP_PRIVATE, file);
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> ranges;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    char dash = 0;
    std::uintptr_t begin = 0, end = 0;
    std::istringstream(line) >> std::hex >> begin >> dash >> end;
    // The stack and the heap may grow meanwhile.
    if (line.find('[') == std::string::npos) ranges.emplace_back(begin, end);
  }
  ASSERT_GT(ranges.size(), 10U);
  for (const auto& [begin, end] : ranges)
    for (const std::uintptr_t from : {begin, begin + page_bytes() / 2})
      for (const std::uintptr_t to : {end - 1, end + 1})
        EXPECT_EQ(said_of(from, to, MapsBy::query), said_of(from, to, MapsBy::text));
  ::close(file);
}

TEST(Mapped, AChildIsToldOfItsOwnMemory) {
  Pages pages(MAP_PRIVATE);
  ASSERT_TRUE(is_readable(pages.page(0), Pages::bytes(), Untouched::ordinary));
  const pid_t child = ::fork();
  if (child == 0) {
    ::munmap(pages.page(2), page_bytes());
    ::_exit(is_readable(pages.page(0), Pages::bytes(), Untouched::ordinary) ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Mapped, TheFilesAreOpenedAgainWhereTheProgramClosedThem) {
  Pages pages(MAP_PRIVATE);
  ASSERT_TRUE(is_readable(pages.page(0), Pages::bytes(), Untouched::ordinary));
  // Their numbers may be those of other files then, or of the same ones.
  for (const bool others : {true, false}) {
    for (int fd = 3; fd < 64; ++fd) ::close(fd);
    const int other = others ? ::memfd_create("mapped_test", 0) : -1;
    EXPECT_TRUE(is_readable(pages.page(0), Pages::bytes(), Untouched::ordinary)) << others;
    if (others) ::close(other);
  }
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
