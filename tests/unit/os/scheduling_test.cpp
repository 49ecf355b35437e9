#include "os/scheduling.hpp"

#include <gtest/gtest.h>
#include <sched.h>

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

}  // namespace
