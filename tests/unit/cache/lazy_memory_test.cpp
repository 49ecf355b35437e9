// Lazy memory: what ended is used again, and nobody sees what was in it.
#include "cache/lazy_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "os/memory.hpp"

namespace hob::cache {
namespace {

constexpr std::uint64_t kReserved = std::uint64_t{1} << 30;

bool all_zero(const LazyMemory& memory) {
  return std::all_of(memory.data(), memory.data() + memory.committed(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

/// With so much backed, all of it written.
LazyMemory written(std::uint64_t bytes) {
  LazyMemory memory;
  EXPECT_TRUE(memory.reserve(kReserved, kReserved));
  EXPECT_TRUE(memory.commit(bytes));
  EXPECT_TRUE(all_zero(memory));
  std::memset(memory.data(), 0xff, memory.committed());
  return memory;
}

TEST(LazyMemoryTest, GrowsByLittleMoreThanIsAskedFor) {
  constexpr std::uint64_t kMost = std::uint64_t{64} << 20;
  LazyMemory memory;
  ASSERT_TRUE(memory.reserve(kMost, kMost));
  for (std::uint64_t bytes = 4096; bytes <= kMost; bytes += 256 << 10) {
    ASSERT_TRUE(memory.commit(bytes));
    // To the end of a huge page, at most.
    EXPECT_LE(memory.committed() - bytes, 2 * LazyMemory::kMostAhead);
  }
}

TEST(LazyMemoryTest, ASmallRangeThatEndedIsUsedAgainAndIsZeroed) {
  const std::byte* const before = written(64 << 10).data();
  LazyMemory memory;
  ASSERT_TRUE(memory.reserve(kReserved, kReserved));
  EXPECT_EQ(memory.data(), before);
  EXPECT_EQ(memory.committed(), 0u);
  for (const std::uint64_t bytes : {4 << 10, 20 << 10, 64 << 10, 256 << 10}) {
    ASSERT_TRUE(memory.commit(bytes));
    EXPECT_GE(memory.committed(), bytes);
    EXPECT_TRUE(all_zero(memory)) << bytes;
  }
}

TEST(LazyMemoryTest, ATrimmedRangeStaysZeroed) {
  LazyMemory memory = written(128 << 10);
  memory.trim(8 << 10);
  EXPECT_EQ(memory.committed(), 8u << 10);
  std::memset(memory.data(), 0, memory.committed());
  ASSERT_TRUE(memory.commit(128 << 10));
  EXPECT_TRUE(all_zero(memory));
}

TEST(LazyMemoryTest, ManyRangesThatEndAtOnceAreZeroedWhereverTheyComeFrom) {
  std::vector<LazyMemory> many(2 * LazyMemory::kMostKept);
  for (LazyMemory& each : many) each = written(4096);
  many.clear();
  many.resize(2 * LazyMemory::kMostKept);
  for (LazyMemory& each : many) {
    ASSERT_TRUE(each.reserve(kReserved, kReserved));
    ASSERT_TRUE(each.commit(4096));
    EXPECT_TRUE(all_zero(each));
  }
}

TEST(LazyMemoryTest, OfALargeRangeTheFrontIsKept) {
  const std::byte* const before = written(2 * LazyMemory::kMostKeptBytes).data();
  LazyMemory memory;
  ASSERT_TRUE(memory.reserve(kReserved, kReserved));
  ASSERT_TRUE(memory.commit(4096));
  EXPECT_TRUE(all_zero(memory));
  EXPECT_EQ(memory.data(), before);
  EXPECT_LT(memory.committed(), LazyMemory::kMostKeptBytes);
  ASSERT_TRUE(memory.commit(4 * LazyMemory::kMostKeptBytes));
  EXPECT_TRUE(all_zero(memory));
}

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;

/// Whether what comes after `committed` bytes begins with a huge page's address.
bool ends_with_a_huge_page(const LazyMemory& memory) {
  return reinterpret_cast<std::uintptr_t>(memory.data() + memory.committed()) % kHugePage == 0;
}

TEST(LazyMemoryTest, BehindItsSmallPagesALongRangeGrowsByHugePages) {
  if (!os::gives_huge_pages()) GTEST_SKIP() << "no huge pages here";
  LazyMemory memory;
  ASSERT_TRUE(memory.reserve(kReserved, kReserved));
  ASSERT_TRUE(memory.commit(300 << 10));
  EXPECT_EQ(memory.committed(), 300u << 10);
  ASSERT_TRUE(memory.commit(600 << 10));
  EXPECT_TRUE(ends_with_a_huge_page(memory));
  EXPECT_EQ(memory.committed(), LazyMemory::kMostKeptBytes + kHugePage);
  ASSERT_TRUE(memory.commit(5 * kHugePage));
  EXPECT_TRUE(ends_with_a_huge_page(memory));
  std::memset(memory.data(), 1, memory.committed());
}

TEST(LazyMemoryTest, NoHugePageGoesBeyondWhatIsEverNeeded) {
  LazyMemory memory;
  ASSERT_TRUE(memory.reserve(kReserved, kReserved));
  ASSERT_TRUE(memory.commit(600 << 10, 1 << 20));
  EXPECT_LE(memory.committed(), 1u << 20);
}

TEST(LazyMemoryTest, FewRangesHaveAHugePageThatTheyMayNotNeed) {
  std::vector<LazyMemory> many(32);
  std::uint64_t committed = 0;
  for (LazyMemory& each : many) {
    ASSERT_TRUE(each.reserve(kReserved, kReserved));
    ASSERT_TRUE(each.commit(600 << 10));
    committed += each.committed();
  }
  EXPECT_LE(committed,
            8 * (LazyMemory::kMostKeptBytes + kHugePage) + 24 * (std::uint64_t{600} << 10));
}

}  // namespace
}  // namespace hob::cache
