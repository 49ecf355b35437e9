#include "heat/heater.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

namespace hob::heat {
namespace {

std::atomic<int> released{0};

void count_release(void*) { ++released; }

/// Memory that faults when it is touched after its release.
constexpr std::size_t mapped_bytes = 16 * 4096;
void* map() {
  return mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
void unmap(void* address) {
  ++released;
  munmap(address, mapped_bytes);
}

template <class Condition>
bool eventually(Condition&& condition) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

TEST(Heater, TouchesEachLineOnceAPass) {
  alignas(64) static char memory[640];
  Heater heater({100'000, -1, false});
  heater.add(memory, sizeof memory);
  ASSERT_TRUE(heater.start());
  ASSERT_TRUE(eventually([&] { return heater.stats().passes >= 5; }));
  heater.stop();
  Stats stats = heater.stats();
  EXPECT_EQ(stats.lines, stats.passes * 10);
  EXPECT_EQ(stats.regions, 1u);
  EXPECT_EQ(stats.region_bytes, 640u);
}

TEST(Heater, PausesAndResumes) {
  Heater heater({100'000, -1, false});
  heater.pause();
  ASSERT_TRUE(heater.start());
  ASSERT_TRUE(eventually([&] { return heater.stats().idle_passes >= 20; }));
  EXPECT_EQ(heater.stats().passes, 0u);
  heater.resume();
  EXPECT_TRUE(eventually([&] { return heater.stats().passes > 0; }));
}

TEST(Heater, ReleasesAtOnceWhatItIsNotInside) {
  released = 0;
  char memory[64];
  Heater heater({1'000'000, -1, false});
  heater.add(memory, sizeof memory);
  heater.remove(memory, count_release);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(heater.stats().regions, 0u);
  heater.remove(memory, count_release);  // not registered: released all the same
  EXPECT_EQ(released, 2);
}

TEST(Heater, NeverTouchesMemoryThatWasReleased) {
  released = 0;
  int removed = 0;
  Heater heater({1'000, -1, false});
  ASSERT_TRUE(heater.start());
  std::mt19937 random(1);
  std::vector<void*> regions;
  // A release unmaps: one touch too late would end the test.
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (removed < 2000 || heater.stats().passes < 50) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    if (regions.size() < 200 && random() % 2 == 0) {
      regions.push_back(map());
      heater.add(regions.back(), mapped_bytes);
    } else if (!regions.empty()) {
      std::size_t at = random() % regions.size();
      std::swap(regions[at], regions.back());
      *static_cast<char*>(regions.back()) = 1;  // the owner writes while the heater reads
      heater.remove(regions.back(), unmap);
      regions.pop_back();
      ++removed;
    }
  }
  for (void* region : regions) heater.remove(region, unmap);
  removed += static_cast<int>(regions.size());
  heater.stop();
  EXPECT_EQ(released, removed);
  EXPECT_EQ(heater.stats().regions, 0u);
}

TEST(Heater, LeavesARegionToTheHeaterWhileItIsInside) {
  // One region so large that the heater is inside it nearly always.
  constexpr std::size_t bytes = std::size_t{128} << 20;
  bool deferred = false;
  Heater heater({1'000, -1, false});
  ASSERT_TRUE(heater.start());
  for (int attempt = 0; attempt < 200 && !deferred; ++attempt) {
    released = 0;
    void* region = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(region, MAP_FAILED);
    const std::uint64_t before = heater.stats().deferred, lines = heater.stats().lines;
    heater.add(region, bytes);
    ASSERT_TRUE(eventually([&] { return heater.stats().lines > lines; }));
    heater.remove(region, [](void* address) {
      munmap(address, bytes);
      ++released;
    });
    ASSERT_TRUE(eventually([&] { return released == 1; }));
    deferred = heater.stats().deferred > before;
  }
  EXPECT_TRUE(deferred);
}

TEST(Heater, FollowsPhases) {
  Heater heater({200'000, -1, true});
  ASSERT_TRUE(heater.start());
  // Until there were two phases it always heats; ten periods are more than a pause within a phase.
  heater.activity();
  EXPECT_TRUE(eventually([&] { return heater.stats().passes >= 10; }));
  // A heater that lost its processor makes up for passes: in too short a time for a pause.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (int phase = 1; phase < 6; ++phase) {
    const Stats before = heater.stats();
    heater.activity();
    EXPECT_TRUE(eventually([&] { return heater.stats().passes > before.passes; }));
    EXPECT_TRUE(eventually([&] { return heater.stats().idle_passes > before.idle_passes; }));
  }
}

TEST(Heater, SaysThatAProcessorIsNotThere) {
  Heater heater({1'000'000, CPU_SETSIZE - 1, false});
  EXPECT_FALSE(heater.start());
  EXPECT_NE(heater.error().find("processor"), std::string::npos);
}

}  // namespace
}  // namespace hob::heat
