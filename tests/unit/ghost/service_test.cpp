// Origins and ghosts together, over a simulated network: every operation's effect, locks, order.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
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

struct Setup {
  int ghosts;
  Binding binding;
};

class Service : public testing::TestWithParam<Setup> {
 protected:
  bool segments() const { return GetParam().binding == Binding::segment; }
  Origin::Config config(int origins) const {
    return {combine,
            GetParam().binding,
            32 * 1024,
            {static_cast<std::uint32_t>(origins + GetParam().ghosts)}};
  }
};

// Random puts, gets and accumulates of every shape and size by one origin against a plain array.
TEST_P(Service, OneOriginAgainstAModel) {
  constexpr std::size_t words = 12'000;
  Network network(7, 4);
  Node node(network, 1, GetParam().ghosts, 2, words * 8);
  End end(network, 0);
  Origin origin(config(1), end);
  GhostNode known = node.known();
  std::vector<Peer> peers{node.remote(known, 0, segments()), node.remote(known, 1, segments())};
  std::vector<std::vector<std::int64_t>> model(2, std::vector<std::int64_t>(words, 0));
  std::mt19937 random(11);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int epoch = 0; epoch < 40; ++epoch) {
    const LockMode mode = epoch % 3 == 0 ? LockMode::exclusive : LockMode::shared;
    for (Peer& peer : peers) origin.lock(peer, epoch % 5 == 4 ? LockMode::none : mode, true);
    for (int step = 0; step < 12; ++step) {
      const std::size_t t = below(2);
      Peer& peer = peers[t];
      // Target blocks: one run, regular rows, or irregular ones.
      std::vector<Block> to;
      const std::size_t shape = below(3);
      if (shape == 0) {
        const std::size_t from = below(words);
        const std::size_t count = std::min(words - from, below(step == 0 ? words : 300) + 1);
        to.push_back({static_cast<std::int64_t>(from * 8), count * 8});
      } else {
        const std::size_t rows = below(600) + 1;
        std::size_t at = below(50);
        for (std::size_t r = 0; r < rows && at + 4 < words; ++r) {
          to.push_back({static_cast<std::int64_t>(at * 8), 16});
          at += shape == 1 ? 5 : 3 + below(20);
        }
      }
      const std::size_t count = total_bytes(to) / 8;
      // Program memory: one run or every second word.
      const bool gaps = below(2) == 0;
      std::vector<Block> mine;
      for (std::size_t i = 0; i < count; ++i) {
        append_block(mine, {static_cast<std::int64_t>(i * (gaps ? 16 : 8)), 8});
      }
      std::vector<std::int64_t> buffer(2 * count);
      for (auto& word : buffer) word = static_cast<std::int64_t>(random());
      std::vector<std::int64_t> result(2 * count, -1);
      const auto sent = [&](std::size_t i) { return buffer[gaps ? 2 * i : i]; };
      const auto got = [&](std::size_t i) { return result[gaps ? 2 * i : i]; };
      const Local from{reinterpret_cast<std::byte*>(buffer.data()), mine};
      const Local into{reinterpret_cast<std::byte*>(result.data()), mine};
      std::vector<std::int64_t*> cells;
      for (const Block& block : to) {
        for (std::uint64_t b = 0; b < block.length; b += 8) {
          cells.push_back(&model[t][(static_cast<std::uint64_t>(block.offset) + b) / 8]);
        }
      }
      switch (below(4)) {
        case 0:
          ASSERT_TRUE(origin.put(peer, from, to));
          origin.flush(peer);
          for (std::size_t i = 0; i < count; ++i) *cells[i] = sent(i);
          break;
        case 1:
          ASSERT_TRUE(origin.get(peer, into, to));
          origin.flush_local(peer);
          for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(got(i), *cells[i]);
          break;
        case 2: {
          // Accumulates need no flush between them: same origin, same place, in order.
          ASSERT_TRUE(origin.accumulate(peer, from, to, int64_element, op_sum));
          std::vector<std::int64_t> second(buffer);
          origin.flush_local(peer);
          const Local again{reinterpret_cast<std::byte*>(second.data()), mine};
          ASSERT_TRUE(
              origin.get_accumulate(peer, again, into, to, int64_element, kOperationReplace));
          origin.flush(peer);
          for (std::size_t i = 0; i < count; ++i) {
            ASSERT_EQ(got(i), *cells[i] + sent(i)) << i;
            *cells[i] = sent(i);
          }
          break;
        }
        default: {
          const std::int64_t old = *cells[0];
          const std::int64_t next = 42 + step;
          std::int64_t seen = 0;
          ASSERT_TRUE(origin.compare_and_swap(peer, reinterpret_cast<const std::byte*>(&old),
                                              reinterpret_cast<const std::byte*>(&next),
                                              reinterpret_cast<std::byte*>(&seen), to[0].offset,
                                              8));
          origin.flush(peer);
          ASSERT_EQ(seen, old);
          *cells[0] = next;
        }
      }
    }
    for (Peer& peer : peers) origin.unlock(peer);
  }
  for (std::size_t t = 0; t < 2; ++t) {
    for (std::size_t i = 0; i < words; ++i) ASSERT_EQ(node.value(t, i), model[t][i]);
    EXPECT_EQ(origin.stats().errors, 0U);
    // Every lock given back: an exclusive one is free at once (unlocks need no reply, so wait).
    for (int tries = 0; node.target(t).lock != 0 && tries < 100000; ++tries)
      std::this_thread::yield();
    EXPECT_EQ(node.target(t).lock, 0U);
  }
}

