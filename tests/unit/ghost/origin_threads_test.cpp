// One origin that several threads use at once: whatever one does while another waits, nothing is
// lost, mixed up or locked twice. Limits are so small that nearly every call waits.
#include <gtest/gtest.h>

#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "ghost/origin.hpp"
#include "node.hpp"

namespace hob::ghost {
namespace {

using test::combine;
using test::End;
using test::int64_element;
using test::Network;
using test::Node;
using test::op_sum;

// One thread's operations, with another's in between: `meanwhile` runs once, in the first wait.
struct Job {
  Job(int ghosts, std::size_t targets, std::uint64_t size, unsigned in_flight, bool segments)
      : node(network, 1, ghosts, targets, size),
        origin({combine,
                segments ? Binding::segment : Binding::rank,
                1 << 20,
                {static_cast<std::uint32_t>(1 + ghosts), in_flight, 4}},
               end),
        known(node.known()) {}

  template <class Act>
  void in_first_wait(Act act) {
    end.meanwhile = [this, act] {
      end.meanwhile = nullptr;
      act();
      acted = true;
    };
  }
  bool put(Peer& peer, const std::vector<std::int64_t>& words, std::span<const Block> to) {
    const Block mine{0, words.size() * 8};
    return origin.put(
        peer, {reinterpret_cast<std::byte*>(const_cast<std::int64_t*>(words.data())), {&mine, 1}},
        to);
  }

