// Another process's memory, and processors.
#include "os/memory.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <future>
#include <thread>

#include "os/affinity.hpp"

namespace hob::os {
namespace {

TEST(Memory, APageIsAPowerOfTwo) {
  EXPECT_GE(page_bytes(), 4096u);
  EXPECT_EQ(page_bytes() & (page_bytes() - 1), 0u);
}

TEST(Memory, OwnMemoryCanBeReadAndWrittenByNumber) {
  std::array<int, 3> there{1, 2, 3}, here{};
  const auto address = reinterpret_cast<std::uint64_t>(there.data());
  ASSERT_TRUE(read_from(::getpid(), address, here.data(), sizeof here));
  EXPECT_EQ(here, there);
  here = {4, 5, 6};
  ASSERT_TRUE(write_to(::getpid(), address, here.data(), sizeof here));
  EXPECT_EQ(there, here);
}

TEST(Memory, WhatIsNotThereIsRefused) {
  int value = 0;
  EXPECT_FALSE(read_from(::getpid(), 0, &value, sizeof value));
  EXPECT_FALSE(write_to(::getpid(), 0, &value, sizeof value));
}

TEST(Memory, AProcessThatEndedIsRefused) {
  int value = 0;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(read_from(child, reinterpret_cast<std::uint64_t>(&value), &value, sizeof value));
}

TEST(Affinity, AThreadIsBoundToOneOfItsProcessors) {
  const std::vector<int> all = own_cpus();
  ASSERT_FALSE(all.empty());
  std::vector<int> seen;
  std::thread thread([&] {
    bind_to({all.back()});
    seen = own_cpus();
  });
  thread.join();
  EXPECT_EQ(seen, std::vector<int>{all.back()});
  EXPECT_EQ(own_cpus(), all) << "the caller's own are left alone";
}

TEST(Affinity, AProcessorBeyondAThousandIsRefusedForWhatItIs) {
  std::promise<void> asked;
  std::thread thread([&] { asked.get_future().wait(); });  // there while it is asked for
  EXPECT_FALSE(bind_thread(thread, 5000));
  asked.set_value();
  thread.join();
}

}  // namespace
}  // namespace hob::os
