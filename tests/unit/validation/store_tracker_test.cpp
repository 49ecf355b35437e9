#include "validation/store_tracker.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

#include "validation/mappings.hpp"
#include "validation/watched_pages.hpp"

namespace hob::validation {
namespace {

const std::size_t kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

/// Fresh pages.
class Memory {
 public:
  explicit Memory(std::size_t bytes, int kind = MAP_PRIVATE) : bytes_(bytes) {
    base = static_cast<char*>(
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0));
  }
  ~Memory() { ::munmap(base, bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  char* base;

 private:
  std::size_t bytes_;
};

/// Each way of noticing stores, on private memory and on memory that is mapped shared.
class StoreTrackerTest : public ::testing::TestWithParam<std::tuple<Tracking, int>> {
 protected:
  void SetUp() override {
    if (!StoreTracker::available(tracking())) GTEST_SKIP() << "this kernel cannot track stores so";
  }
  static Tracking tracking() { return std::get<0>(GetParam()); }
  static int kind() { return std::get<1>(GetParam()); }
  static Owner owner() { return kind() == MAP_SHARED ? Owner::library : Owner::process; }
};

TEST_P(StoreTrackerTest, EveryStoreIsSeen) {
  const Memory memory(100 * kPage, kind());
  // The other half of private memory was never touched. Reading shared memory maps it.
  std::memset(memory.base, 1, kind() == MAP_SHARED ? 100 * kPage : 50 * kPage);
  StoreTracker tracker(memory.base + 17, 100 * kPage - 34, tracking(), owner());
  EXPECT_FALSE(tracker.active());
  EXPECT_TRUE(tracker.written());  // nobody looked
  for (const std::size_t page :
       {std::size_t{0}, std::size_t{1}, std::size_t{49}, std::size_t{50}, std::size_t{99}}) {
    ASSERT_TRUE(tracker.track());
    EXPECT_FALSE(tracker.written());
    EXPECT_FALSE(tracker.written());
    char seen = 0;
    for (std::size_t i = 0; i < 100; ++i)
      seen = static_cast<char>(seen + memory.base[i * kPage + 20]);
    EXPECT_FALSE(tracker.written()) << "reading is no store";
    memory.base[page * kPage + 20] = seen;
    EXPECT_TRUE(tracker.written()) << page;
    EXPECT_GE(tracker.take_faults(), 1u);
    EXPECT_FALSE(tracker.active());
    EXPECT_TRUE(tracker.written());
  }
}

TEST_P(StoreTrackerTest, WhatTheKernelStoresIsSeen) {
  const Memory memory(4 * kPage, kind());
  std::memset(memory.base, 1, 4 * kPage);
  StoreTracker tracker(memory.base, 4 * kPage, tracking(), owner());
  std::array<int, 2> ends;
  ASSERT_EQ(::pipe(ends.data()), 0);
  ASSERT_TRUE(tracker.track());
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  ASSERT_EQ(::read(ends[0], memory.base + 2 * kPage, 1), 1);
  EXPECT_TRUE(tracker.written());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_P(StoreTrackerTest, AnotherThreadsStoreIsSeen) {
  const Memory memory(4 * kPage, kind());
  StoreTracker tracker(memory.base, 4 * kPage, tracking(), owner());
  ASSERT_TRUE(tracker.track());
  std::thread([&] { memory.base[3 * kPage] = 1; }).join();
  EXPECT_TRUE(tracker.written());
}

TEST_P(StoreTrackerTest, PagesThatAreGivenBackCountAsWritten) {
  if (kind() == MAP_SHARED) GTEST_SKIP() << "these keep what is in them";
  const Memory memory(4 * kPage);
  std::memset(memory.base, 1, 4 * kPage);
  StoreTracker tracker(memory.base, 4 * kPage, tracking(), owner());
  ASSERT_TRUE(tracker.track());
  ASSERT_EQ(::madvise(memory.base + kPage, kPage, MADV_DONTNEED), 0);  // reads as zeros now
  EXPECT_TRUE(tracker.written());
}

TEST_P(StoreTrackerTest, TwoRangesMayShareAPage) {
  const Memory memory(3 * kPage);
  auto first = std::make_unique<StoreTracker>(memory.base, kPage + 100, tracking(), owner());
  StoreTracker second(memory.base + kPage + 200, kPage, tracking(), owner());
  ASSERT_TRUE(first->track());
  ASSERT_TRUE(second.track());
  memory.base[kPage + 50] = 1;
  EXPECT_TRUE(first->written());
  EXPECT_FALSE(second.written());
  EXPECT_TRUE(second.compares_edges());
  ASSERT_TRUE(first->track());
  ASSERT_TRUE(second.track());
  EXPECT_FALSE(second.compares_edges());
  memory.base[kPage + 300] = 1;
  EXPECT_FALSE(first->written());
  EXPECT_TRUE(second.written());
  ASSERT_TRUE(first->track());
  ASSERT_TRUE(second.track());
  first.reset();  // with write protection, what it watched looks as if it was stored to
  EXPECT_FALSE(second.written());
  EXPECT_EQ(second.compares_edges(), tracking() == Tracking::write_protection);
}

/// Other data on the first and the last page of the memory are stored to.
TEST_P(StoreTrackerTest, OtherDataOnItsPagesDoNotCount) {
  const Memory memory(6 * kPage, kind());
  std::memset(memory.base, 1, 6 * kPage);
  struct {
    std::size_t begin, end;
  } const ranges[] = {
      {100, 400},           {kPage, kPage + 10},     {kPage - 10, kPage}, {kPage - 9, kPage + 9},
      {100, 2 * kPage + 8}, {kPage, 4 * kPage + 50}, {100, 5 * kPage}};
  for (const auto& [begin, end] : ranges) {
    SCOPED_TRACE(end - begin);
    StoreTracker tracker(memory.base + begin, end - begin, tracking(), owner());
    ASSERT_TRUE(tracker.track());
    EXPECT_FALSE(tracker.compares_edges());
    for (int i = 0; i < 3; ++i) {
      if (begin % kPage != 0) ++memory.base[begin - 1];
      if (end % kPage != 0) ++memory.base[end];
      EXPECT_FALSE(tracker.written());
      EXPECT_TRUE(tracker.compares_edges());
    }
    ShownEdges shown;
    ASSERT_TRUE(tracker.show_edges(shown));
    EXPECT_EQ(shown.bytes, end - begin);
    EXPECT_EQ(std::memcmp(shown.data.data(), memory.base + begin, shown.head), 0);
    EXPECT_EQ(std::memcmp(shown.tail_data(), memory.base + end - shown.tail, shown.tail), 0);
    for (const std::size_t at : {begin, end - 1, (begin + end) / 2}) {
      ++memory.base[at];
      EXPECT_TRUE(tracker.written()) << at;
      ASSERT_TRUE(tracker.track());
      EXPECT_FALSE(tracker.written());
      if (end % kPage != 0) ++memory.base[end];
      EXPECT_FALSE(tracker.written());
    }
  }
}

/// After a store to other data the watch goes on, with what it noticed.
TEST_P(StoreTrackerTest, OtherDataHideNoStore) {
  const Memory memory(5 * kPage, kind());
  std::memset(memory.base, 1, 5 * kPage);
  StoreTracker tracker(memory.base + 100, 4 * kPage, tracking(), owner());
  StoreTracker neighbour(memory.base, 50, tracking(), owner());
  ASSERT_TRUE(tracker.track());
  ++memory.base[99];
  ASSERT_TRUE(neighbour.track());  // watches the page anew
  EXPECT_FALSE(tracker.written());
  EXPECT_TRUE(tracker.compares_edges());
  memory.base[2 * kPage] = 2;
  EXPECT_TRUE(tracker.written());
  ASSERT_TRUE(tracker.track());
  ++memory.base[99];
  if (kind() != MAP_SHARED) {
    ASSERT_EQ(::madvise(memory.base + 2 * kPage, kPage, MADV_DONTNEED), 0);
    EXPECT_TRUE(tracker.written());
    ASSERT_TRUE(tracker.track());
  }
  memory.base[99] = memory.base[100] = 7;
  EXPECT_TRUE(tracker.written());
  ASSERT_TRUE(tracker.track());
  ++memory.base[99];
  ASSERT_EQ(::mprotect(memory.base, kPage, PROT_NONE), 0);
  EXPECT_TRUE(tracker.written()) << "nobody can read it";
  ASSERT_EQ(::mprotect(memory.base, kPage, PROT_READ | PROT_WRITE), 0);
}

/// Memory that may not be watched, all of it on pages with other data.
TEST_P(StoreTrackerTest, SmallMemoryOfAnyKindIsCompared) {
  const Memory memory(3 * kPage, MAP_SHARED);
  std::memset(memory.base, 1, 3 * kPage);
  StoreTracker small(memory.base + kPage - 100, 200, tracking(), Owner::process);
  ASSERT_TRUE(small.track());
  EXPECT_TRUE(small.compares_edges());
  EXPECT_FALSE(small.watches_pages());
  EXPECT_FALSE(small.written());
  ++memory.base[kPage];
  EXPECT_TRUE(small.written());
  StoreTracker large(memory.base + kPage - 100, kPage + 200, tracking(), Owner::process);
  EXPECT_FALSE(large.track()) << "others may store to the page between";
}

TEST_P(StoreTrackerTest, NoMemoryIsNeverWritten) {
  StoreTracker tracker(nullptr, 0, tracking(), owner());
  ASSERT_TRUE(tracker.track());
  EXPECT_FALSE(tracker.written());
}

TEST_P(StoreTrackerTest, AStoreBeforeAnotherWatchBeginsIsSeen) {
  const Memory memory(4 * kPage, kind());
  StoreTracker first(memory.base, kPage, tracking(), owner());
  StoreTracker second(memory.base + 2 * kPage, kPage, tracking(), owner());
  ASSERT_TRUE(first.track());
  memory.base[0] = 1;
  ASSERT_TRUE(second.track());
  EXPECT_TRUE(first.written());
  EXPECT_FALSE(second.written());
  constexpr std::uint64_t kMoment = 7;
  ASSERT_TRUE(first.track(kMoment));
  ASSERT_TRUE(second.track(kMoment));
  EXPECT_FALSE(first.written());
  memory.base[2 * kPage] = 1;
  EXPECT_TRUE(second.written());
  EXPECT_FALSE(first.written());
}

TEST_P(StoreTrackerTest, ASampleShowsMostStoresForFewFaults) {
  constexpr std::size_t kPages = 1024;
  const Memory memory(kPages * kPage, kind());
  std::memset(memory.base, 1, kPages * kPage);
  StoreTracker small(memory.base, 100 * kPage, tracking(), owner());
  EXPECT_FALSE(small.sample()) << "a sample of so few pages would be most of them";
  StoreTracker tracker(memory.base, kPages * kPage, tracking(), owner());
  EXPECT_TRUE(tracker.sample_written()) << "there is no sample";
  if (tracking() == Tracking::soft_dirty) {
    EXPECT_FALSE(tracker.sample()) << "all of the process would be watched";
    return;
  }
  ASSERT_TRUE(tracker.sample());
  EXPECT_TRUE(tracker.sampling());
  EXPECT_FALSE(tracker.sample_written());
  EXPECT_FALSE(tracker.sample_written());
  EXPECT_FALSE(tracker.active());
  EXPECT_TRUE(tracker.written()) << "nothing is known of the other pages";
  std::memset(memory.base, 2, kPages * kPage);
  EXPECT_TRUE(tracker.sample_written());
  EXPECT_FALSE(tracker.sampling());
  EXPECT_EQ(tracker.take_faults(), WatchedPages::kSampleSpans * WatchedPages::kSpanPages);
  ASSERT_TRUE(tracker.sample());
  memory.base[(kPages - 1) * kPage] = 3;
  EXPECT_FALSE(tracker.sample_written()) << "that page is none of the sample";
  ASSERT_TRUE(tracker.track());
  EXPECT_FALSE(tracker.sampling());
  EXPECT_FALSE(tracker.written());
  memory.base[(kPages - 1) * kPage] = 4;
  EXPECT_TRUE(tracker.written());
}

TEST_P(StoreTrackerTest, OtherDataOnPagesOfASampleDoNotCount) {
  if (tracking() == Tracking::soft_dirty) GTEST_SKIP();
  constexpr std::size_t kPages = 256;
  const Memory memory(kPages * kPage, kind());
  std::memset(memory.base, 1, kPages * kPage);
  StoreTracker tracker(memory.base + 100, (kPages - 1) * kPage, tracking(), owner());
  ASSERT_TRUE(tracker.sample());
  memory.base[50] = 2;
  EXPECT_FALSE(tracker.sample_written());
  EXPECT_TRUE(tracker.sampling());
  memory.base[kPage] = 2;
  EXPECT_TRUE(tracker.sample_written());
}

TEST_P(StoreTrackerTest, ASampleHidesNoStoreFromAnothersWatch) {
  if (tracking() == Tracking::soft_dirty) GTEST_SKIP();
  constexpr std::size_t kPages = 256;
  const Memory memory(kPages * kPage, kind());
  std::memset(memory.base, 1, kPages * kPage);
  StoreTracker all(memory.base, kPages * kPage, tracking(), owner());
  StoreTracker few(memory.base, kPages * kPage, tracking(), owner());
  ASSERT_TRUE(all.track());
  memory.base[0] = 2;
  ASSERT_TRUE(few.sample());
  EXPECT_FALSE(few.sample_written());
  EXPECT_TRUE(all.written());
}

INSTANTIATE_TEST_SUITE_P(Kinds, StoreTrackerTest,
                         ::testing::Combine(::testing::Values(Tracking::write_protection,
                                                              Tracking::soft_dirty),
                                            ::testing::Values(MAP_PRIVATE, MAP_SHARED)));

TEST(PromisedTest, NothingIsWatchedAndNothingWasWritten) {
  const Memory memory(kPage);
  StoreTracker tracker(memory.base, kPage, Tracking::promised);
  EXPECT_TRUE(tracker.written()) << "nobody looked";
  ASSERT_TRUE(tracker.track());
  memory.base[0] = 1;
  EXPECT_FALSE(tracker.written());
}

TEST_P(StoreTrackerTest, AnothersWatchOfTheSamePageHidesNoStore) {
  const Memory memory(2 * kPage, kind());
  std::memset(memory.base, 1, 2 * kPage);
  StoreTracker first(memory.base, kPage + 100, tracking(), owner());
  StoreTracker second(memory.base + kPage + 200, 100, tracking(), owner());
  ASSERT_TRUE(first.track());
  memory.base[kPage + 50] = 2;
  ASSERT_TRUE(second.track());
  EXPECT_FALSE(second.written());
  EXPECT_TRUE(first.written());
  ASSERT_TRUE(first.track());
  EXPECT_FALSE(first.written());
}

TEST_P(StoreTrackerTest, StoppedIsNotWatched) {
  const Memory memory(2 * kPage, kind());
  StoreTracker tracker(memory.base, 2 * kPage, tracking(), owner());
  ASSERT_TRUE(tracker.track());
  tracker.stop();
  EXPECT_FALSE(tracker.active());
  EXPECT_TRUE(tracker.written());
  ASSERT_TRUE(tracker.track());
  EXPECT_FALSE(tracker.written());
}

TEST_P(StoreTrackerTest, HugePagesAreWatchedToo) {
  if (kind() == MAP_SHARED) GTEST_SKIP() << "most systems have none in shared memory";
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  const Memory memory(4 * kHuge);
  char* const base = memory.base + (kHuge - reinterpret_cast<std::uintptr_t>(memory.base) % kHuge);
  ::madvise(base, 2 * kHuge, MADV_HUGEPAGE);
  std::memset(base, 1, 2 * kHuge);
  StoreTracker tracker(base + kHuge / 2, kHuge, tracking());
  for (const std::size_t at : {kHuge / 2, kHuge - 1, kHuge, 3 * kHuge / 2 - 1}) {
    ASSERT_TRUE(tracker.track());
    // Of a huge page there may be one bit: a store to another part of it shows as well.
    if (tracking() == Tracking::write_protection) base[kHuge / 4] = base[7 * kHuge / 4] = 2;
    EXPECT_FALSE(tracker.written());
    base[at] = 3;
    EXPECT_TRUE(tracker.written()) << at;
  }
  ASSERT_TRUE(tracker.track());
  ASSERT_EQ(::madvise(base, kHuge, MADV_DONTNEED), 0);
  EXPECT_TRUE(tracker.written());
}

std::uint64_t page_tables() {
  std::FILE* const status = std::fopen("/proc/self/status", "re");
  unsigned long kib = 0;
  std::array<char, 200> line;
  while (std::fgets(line.data(), static_cast<int>(line.size()), status))
    if (std::sscanf(line.data(), "VmPTE: %lu", &kib) == 1) break;
  std::fclose(status);
  return std::uint64_t{kib} * 1024;
}

TEST_P(StoreTrackerTest, WhatIsNotThereNeedsNoPageTables) {
  constexpr std::size_t kSize = std::size_t{64} << 30;
  auto* const base = static_cast<char*>(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                                               kind() | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (base == MAP_FAILED || tracking() == Tracking::soft_dirty) GTEST_SKIP();
  for (std::size_t at = 0; at < kSize; at += kSize / 200) base[at] = 1;
  const std::uint64_t before = page_tables();
  {
    StoreTracker tracker(base, kSize, tracking(), owner());
    ASSERT_TRUE(tracker.track());
    EXPECT_FALSE(tracker.written());
    base[kSize / 3 + kPage] = 1;
    EXPECT_TRUE(tracker.written());
    ASSERT_TRUE(tracker.track());
    EXPECT_FALSE(tracker.written());
  }
  EXPECT_LT(page_tables(), before + (std::uint64_t{1} << 20));
  ::munmap(base, kSize);
}

TEST(WhatIsMapped, IsTold) {
  const Memory own(3 * kPage), shared(3 * kPage, MAP_SHARED);
  const std::vector<char> heap(100'000);
  static char data[1000];
  const auto of = [](const void* base, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(base);
    return mappings_of(begin, begin + bytes);
  };
  EXPECT_TRUE(of(own.base, 3 * kPage).anonymous());
  EXPECT_TRUE(of(heap.data(), heap.size()).anonymous());
  EXPECT_TRUE(of(data, sizeof data).known);
  EXPECT_FALSE(of(data, sizeof data).shared);
  EXPECT_TRUE(of(reinterpret_cast<const void*>(&page_tables), 1).files);
  EXPECT_TRUE(of(nullptr, 0).anonymous());
  EXPECT_TRUE(of(shared.base, 1).shared);
  EXPECT_TRUE(of(shared.base + kPage, kPage).shared);
  EXPECT_FALSE(of(nullptr, 1).known);
}

}  // namespace
}  // namespace hob::validation
