// Memory that runs out at the n-th allocation, for each n: what throws has changed nothing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "match/depth_meter.hpp"
#include "match/engine.hpp"
#include "match/meters.hpp"

namespace {

/// Allocations that succeed before one fails; negative: all do.
thread_local long allocations_left = -1;

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (allocations_left == 0) return nullptr;
  if (allocations_left > 0) --allocations_left;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* memory = allocate(bytes, alignment);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

// These are a pair: both end in the C library's. GCC looks into delete alone.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, 1); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace hob::match {
namespace {

/// Repeats `call` with memory that runs out after 0, 1, 2, ... allocations until it succeeds. After
/// each failure `unchanged` is asked. How many failures there were.
template <class Call, class Unchanged>
long until_enough(Call call, Unchanged unchanged) {
  for (long n = 0;; ++n) {
    allocations_left = n;
    try {
      call();
      allocations_left = -1;
      return n;
    } catch (const std::bad_alloc&) {
      allocations_left = -1;
      unchanged();
    }
  }
}

class MemoryTest : public ::testing::TestWithParam<const char*> {};

TEST_P(MemoryTest, AFailedCallHasChangedNothing) {
  const auto engine = make_engine(*parse_strategy(GetParam()));
  std::mt19937 random(11);
  const auto below = [&](unsigned n) { return static_cast<std::int32_t>(random() % n); };
  std::vector<char> items(20000);
  const auto requests_of = [&] {
    std::vector<Posted> list;
    engine->posted(1, list);
    std::vector<void*> requests;
    for (const Posted& posted : list) requests.push_back(posted.request);
    return requests;
  };
  const auto messages_of = [&] {
    std::vector<Unexpected> list;
    engine->unexpected(1, list);
    std::vector<void*> messages;
    for (const Unexpected& message : list) messages.push_back(message.message);
    return messages;
  };
  long failures = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    void* item = &items[i];
    // Receives and messages in turns, so that both queues grow and shrink.
    const bool receives = i / 1500 % 2 == 0;
    const bool posts = below(8) < (receives ? 6 : 2);
    const Envelope want{1, below(8) == 0 ? kAnySource : below(40),
                        below(8) == 0 ? kAnyTag : below(40)};
    const Envelope has{1, below(40), below(40)};
    const bool checked = i % 64 == 0;
    const auto requests = checked ? requests_of() : std::vector<void*>();
    const auto messages = checked ? messages_of() : std::vector<void*>();
    const std::size_t posted = engine->posted_length(), unexpected = engine->unexpected_length();
    failures += until_enough(
        [&] {
          if (posts)
            engine->post(want, item);
          else
            engine->arrive(has, item);
        },
        [&] {
          ASSERT_EQ(engine->posted_length(), posted) << i;
          ASSERT_EQ(engine->unexpected_length(), unexpected) << i;
          if (!checked) return;
          ASSERT_EQ(requests_of(), requests) << i;
          ASSERT_EQ(messages_of(), messages) << i;
        });
  }
  EXPECT_GT(failures, 0);
}

INSTANTIATE_TEST_SUITE_P(Strategies, MemoryTest,
                         ::testing::Values("flat", "list", "lla-8", "source-array", "hash-256"));

TEST(MemoryOfMeters, AFailedAppendHasChangedNothing) {
  Meters meters;
  std::vector<DepthMeter::Ticket> tickets;
  long failures = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t length = meters.posted.length();
    DepthMeter::Ticket ticket = 0;
    for (long n = 0;; ++n) {
      allocations_left = n;
      const bool appended = meters.append_posted(ticket);
      allocations_left = -1;
      if (appended) break;
      ++failures;
      ASSERT_EQ(meters.posted.length(), length);
    }
    tickets.push_back(ticket);
    if (i % 3 == 2) {
      ASSERT_EQ(meters.posted.match(tickets.front()), 1u);
      tickets.erase(tickets.begin());
    }
  }
  EXPECT_GT(failures, 0);
}

}  // namespace
}  // namespace hob::match