// Read-modify-write under exclusive locks, by remote and direct origins, mixed with accumulates
// under shared locks elsewhere: no update is lost, no reader sees half of a pair.
TEST_P(Service, ExclusionAndAtomicity) {
  constexpr int origins = 4;
  constexpr int rounds = 60;
  Network network(3, 3);
  Node node(network, origins, GetParam().ghosts, 1, 4096);
  std::vector<std::thread> threads;
  std::atomic<int> torn{0};
  for (int me = 0; me < origins; ++me) {
    threads.emplace_back([&, me] {
      End end(network, me);
      Origin origin(config(origins), end);
      GhostNode known = node.known();
      Peer peer = me == 0 ? node.direct(0) : node.remote(known, 0, segments());
      const Block whole{0, 8};
      const Block far{4000, 8};
      for (int i = 0; i < rounds; ++i) {
        origin.lock(peer, LockMode::exclusive, me % 2 == 0);
        std::int64_t low = 0;
        std::int64_t high = 0;
        origin.get(peer, {reinterpret_cast<std::byte*>(&low), {&whole, 1}}, {&whole, 1});
        origin.get(peer, {reinterpret_cast<std::byte*>(&high), {&whole, 1}}, {&far, 1});
        origin.flush(peer);
        if (low != high) ++torn;
        ++low;
        ++high;
        origin.put(peer, {reinterpret_cast<std::byte*>(&low), {&whole, 1}}, {&whole, 1});
        origin.put(peer, {reinterpret_cast<std::byte*>(&high), {&whole, 1}}, {&far, 1});
        origin.unlock(peer);
        origin.lock(peer, LockMode::shared, true);
        std::vector<std::int64_t> ones(100, 1);
        const Block hundred{800, 800};
        const Block own{0, 800};
        origin.accumulate(peer, {reinterpret_cast<std::byte*>(ones.data()), {&own, 1}},
                          {&hundred, 1}, int64_element, op_sum);
        origin.unlock(peer);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(node.value(0, 0), origins * rounds);
  EXPECT_EQ(node.value(0, 500), origins * rounds);
  for (std::size_t i = 100; i < 200; ++i) EXPECT_EQ(node.value(0, i), origins * rounds);
}

INSTANTIATE_TEST_SUITE_P(Bindings, Service,
                         testing::Values(Setup{1, Binding::rank}, Setup{2, Binding::rank},
                                         Setup{3, Binding::segment}, Setup{2, Binding::random},
                                         Setup{3, Binding::operations}, Setup{2, Binding::bytes}),
                         [](const auto& setup) {
                           return std::string(name_of(setup.param.binding)) +
                                  std::to_string(setup.param.ghosts);
                         });

// Small operations travel together: a burst costs far fewer messages than operations, and a put
// with its flush costs one message and one reply.
TEST(Batching, CountsMessages) {
  Network network(1, 0);
  Node node(network, 1, 1, 1, 1 << 16);
  End end(network, 0);
  Origin origin({combine, Binding::rank, 1 << 20, {2}}, end);
  GhostNode known = node.known();
  Peer peer = node.remote(known, 0, false);
  std::int64_t word = 5;
  const Block one{0, 8};
  const Local from{reinterpret_cast<std::byte*>(&word), {&one, 1}};
  origin.put(peer, from, {&one, 1});
  origin.flush(peer);
  EXPECT_EQ(network.sent(), 2U);
  for (int i = 0; i < 1000; ++i) {
    const Block to{8 * i, 8};
    origin.put(peer, from, {&to, 1});
  }
  origin.flush(peer);
  EXPECT_LE(network.sent(), 2U + 2 * 10);
  EXPECT_EQ(origin.stats().redirected, 1001U);
}

// An origin and the two targets of another node, which share one ghost.
struct TwoTargets {
  explicit TwoTargets(std::uint32_t seed) : network(seed, 0) {}

  /// As Origin::put, of `word`.
  bool put(Peer& peer) {
    return origin.put(peer, {reinterpret_cast<std::byte*>(&word), {&one, 1}}, {&one, 1});
  }

  Network network;
  Node node{network, 1, 1, 2, 4096};
  End end{network, 0};
  Origin origin{{combine, Binding::rank, 1 << 20, {2}}, end};
  GhostNode known = node.known();
  Peer first = node.remote(known, 0, false);
  Peer second = node.remote(known, 1, false);
  std::int64_t word = 0;
  const Block one{0, 8};
};

// A message for a target whose lock is not free must hold up nobody else's target.
TEST(Locks, AWaitingTargetHoldsUpNoOther) {
  TwoTargets job(1);
  Node& node = job.node;
  Origin& origin = job.origin;
  Peer& busy = job.first;
  Peer& free = job.second;
  ASSERT_TRUE(node.target(0).try_lock(LockMode::exclusive));
  job.word = 5;
  origin.lock(busy, LockMode::shared, true);
  origin.lock(free, LockMode::exclusive, true);
  job.put(busy);
  job.put(free);
  origin.unlock(free);
  EXPECT_EQ(node.value(1, 0), 5);
  EXPECT_EQ(node.value(0, 0), 0);
  node.target(0).unlock(LockMode::exclusive);
  origin.unlock(busy);
  EXPECT_EQ(node.value(0, 0), 5);
}

// Behind a fence that waited for nobody: nothing reaches a target before its owner's fence, which
// may have overtaken others, and nobody else's target is held up.
TEST(Fences, AnOperationWaitsForItsTargetsOwner) {
  TwoTargets job(3);
  Node& node = job.node;
  Origin& origin = job.origin;
  Peer& late = job.first;
  Peer& early = job.second;
  job.word = 7;
  constexpr std::uint32_t number = 0;  // just wrapped around
  node.target(0).fences = number - 1;
  node.target(1).fences = number + 1;
  origin.enter(late, number);
  origin.enter(early, number);
  job.put(late);
  job.put(early);
  origin.flush(early);
  EXPECT_EQ(node.value(1, 0), 7);
  EXPECT_EQ(node.value(0, 0), 0);
  node.target(0).fences = number;
  origin.flush(late);
  EXPECT_EQ(node.value(0, 0), 7);
  job.word = 8;
  job.put(late);  // it is known to have come
  origin.flush(late);
  EXPECT_EQ(node.value(0, 0), 8);
  origin.leave(late);
  EXPECT_EQ(late.lock, Peer::Lock::none);
  Peer here = node.direct(0);
  origin.enter(here, number);
  EXPECT_TRUE(job.put(here));
}

// An epoch without a lock (MPI_MODE_NOCHECK) completes its operations at its end like any other.
TEST(Locks, AnEpochWithoutLockCompletes) {
  Network network(5, 4);
  Node node(network, 1, 1, 1, 4096);
  End end(network, 0);
  Origin origin({combine, Binding::rank, 1 << 20, {2}}, end);
  GhostNode known = node.known();
  Peer peer = node.remote(known, 0, false);
  const Block one{8, 8};
  const Block mine{0, 8};
  for (std::int64_t i = 1; i <= 20; ++i) {
    origin.lock(peer, LockMode::none, false);
    std::int64_t word = i;
    origin.put(peer, {reinterpret_cast<std::byte*>(&word), {&mine, 1}}, {&one, 1});
    origin.unlock(peer);
    ASSERT_EQ(node.value(0, 1), i);
    origin.lock(peer, LockMode::none, false);
    word = 0;
    origin.get(peer, {reinterpret_cast<std::byte*>(&word), {&mine, 1}}, {&one, 1});
    origin.unlock(peer);
    ASSERT_EQ(word, i);
  }
}

TEST(Bounds, NothingOutsideTheWindowIsTouched) {
  Network network(1, 0);
  Node node(network, 1, 1, 1, 64);
  End end(network, 0);
  Origin origin({combine, Binding::rank, 1 << 20, {2}}, end);
  GhostNode known = node.known();
  Peer far = node.remote(known, 0, false);
  Peer near = node.direct(0);
  std::int64_t word = 5;
  const Block one{0, 8};
  const Local from{reinterpret_cast<std::byte*>(&word), {&one, 1}};
  for (Peer* peer : {&far, &near}) {
    for (const std::int64_t bad : {std::int64_t{-8}, std::int64_t{57}, std::int64_t{64}}) {
      const Block to{bad, 8};
      EXPECT_FALSE(origin.put(*peer, from, {&to, 1}));
    }
  }
  EXPECT_EQ(origin.stats().errors, 6U);
  EXPECT_EQ(network.sent(), 0U);
}

// What a ghost cannot reach: memory of a process that has ended.
TEST(Failures, AnOperationThatAGhostCouldNotCarryOutIsKnownToItsTargetAndRequest) {
  TwoTargets job(1);
  const pid_t ended = ::fork();
  if (ended == 0) ::_exit(0);
  ::waitpid(ended, nullptr, 0);
  job.node.target(0).pid = ended;
  Completion request;
  job.origin.put(job.first, {reinterpret_cast<std::byte*>(&job.word), {&job.one, 1}}, {&job.one, 1},
                 &request);
  EXPECT_TRUE(job.put(job.second));
  job.origin.flush(job.first);
  job.origin.flush(job.second);
  EXPECT_TRUE(job.first.completion.failed);
  EXPECT_TRUE(request.failed);
  EXPECT_FALSE(job.second.completion.failed);
  EXPECT_EQ(job.origin.stats().errors, 1U);
}

TEST(Direct, AccumulatesOfPiecesAndSwapsNeedNoGhost) {
  TwoTargets job(1);
  Peer near = job.node.direct(0);
  std::array<std::int64_t, 4> add{1, 0, 2, 0}, old{7, 7, 7, 7};
  const std::array<Block, 2> pieces{Block{0, 8}, Block{16, 8}};
  const Block two{0, 16};
  const Local from{reinterpret_cast<std::byte*>(add.data()), pieces};
  const Local into{reinterpret_cast<std::byte*>(old.data()), pieces};
  EXPECT_TRUE(job.origin.get_accumulate(near, from, into, {&two, 1}, int64_element, op_sum));
  EXPECT_EQ(job.node.value(0, 0), 1);
  EXPECT_EQ(job.node.value(0, 1), 2);
  EXPECT_EQ(old, (std::array<std::int64_t, 4>{0, 7, 0, 7})) << "what was there, piece by piece";
  const std::int64_t expected = 2, other = 9;
  std::int64_t found = 0;
  const auto bytes = [](const std::int64_t& word) {
    return reinterpret_cast<const std::byte*>(&word);
  };
  EXPECT_TRUE(job.origin.compare_and_swap(near, bytes(expected), bytes(other),
                                          reinterpret_cast<std::byte*>(&found), 8, 8));
  EXPECT_EQ(found, 2);
  EXPECT_EQ(job.node.value(0, 1), 9);
  EXPECT_TRUE(job.origin.compare_and_swap(near, bytes(expected), bytes(other),
                                          reinterpret_cast<std::byte*>(&found), 8, 8));
  EXPECT_EQ(found, 9) << "it was another value: nothing is stored";
  EXPECT_FALSE(job.origin.compare_and_swap(near, nullptr, nullptr, nullptr, 0, 65));
  EXPECT_EQ(job.network.sent(), 0U);
}

// A window over memory that the process allocated itself: its own part is not mapped with the
// header.
TEST(Direct, OwnMemoryBesideTheHeaderIsReachedAsItIs) {
  TwoTargets job(1);
  std::array<std::int64_t, 2> own{4, 5};
  Peer near = job.node.direct(0);
  job.node.target(0).pid = ::getpid();
  job.node.target(0).address = reinterpret_cast<std::uint64_t>(own.data());
  job.node.target(0).size = sizeof own;
  near.size = sizeof own;
  job.word = 6;
  EXPECT_TRUE(job.put(near));
  EXPECT_EQ(own[0], 6);
  const Local word{reinterpret_cast<std::byte*>(&job.word), {&job.one, 1}};
  const Block second{8, 8};
  EXPECT_TRUE(job.origin.accumulate(near, word, {&second, 1}, int64_element, op_sum));
  EXPECT_EQ(own[1], 11);
  EXPECT_TRUE(job.origin.get(near, word, {&second, 1}));
  EXPECT_EQ(job.word, 11);
  EXPECT_EQ(job.origin.stats().through_kernel, 0U);
}

}  // namespace
}  // namespace hob::ghost