  Network network{1, 0};
  Node node;
  End end{network, 0};
  Origin origin;
  GhostNode known;
  bool acted = false;
};

TEST(OriginThreads, BlocksOfOneAreNotThoseOfAnother) {
  Job job(1, 1, 8000, 1, false);
  Peer peer = job.node.remote(job.known, 0, false);
  std::vector<Block> first;
  std::vector<Block> second;
  for (std::int64_t i = 0; i < 8; ++i) {
    first.push_back({160 * i, 8});
    second.push_back({160 * i + 80, 8});
  }
  const std::vector<std::int64_t> ones(8, 1);
  const std::vector<std::int64_t> twos(8, 2);
  const Block elsewhere{7992, 8};
  job.put(peer, {3}, {&elsewhere, 1});  // the only message that may be under way
  job.in_first_wait([&] { job.put(peer, twos, second); });
  job.put(peer, ones, first);
  ASSERT_TRUE(job.acted);
  job.origin.flush(peer);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(job.node.value(0, 20 * i), 1);
    EXPECT_EQ(job.node.value(0, 20 * i + 10), 2);
  }
}

// Two wait for room; the message that one opens is not forgotten by the other.
TEST(OriginThreads, AnOpenMessageIsNotForgotten) {
  Job job(1, 2, 8000, 2, false);
  Peer peer = job.node.remote(job.known, 0, false);
  Peer blocked = job.node.remote(job.known, 1, false);
  const Block one{0, 8};
  ASSERT_TRUE(job.node.target(1).try_lock(LockMode::exclusive));
  job.origin.lock(blocked, LockMode::shared, true);
  job.put(blocked, {9}, {&one, 1});  // stays under way
  job.put(peer, {1}, {&one, 1});     // collected
  job.origin.push(peer);             // under way: now there is no room
  const Block second{80, 8};
  const Block third{160, 8};
  job.in_first_wait([&] { job.put(peer, {2}, {&second, 1}); });
  job.put(peer, {3}, {&third, 1});
  ASSERT_TRUE(job.acted);
  job.origin.flush(peer);
  EXPECT_EQ(job.node.value(0, 0), 1);
  EXPECT_EQ(job.node.value(0, 10), 2);
  EXPECT_EQ(job.node.value(0, 20), 3);
  job.node.target(1).unlock(LockMode::exclusive);
  job.origin.unlock(blocked);
  EXPECT_FALSE(job.origin.active());
}

TEST(OriginThreads, OneOfThemTakesTheDirectLock) {
  for (const LockMode mode : {LockMode::shared, LockMode::exclusive}) {
    Job job(1, 1, 64, 1, false);
    Peer peer = job.node.direct(0);
    Target& target = job.node.target(0);
    const Block first{0, 8};
    const Block second{8, 8};
    ASSERT_TRUE(target.try_lock(LockMode::exclusive));
    job.origin.lock(peer, mode, true);
    job.in_first_wait([&] {
      target.unlock(LockMode::exclusive);
      job.put(peer, {2}, {&second, 1});
    });
    job.put(peer, {1}, {&first, 1});
    ASSERT_TRUE(job.acted);
    EXPECT_EQ(job.node.value(0, 0), 1);
    EXPECT_EQ(job.node.value(0, 1), 2);
    job.origin.unlock(peer);
    ASSERT_EQ(target.lock, 0U);  // else the second way waits for ever
    EXPECT_EQ(target.writers_waiting, 0U);
  }
}

// A lock that one thread asks of one ghost while the other waits for room at another ghost.
TEST(OriginThreads, NoGhostWorksUnderALockThatAnotherHasNotGot) {
  Job job(2, 1, 8000, 1, true);
  Peer peer = job.node.remote(job.known, 0, true);
  Peer unlocked = job.node.remote(job.known, 0, true);  // of an epoch that needs no lock
  Target& target = job.node.target(0);
  const Block first{0, 8};      // of ghost 0
  const Block second{4800, 8};  // of ghost 1
  const Block third{6400, 8};
  ASSERT_TRUE(target.try_lock(LockMode::exclusive));
  job.origin.lock(peer, LockMode::shared, true);
  job.put(unlocked, {3}, {&third, 1});
  unsigned turns = 0;
  job.end.meanwhile = [&] {
    ++turns;
    if (turns == 1) job.put(peer, {1}, {&first, 1});
    if (turns == 5000) {  // time enough for ghosts to do what they should not
      EXPECT_EQ(job.node.value(0, 0), 0);
      EXPECT_EQ(job.node.value(0, 600), 0);
      target.unlock(LockMode::exclusive);
    }
  };
  job.put(peer, {2}, {&second, 1});
  job.origin.flush(peer);
  EXPECT_GE(turns, 5000U);
  EXPECT_EQ(job.node.value(0, 0), 1);
  EXPECT_EQ(job.node.value(0, 600), 2);
  job.origin.unlock(peer);
  job.origin.settle(peer);
  EXPECT_EQ(target.lock, 0U);
}

// What another thread issues after the flush has begun, and does not send, is not waited for.
TEST(OriginThreads, AFlushWaitsOnlyForWhatWasThere) {
  Job job(1, 2, 8000, 8, false);
  Peer peer = job.node.remote(job.known, 0, false);
  Peer blocked = job.node.remote(job.known, 1, false);
  const Block one{0, 8};
  const Block two{8, 8};
  ASSERT_TRUE(job.node.target(1).try_lock(LockMode::exclusive));
  job.origin.lock(blocked, LockMode::shared, true);
  job.put(blocked, {9}, {&one, 1});
  job.put(peer, {1}, {&one, 1});
  job.in_first_wait([&] { job.put(peer, {2}, {&two, 1}); });
  job.origin.flush(peer);
  ASSERT_TRUE(job.acted);
  EXPECT_EQ(job.node.value(0, 0), 1);
  EXPECT_EQ(job.node.value(0, 1), 0);
  job.node.target(1).unlock(LockMode::exclusive);
  job.origin.unlock(blocked);
  job.origin.flush(peer);
  EXPECT_EQ(job.node.value(0, 1), 2);
}

struct Setup {
  int ghosts;
  Binding binding;
  LockMode mode;
};

class Crowd : public testing::TestWithParam<Setup> {};

constexpr std::size_t crowd_threads = 4;
constexpr std::size_t region = 1024;  // words of each thread; behind them one that all share

// What one thread of the crowd does, and what its region must hold in the end.
class Member {
 public:
  Member(Origin& origin, Peer& remote, Peer& direct, std::mutex& lock, unsigned seed)
      : origin_(origin), peers_{&remote, &direct}, lock_(lock), seed_(seed), random_(seed) {}

