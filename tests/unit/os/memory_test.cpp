// Another process's memory, and processors.
#include "os/memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

TEST(Memory, ProvidedPagesAreThereBeforeTheyAreTouched) {
#ifndef MADV_POPULATE_WRITE
  GTEST_SKIP() << "the system's headers do not know how";
#else
  constexpr std::size_t kPages = 8;
  const std::size_t page = page_bytes();
  void* const memory =
      ::mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  if (::madvise(memory, page, MADV_POPULATE_WRITE) != 0) GTEST_SKIP() << "the kernel cannot";
  provide(static_cast<std::byte*>(memory) + page + 8, 4 * page);
  std::array<unsigned char, kPages> there{};
  ASSERT_EQ(::mincore(memory, kPages * page, there.data()), 0);
  for (std::size_t i = 0; i < kPages; ++i)
    EXPECT_EQ(there[i] & 1, i == 0 || (i >= 2 && i <= 4) ? 1 : 0) << i;
  ::munmap(memory, kPages * page);
#endif
}

TEST(Memory, OfLimitedAddressesASixteenthMayBeSetAside) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers take more addresses than any limit has";
#endif
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  if (before.rlim_cur != RLIM_INFINITY) GTEST_SKIP() << "there is a limit already";
  EXPECT_EQ(addresses_to_spare(0), ~std::uint64_t{0});
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 46;
  const rlimit limited{kLimit, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &limited), 0);
  const std::uint64_t spare = addresses_to_spare(0), with_taken = addresses_to_spare(16 << 20);
  ::setrlimit(RLIMIT_AS, &before);
  EXPECT_LT(spare, kLimit / 16);
  EXPECT_GT(spare, kLimit / 32);
  EXPECT_EQ(with_taken - spare, 1u << 20);
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
