// What ghosts receive with, how they sleep, and what is known of a window's targets.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fake_mpi.hpp"
#include "mpi/ghost/inbox.hpp"
#include "mpi/progress/sleeper.hpp"
#include "mpi/progress/ucx.hpp"
#include "mpi/rma/ghost/targets.hpp"

extern "C" unsigned ucp_worker_progress(void* worker);

namespace hob::mpi {
namespace {

class GhostInbox : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    fake::reset();
  }
  void TearDown() override {
    fake::hold_requests(0);
    MPI_Comm_free(&comm_);
  }
  void send(int source, const std::string& text) {
    fake::arrive(source, static_cast<int>(ghost::kRequestTag), comm_, text.data(), text.size());
  }
  static std::string next(Inbox& inbox, int& source) {
    std::string text;
    inbox.poll([&](int from, std::span<const std::byte> bytes) {
      source = from;
      text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    });
    return text;
  }
  MPI_Comm comm_ = MPI_COMM_NULL;
};

TEST_F(GhostInbox, MessagesAreTakenInOrderAndReceivesArePostedAgain) {
  const std::size_t open = fake::open_requests();
  {
    fake::hold_requests(0);
    Inbox inbox(comm_);
    const auto slots = tuning::ghost::kInboxSlots;
    EXPECT_EQ(fake::open_requests(), open + slots);
    for (std::size_t i = 0; i < 3 * slots; ++i) {
      send(1 + static_cast<int>(i % 3), std::to_string(i));
      int source = -1;
      EXPECT_EQ(next(inbox, source), std::to_string(i));
      EXPECT_EQ(source, 1 + static_cast<int>(i % 3));
    }
    inbox.refill();
    EXPECT_EQ(fake::open_requests(), open + slots);
    for (std::size_t i = 0; i < slots; ++i) send(1, "taken by those that are cancelled");
  }
  EXPECT_EQ(fake::open_requests(), open) << "all are cancelled at the end";
}

/// The library is one that uses UCX.
struct OverUcx {
  OverUcx() { ucx::library_has_worker(true); }
  ~OverUcx() { ucx::library_has_worker(false); }
  OverUcx(const OverUcx&) = delete;
  OverUcx& operator=(const OverUcx&) = delete;
};

TEST_F(GhostInbox, OverUcxMessagesMayComeBeforeTheirReceives) {
  const OverUcx over_ucx;
  const ucx::Standstill restored_at_the_end;
  ucx::redirect_progress([](void*) { return 1U; });
  fake::hold_requests(0);
  fake::lose_early_messages(true);
  constexpr std::size_t kMessages = 2 * tuning::ghost::kInboxSlots + 3;
  for (std::size_t i = 0; i < kMessages; ++i) send(1, std::to_string(i));
  Inbox inbox(comm_);
  for (std::size_t i = 0; i < kMessages; ++i) {
    int source = -1;
    EXPECT_EQ(next(inbox, source), std::to_string(i));
  }
  for (std::size_t i = 0; i < tuning::ghost::kInboxSlots; ++i) send(1, "taken by the cancelled");
}

TEST(UcxStandstill, EndsWithItsScope) {
  const ucx::Standstill restored_at_the_end;
  ucx::redirect_progress([](void*) { return 1U; });
  {
    const ucx::Standstill standstill;
    EXPECT_EQ(ucp_worker_progress(nullptr), 0U);
  }
  EXPECT_EQ(ucp_worker_progress(nullptr), 1U);
}

class GhostSleep : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::pipe2(pipe_.data(), O_NONBLOCK | O_CLOEXEC), 0);
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, network_.data()), 0);
  }
  void TearDown() override {
    for (const int end : pipe_) ::close(end);
    for (const int end : network_) ::close(end);
  }
  void wake() { ASSERT_EQ(::write(pipe_[1], "x", 1), 1); }

  static constexpr std::uint64_t kLongNs = 60'000'000'000;
  std::array<int, 2> pipe_{};
  std::array<int, 2> network_{};  ///< without any socket, nothing would announce messages
  std::atomic<std::uint32_t> asleep_{0};

  Sleeper::Config config(unsigned most_without_event = 0) {
    return {.wakeup_fd = pipe_[0],
            .asleep = &asleep_,
            .most_without_event = most_without_event,
            .times = {.first_ns = kLongNs, .unproven_ns = kLongNs, .least_proven_ns = 0}};
  }
};

TEST_F(GhostSleep, WhatIsThereAlreadyIsNotSleptOver) {
  Sleeper waiter(config());
  EXPECT_TRUE(waiter.sleep(kLongNs, [&] {
    EXPECT_EQ(asleep_.load(), 1u) << "senders must see it before it looks";
    return true;
  }));
  EXPECT_EQ(asleep_.load(), 0u);
  EXPECT_EQ(waiter.sleeps(), 0u);
}

TEST_F(GhostSleep, ThePipeWakesItAndIsEmptyThen) {
  Sleeper waiter(config());
  wake();
  EXPECT_TRUE(waiter.sleep(kLongNs, [] { return false; }));
  EXPECT_EQ(waiter.sleeps(), 1u);
  char byte = 0;
  EXPECT_EQ(::read(pipe_[0], &byte, 1), -1);
}

TEST_F(GhostSleep, WithoutSocketsItSleepsForASetTime) {
  Sleeper waiter({.timed = true, .times = {}});
  EXPECT_FALSE(waiter.sleep(kLongNs, [] { return false; }));
  EXPECT_EQ(asleep_.load(), 0u) << "nobody need wake it";
}

TEST_F(GhostSleep, SocketsThatAnnounceNothingAreLeftByGhostsAlone) {
  for (const unsigned most : {3U, 0U}) {
    Sleeper waiter(config(most));
    for (int message = 0; message < 10; ++message) {
      EXPECT_FALSE(waiter.sleep(1, [] { return false; }));
      waiter.worked();
    }
    bool asked = false;
    waiter.sleep(1, [&] { return asked = true; });
    EXPECT_EQ(asked, most == 0) << "who sleeps for a set time need not be woken";
  }
}

TEST(TargetsOfGhosts, NoneIsMadeBeforeItsFirstUse) {
  const std::array<std::uint64_t, 2> sizes{4096, 8192};
  GhostTargets targets({.headers = PerRank(64), .sizes = PerRank(sizes), .serial = 9},
                       std::make_shared<GhostMembers>(GhostMembers{{3, 5}, {}}));
  EXPECT_TRUE(targets.exists(1));
  EXPECT_FALSE(targets.exists(2));
  EXPECT_FALSE(targets.exists(-1));
  EXPECT_EQ(targets.rank(1), 5);
  EXPECT_EQ(targets.size(1), 8192u);
  EXPECT_EQ(targets.unit(1), 1);
  EXPECT_FALSE(targets.find(0));
  EXPECT_EQ(targets.window_number(), (std::uint64_t{3} << 32) + 9);
  int used = 0;
  targets.each([&](ghost::Peer&) { ++used; });
  EXPECT_EQ(used, 0);
}

TEST(TargetsOfGhosts, WindowsOfTheSameMembersShareThem) {
  MemberGroups groups;
  const auto one = groups.share({3, 5});
  EXPECT_EQ(groups.share({3, 5}), one);
  EXPECT_NE(groups.share({5, 3}), one);
  EXPECT_EQ(one->ranks, (std::vector<int>{3, 5}));
}

}  // namespace
}  // namespace hob::mpi
