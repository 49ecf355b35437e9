#include "os/scheduling.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "os/affinity.hpp"

namespace {

using hob::os::turns_lost;

TEST(TurnsLost, CountsYieldsThatAnotherThreadTook) {
  std::thread([] {
    hob::os::bind_to({hob::os::own_cpus().front()});
    std::atomic<bool> ended{false};
    std::thread other([&] {
      while (!ended) ::sched_yield();
    });
    const std::uint64_t before = turns_lost();
    for (int i = 0; i < 1'000'000 && turns_lost() == before; ++i) ::sched_yield();
    EXPECT_GT(turns_lost(), before);
    ended = true;
    other.join();
  }).join();
}

TEST(WaitedForCore, GrowsWhileAnotherThreadHasTheCore) {
  const int number = hob::os::thread_number();
  EXPECT_EQ(number, ::getpid());
  EXPECT_EQ(hob::os::waited_for_core(-1), 0u);
  if (::access("/proc/self/task", F_OK) != 0 || ::access("/proc/self/schedstat", F_OK) != 0)
    GTEST_SKIP() << "the system does not say";
  std::thread([] {
    hob::os::bind_to({hob::os::own_cpus().front()});
    std::atomic<bool> ended{false};
    std::thread other([&] {
      while (!ended) continue;
    });
    const int own = hob::os::thread_number();
    const std::uint64_t before = hob::os::waited_for_core(own);
    std::uint64_t waited = before;
    for (int i = 0; i < 1'000'000 && waited < before + 1'000'000; ++i)
      waited = hob::os::waited_for_core(own);
    EXPECT_GE(waited, before + 1'000'000) << "1 ms";
    ended = true;
    other.join();
  }).join();
}

}  // namespace
