#include "overlap/presence.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace hob::overlap {
namespace {

TEST(Presence, HelperStaysOutWhileTheProgramIsInside) {
  Presence presence;
  presence.enter();
  EXPECT_TRUE(presence.inside());
  EXPECT_FALSE(presence.try_claim());
  presence.leave();
  EXPECT_FALSE(presence.inside());
  ASSERT_TRUE(presence.try_claim());
  presence.release();
  presence.enter();
  EXPECT_EQ(presence.waits(), 0u);
  presence.leave();
}

TEST(Presence, VisitsTellWhetherTheProgramMoved) {
  Presence presence;
  const auto before = presence.visits();
  EXPECT_EQ(presence.visits(), before);
  presence.enter();
  presence.leave();
  EXPECT_NE(presence.visits(), before);
}

TEST(Presence, TheProgramWaitsForTheHelper) {
  Presence presence;
  ASSERT_TRUE(presence.try_claim());
  std::atomic<bool> entered{false};
  std::thread program([&] {
    presence.enter();
    entered = true;
    presence.leave();
  });
  while (!presence.inside()) std::this_thread::yield();
  EXPECT_FALSE(entered);
  presence.release();
  program.join();
  EXPECT_TRUE(entered);
  EXPECT_EQ(presence.waits(), 1u);
}

TEST(Presence, AChildForgetsTheHelper) {
  Presence presence;
  ASSERT_TRUE(presence.try_claim());
  presence.forget_helper();
  presence.enter();  // would wait for ever
  presence.leave();
}

// Two plain counters that only one side may touch at a time; under the thread sanitizer, a race
// that the exclusion lets through is reported.
void exclude(bool asymmetric, std::uint64_t rounds) {
  Presence presence(asymmetric);
  std::uint64_t first = 0, second = 0, claims = 0;
  std::atomic<bool> done{false};
  std::thread helper([&] {
    while (!done.load(std::memory_order_relaxed)) {
      if (!presence.try_claim()) continue;
      EXPECT_EQ(first, second);
      ++first;
      ++second;
      ++claims;
      presence.release();
    }
  });
  for (std::uint64_t i = 0; i < rounds; ++i) {
    presence.enter();
    EXPECT_EQ(first, second);
    ++first;
    ++second;
    presence.leave();
    if (i % 64 == 0) std::this_thread::yield();
  }
  done = true;
  helper.join();
  EXPECT_EQ(first, rounds + claims);
  EXPECT_EQ(second, rounds + claims);
}

TEST(Presence, ExcludesWithFences) { exclude(false, 10'000); }

TEST(Presence, ExcludesWithTheHelpersFenceAlone) {
  if (!prepare_asymmetric()) GTEST_SKIP() << "no membarrier here";
  exclude(true, 10'000);
}

TEST(Presence, EachThreadHasASlotOfItsOwn) {
  static Presence presence;  // slots are never freed
  Presence::Slot& mine = *presence.take_slot();
  presence.enter(mine);
  Presence::Slot* other = nullptr;
  std::thread([&] {
    other = presence.take_slot();
    presence.enter(*other);
    EXPECT_TRUE(Presence::inside(*other));
    Presence::leave(*other);
    Presence::give_back(*other);
  }).join();
  EXPECT_NE(other, &mine);
  EXPECT_EQ(presence.take_slot(), other);
  EXPECT_TRUE(presence.inside());
  EXPECT_FALSE(presence.try_claim());
  const auto before = presence.visits();
  Presence::leave(mine);
  EXPECT_NE(presence.visits(), before);
  EXPECT_FALSE(presence.inside());
  ASSERT_TRUE(presence.try_claim());
  presence.release();
}

// Several threads of the program, which may be inside together, against the helper, which may not:
// they read what it writes. Threads come and go meanwhile.
void exclude_threads(Presence& presence) {
  std::uint64_t first = 0, second = 0, claims = 0;
  std::atomic<int> running{3};
  std::thread helper([&] {
    while (running.load(std::memory_order_relaxed) != 0) {
      if (!presence.try_claim()) {
        std::this_thread::yield();
        continue;
      }
      ++first;
      ++second;
      ++claims;
      presence.release();
    }
  });
  const auto enter_often = [&](int times) {
    Presence::Slot& slot = *presence.take_slot();
    for (int i = 0; i < times; ++i) {
      presence.enter(slot);
      EXPECT_EQ(first, second);
      Presence::leave(slot);
      if (i % 16 == 0) std::this_thread::yield();
    }
    Presence::give_back(slot);
  };
  const auto program = [&] {
    enter_often(1'000);
    for (int i = 0; i < 10; ++i) std::thread(enter_often, 100).join();
    --running;
  };
  std::thread one(program), two(program);
  program();
  one.join();
  two.join();
  helper.join();
  EXPECT_EQ(first, claims);
  EXPECT_FALSE(presence.inside());
}

TEST(Presence, ThreadsExcludeTheHelperWithFences) {
  static Presence presence(false);
  exclude_threads(presence);
}

TEST(Presence, ThreadsExcludeTheHelperWithItsFenceAlone) {
  if (!prepare_asymmetric()) GTEST_SKIP() << "no membarrier here";
  static Presence presence(true);
  exclude_threads(presence);
}

}  // namespace
}  // namespace hob::overlap