  void run() {
    for (int step = 0; step < 150; ++step) {
      std::unique_lock hold(lock_);
      const std::size_t t = below(2);
      Peer& peer = *peers_[t];
      const std::size_t begin = seed_ * region;
      const std::size_t stride = 1 + below(5);
      const std::size_t count = 1 + below((region - 8) / stride);
      std::vector<Block> to;
      std::vector<std::int64_t> words(count);
      for (auto& word : words) word = static_cast<std::int64_t>(random_());
      const std::size_t start = below(region - (count - 1) * stride);
      for (std::size_t i = 0; i < count; ++i) {
        append_block(to, {static_cast<std::int64_t>((begin + start + i * stride) * 8), 8});
      }
      const Block mine{0, count * 8};
      const Local from{reinterpret_cast<std::byte*>(words.data()), {&mine, 1}};
      std::vector<std::int64_t> ones(64, 1);
      const Block own{0, 64 * 8};
      const Block common{static_cast<std::int64_t>(crowd_threads * region * 8), 64 * 8};
      const Local from_ones{reinterpret_cast<std::byte*>(ones.data()), {&own, 1}};
      ASSERT_TRUE(origin_.put(peer, from, to));
      ASSERT_TRUE(origin_.accumulate(peer, from_ones, {&common, 1}, int64_element, op_sum));
      origin_.flush(peer);
      std::vector<std::int64_t> back(count, -1);
      Completion done;
      const Local into{reinterpret_cast<std::byte*>(back.data()), {&mine, 1}};
      ASSERT_TRUE(origin_.get(peer, into, to, &done));
      if (below(2) == 0) {
        // As a program that tests its request does: each test holds the origin by itself.
        for (; done.pending != 0; origin_.progress()) {
          hold.unlock();
          std::this_thread::yield();
          hold.lock();
        }
      } else {
        origin_.flush_local(peer);
      }
      ASSERT_EQ(back, words) << "thread " << seed_ << ", step " << step;
      ++sums[t];
      ASSERT_EQ(done.pending, 0U);
    }
  }
  std::uint64_t sums[2] = {0, 0};

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  Origin& origin_;
  Peer* peers_[2];
  std::mutex& lock_;
  std::size_t seed_;
  std::mt19937 random_;
};

TEST_P(Crowd, EveryThreadFindsItsOwn) {
  const auto& setup = GetParam();
  Network network(5, 3);
  Node node(network, 1, setup.ghosts, 2, (crowd_threads * region + 64) * 8);
  std::mutex lock;
  End end(network, 0, &lock);
  Origin origin(
      {combine, setup.binding, 3000, {static_cast<std::uint32_t>(1 + setup.ghosts), 1, 2}}, end);
  GhostNode known = node.known();
  Peer remote = node.remote(known, 0, setup.binding == Binding::segment);
  Peer direct = node.direct(1);
  origin.lock(remote, setup.mode, true);
  origin.lock(direct, setup.mode, true);
  std::vector<Member> members;
  for (unsigned i = 0; i < crowd_threads; ++i)
    members.emplace_back(origin, remote, direct, lock, i);
  std::vector<std::thread> threads;
  for (Member& member : members) threads.emplace_back([&member] { member.run(); });
  for (std::thread& thread : threads) thread.join();
  const std::lock_guard hold(lock);
  origin.unlock(remote);
  origin.unlock(direct);
  origin.settle(remote);
  std::uint64_t sums[2] = {0, 0};
  for (const Member& member : members) {
    for (int t = 0; t < 2; ++t) sums[t] += member.sums[t];
  }
  for (std::size_t t = 0; t < 2; ++t) {
    for (std::size_t i = 0; i < 64; ++i)
      EXPECT_EQ(node.value(t, crowd_threads * region + i), static_cast<std::int64_t>(sums[t]));
    EXPECT_EQ(node.target(t).lock, 0U);
  }
  EXPECT_FALSE(origin.active());
  EXPECT_EQ(origin.stats().errors, 0U);
}

INSTANTIATE_TEST_SUITE_P(Bindings, Crowd,
                         testing::Values(Setup{1, Binding::rank, LockMode::none},
                                         Setup{1, Binding::rank, LockMode::exclusive},
                                         Setup{3, Binding::segment, LockMode::shared},
                                         Setup{2, Binding::random, LockMode::shared},
                                         Setup{2, Binding::bytes, LockMode::none}),
                         [](const auto& setup) {
                           return std::string(name_of(setup.param.binding)) +
                                  std::to_string(setup.index);
                         });

}  // namespace
}  // namespace hob::ghost
