#include "validation/store_tracker.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

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
};

TEST_P(StoreTrackerTest, EveryStoreIsSeen) {
  const Memory memory(100 * kPage, kind());
  std::memset(memory.base, 1, 50 * kPage);  // the other half was never touched
  StoreTracker tracker(memory.base + 17, 100 * kPage - 34, tracking());
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
  StoreTracker tracker(memory.base, 4 * kPage, tracking());
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
  StoreTracker tracker(memory.base, 4 * kPage, tracking());
  ASSERT_TRUE(tracker.track());
  std::thread([&] { memory.base[3 * kPage] = 1; }).join();
  EXPECT_TRUE(tracker.written());
}

TEST_P(StoreTrackerTest, PagesThatAreGivenBackCountAsWritten) {
  if (kind() == MAP_SHARED) GTEST_SKIP() << "these keep what is in them";
  const Memory memory(4 * kPage);
  std::memset(memory.base, 1, 4 * kPage);
  StoreTracker tracker(memory.base, 4 * kPage, tracking());
  ASSERT_TRUE(tracker.track());
  ASSERT_EQ(::madvise(memory.base + kPage, kPage, MADV_DONTNEED), 0);  // reads as zeros now
  EXPECT_TRUE(tracker.written());
}

TEST_P(StoreTrackerTest, TwoRangesMayShareAPage) {
  const Memory memory(3 * kPage);
  auto first = std::make_unique<StoreTracker>(memory.base, kPage + 100, tracking());
  StoreTracker second(memory.base + kPage + 200, kPage, tracking());
  ASSERT_TRUE(first->track());
  ASSERT_TRUE(second.track());
  memory.base[kPage + 50] = 1;
  EXPECT_TRUE(first->written());
  EXPECT_TRUE(second.written());
  ASSERT_TRUE(first->track());
  ASSERT_TRUE(second.track());
  first.reset();  // with write protection, what it watched looks as if it was stored to
  EXPECT_EQ(second.written(), tracking() == Tracking::write_protection);
  ASSERT_TRUE(second.track());
  EXPECT_FALSE(second.written());
}

TEST_P(StoreTrackerTest, NoMemoryIsNeverWritten) {
  StoreTracker tracker(nullptr, 0, tracking());
  ASSERT_TRUE(tracker.track());
  EXPECT_FALSE(tracker.written());
}

TEST_P(StoreTrackerTest, AStoreBeforeAnotherWatchBeginsIsSeen) {
  const Memory memory(4 * kPage, kind());
  StoreTracker first(memory.base, kPage, tracking());
  StoreTracker second(memory.base + 2 * kPage, kPage, tracking());
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

TEST(PrivateMemory, SharedMappingsAreNot) {
  const Memory own(3 * kPage), shared(3 * kPage, MAP_SHARED);
  std::vector<char> heap(100'000);
  static char data[1000];
  char stack[1000];
  EXPECT_TRUE(is_private_memory(own.base, 3 * kPage));
  EXPECT_TRUE(is_private_memory(heap.data(), heap.size()));
  EXPECT_TRUE(is_private_memory(data, sizeof data));
  EXPECT_TRUE(is_private_memory(stack, sizeof stack));
  EXPECT_TRUE(is_private_memory(nullptr, 0));
  EXPECT_FALSE(is_private_memory(shared.base, 1));
  EXPECT_FALSE(is_private_memory(shared.base + kPage, kPage));
  EXPECT_FALSE(is_private_memory(nullptr, 1));
}

}  // namespace
}  // namespace hob::validation
