#include "os/thread_state.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <latch>
#include <thread>

namespace {

using hob::os::PerThread;

TEST(ThreadState, IsOneForEachThreadAtATime) {
  struct State {
    int number = 0;
  };
  State& own = PerThread<State>::here();
  own.number = 1;
  std::thread([&] {
    EXPECT_NE(&PerThread<State>::here(), &own);
    EXPECT_EQ(PerThread<State>::here().number, 0);
  }).join();
  EXPECT_EQ(&PerThread<State>::here(), &own);
}

TEST(ThreadState, OfAThreadThatEndedIsLentToTheNext) {
  struct State {
    int threads = 0, ended = 0;
    void thread_ended() { ++ended; }
  };
  const State* first = nullptr;
  for (int i = 1; i <= 20; ++i)
    std::thread([&] {
      State& own = PerThread<State>::here();
      if (first == nullptr) first = &own;
      EXPECT_EQ(&own, first);
      EXPECT_EQ(++own.threads, i);
      EXPECT_EQ(own.ended, i - 1);
    }).join();
}

TEST(ThreadState, OfThreadsThatLiveTogetherIsNotShared) {
  struct State {
    int users = 0;
  };
  std::latch all_have(8);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      EXPECT_EQ(PerThread<State>::here().users++, 0);
      all_have.arrive_and_wait();
    });
  for (auto& each : threads) each.join();
}

TEST(ThreadState, OfAllThreadsIsSeenAlsoOfThoseThatEnded) {
  struct State {
    int number = 0;
  };
  PerThread<State>::here().number = 1;
  std::latch has_own(1), seen(1);
  std::thread other([&] {
    PerThread<State>::here().number = 2;
    has_own.count_down();
    seen.wait();
  });
  has_own.wait();
  const auto sum = [] {
    int all = 0;
    PerThread<State>::each([&](const State& each) { all += each.number; });
    return all;
  };
  EXPECT_EQ(sum(), 3);
  seen.count_down();
  other.join();
  EXPECT_EQ(sum(), 3);
}

struct Counted {
  int uses = 0, ended = 0;
  void thread_ended() { ++ended; }
};

TEST(ThreadState, IsThereInDestructorsOfThreadLocalObjects) {
  struct LateUser {
    Counted* state = nullptr;
    bool* seen = nullptr;
    ~LateUser() {
      if (seen != nullptr) *seen = &PerThread<Counted>::here() == state && state->uses == 1;
    }
  };
  bool seen = false;
  std::thread([&] {
    static thread_local LateUser user;
    user.seen = &seen;
    user.state = &PerThread<Counted>::here();
    user.state->uses = 1;
  }).join();
  EXPECT_TRUE(seen);
}

int uses_by_key = 0;

TEST(ThreadState, IsThereInDestructorsOfKeys) {
  // Made after the state's own key, hence destroyed after it, and before it in the next round.
  struct State {
    int uses = 0;
  };
  PerThread<State>::here();
  pthread_key_t key{};
  const auto late = [](void*) { uses_by_key += ++PerThread<State>::here().uses; };
  ASSERT_EQ(pthread_key_create(&key, late), 0);
  for (int i = 1; i <= 3; ++i) {
    std::thread([&] {
      pthread_setspecific(key, &key);
      PerThread<State>::here();
    }).join();
    EXPECT_EQ(uses_by_key, i * (i + 1) / 2) << "another state was made for each thread";
  }
  pthread_key_delete(key);
}

}  // namespace
