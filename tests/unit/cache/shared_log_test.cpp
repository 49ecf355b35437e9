// The log that processes share: what is found is what was put there, whole, whoever writes, dies or
// sleeps meanwhile.

#include "cache/shared_log.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "cache/block.hpp"
#include "cache/hash.hpp"

namespace hob::cache {
namespace {

/// Memory for a log that forked processes share, too.
class Memory {
 public:
  Memory(std::uint64_t bytes, std::uint32_t writers) : bytes_(bytes), writers_(writers) {
    address_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    SharedLog::format(address_, bytes, writers);
  }
  ~Memory() { munmap(address_, bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::unique_ptr<SharedLog> open(std::uint32_t writer) const {
    return std::make_unique<SharedLog>(address_, bytes_, writers_, writer);
  }

  /// Pages that somebody has touched.
  std::size_t pages() const {
    std::vector<unsigned char> resident(bytes_ / static_cast<std::uint64_t>(getpagesize()));
    mincore(address_, bytes_, resident.data());
    return static_cast<std::size_t>(std::count(resident.begin(), resident.end(), 1));
  }

 private:
  std::uint64_t bytes_;
  std::uint32_t writers_;
  void* address_;
};

/// Bytes that only one record has: of its key and the ticks that go with it.
void paint(std::vector<unsigned char>& bytes, const Key& key, std::uint64_t ticks) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<unsigned char>(mix(key.displacement + key.target, ticks + i / 8) >>
                                          (8 * (i % 8)));
}

bool has(const std::vector<unsigned char>& bytes, const Key& key, std::uint64_t ticks) {
  std::vector<unsigned char> right(bytes.size());
  paint(right, key, ticks);
  return bytes == right;
}

bool put(SharedLog& log, const Key& key, std::size_t bytes, std::uint64_t ticks) {
  std::vector<unsigned char> data(bytes);
  paint(data, key, ticks);
  return log.insert(key, data.data(), bytes, log.now(), ticks);
}

TEST(SharedLog, WhatOnePutsTheOtherFinds) {
  const Memory memory(1 << 16, 2);
  const auto one = memory.open(0), other = memory.open(1);
  std::uint64_t ticks = 0;
  for (std::size_t size = 1; size < 100; ++size) {
    const Key key{3, 1000 * size, 0};
    std::vector<unsigned char> got(size);
    EXPECT_FALSE(other->find(key, size, 0, got.data(), ticks));
    ASSERT_TRUE(put(*one, key, size, 77 + size));
    ASSERT_TRUE(other->find(key, size, 0, got.data(), ticks));
    EXPECT_EQ(ticks, 77 + size);
    EXPECT_TRUE(has(got, key, ticks));
  }
}

// A page that is touched for nothing costs a microsecond, in every process.
TEST(SharedLog, WhatNobodyPutIsMissedWithoutTouchingTheIndex) {
  const Memory memory(64 << 20, 2);
  const auto one = memory.open(0), other = memory.open(1);
  for (std::uint64_t k = 0; k < 10; ++k) ASSERT_TRUE(put(*one, {1, k, 0}, 8, k));
  std::uint64_t ticks = 0, value = 0;
  for (std::uint64_t k = 0; k < 10000; ++k)
    EXPECT_FALSE(other->find({2, 64 * k, 0}, 8, 0, &value, ticks));
  // The head, 64 KiB of summary, the first page of the ring, and a few of the index, which has
  // 1024.
  EXPECT_LT(memory.pages(), 40);
  for (std::uint64_t k = 0; k < 10; ++k) EXPECT_TRUE(other->find({1, k, 0}, 8, 0, &value, ticks));
}

TEST(SharedLog, APrefixIsFoundAndNothingElse) {
  const Memory memory(1 << 16, 2);
  const auto log = memory.open(0);
  const Key key{3, 4096, 0};
  ASSERT_TRUE(put(*log, key, 100, 5));
  std::uint64_t ticks = 0;
  std::vector<unsigned char> got(33);
  ASSERT_TRUE(log->find(key, got.size(), 0, got.data(), ticks));
  EXPECT_TRUE(has(got, key, 5));
  got.resize(101);
  EXPECT_FALSE(log->find(key, 101, 0, got.data(), ticks));
  EXPECT_FALSE(log->find({2, 4096, 0}, 1, 0, got.data(), ticks));
  EXPECT_FALSE(log->find({3, 4097, 0}, 1, 0, got.data(), ticks));
}

TEST(SharedLog, BlocksServeWhatLiesInThemAndBetweenThem) {
  const Memory memory(1 << 18, 2);
  const auto one = memory.open(0), other = memory.open(1);
  std::vector<unsigned char> target(8192), got(4096);
  for (std::size_t i = 0; i < target.size(); ++i)
    target[i] = static_cast<unsigned char>(mix(i / 8, 5) >> (8 * (i % 8)));
  const auto put_block = [&](std::uint64_t begin, std::uint64_t end, std::uint32_t shift,
                             std::uint64_t ticks) {
    ASSERT_TRUE(one->insert({3, begin, block_layout(shift)}, target.data() + begin, end - begin,
                            one->now(), ticks));
  };
  const auto finds = [&](std::uint64_t at, std::uint64_t bytes, std::uint64_t floor = 0) {
    std::uint64_t ticks = 0;
    std::fill(got.begin(), got.end(), 0xee);
    if (!other->find_in_blocks(3, at, bytes, floor, got.data(), ticks)) return std::uint64_t{0};
    EXPECT_EQ(std::memcmp(got.data(), target.data() + at, bytes), 0) << at << " " << bytes;
    EXPECT_EQ(got[bytes], 0xee) << "beyond its end";
    return ticks;
  };
  EXPECT_EQ(finds(0, 8), 0u);
  put_block(1024, 2048, 10, 7);
  put_block(2048, 2999, 10, 9);  // the exposed memory ends there
  for (std::uint64_t at = 1024; at < 2048; at += 13)
    for (const std::uint64_t bytes : {1, 3, 8, 17, 64}) EXPECT_EQ(finds(at, bytes), 7u) << at;
  EXPECT_EQ(finds(2048, 951), 9u);
  EXPECT_EQ(finds(2048, 952), 0u) << "beyond what was fetched";
  EXPECT_EQ(finds(1023, 8), 0u) << "its first byte is in no block";
  EXPECT_EQ(finds(1025, 1974), 7u) << "the older of two";
  std::uint64_t ticks = 0;
  EXPECT_FALSE(other->find_in_blocks(4, 1024, 8, 0, got.data(), ticks)) << "another target";
  EXPECT_FALSE(other->find({3, 1032, 0}, 8, 0, got.data(), ticks)) << "no record begins there";

  put_block(4096, 8192, 12, 11);
  EXPECT_EQ(finds(5000, 100), 11u) << "blocks of another size";
  EXPECT_EQ(finds(1500, 100), 7u);
  // After the clock has moved on, blocks fetched before it are not true, and one of two is not
  // enough.
  const std::uint64_t floor = other->advance();
  EXPECT_EQ(finds(1500, 100, floor), 0u);
  put_block(1024, 2048, 10, 20);
  EXPECT_EQ(finds(1500, 100, floor), 20u);
  EXPECT_EQ(finds(2000, 100, floor), 0u) << "the second block is too old";
}

TEST(SharedLog, NothingIssuedBeforeTheFloor) {
  const Memory memory(1 << 16, 2);
  const auto writer = memory.open(0), reader = memory.open(1);
  const Key key{0, 64, 0};
  std::uint64_t ticks = 0;
  std::vector<unsigned char> got(8);
  const std::uint64_t before = writer->now();
  const std::uint64_t floor = reader->advance();
  EXPECT_GT(floor, before);
  std::vector<unsigned char> data(8);
  paint(data, key, 1);
  ASSERT_TRUE(writer->insert(key, data.data(), 8, before, 1));
  EXPECT_FALSE(reader->find(key, 8, floor, got.data(), ticks));
  EXPECT_TRUE(reader->find(key, 8, before, got.data(), ticks));
  EXPECT_EQ(writer->now(), floor);
  ASSERT_TRUE(put(*writer, key, 8, 2));
  ASSERT_TRUE(reader->find(key, 8, floor, got.data(), ticks));
  EXPECT_EQ(ticks, 2u);
}

TEST(SharedLog, TheOldestAreLostAndTheYoungestAreNot) {
  const Memory memory(1 << 15, 2);
  const auto log = memory.open(0);
  std::uint64_t ticks = 0;
  constexpr std::size_t kBytes = 200;  // 248 with its header
  const std::uint64_t fit = log->capacity() / 248;
  std::vector<unsigned char> got(kBytes);
  for (std::uint64_t i = 0; i < 20 * fit; ++i) {
    const Key key{1, i * kBytes, 0};
    ASSERT_TRUE(put(*log, key, kBytes, i));
    ASSERT_TRUE(log->find(key, kBytes, 0, got.data(), ticks));
    ASSERT_TRUE(has(got, key, i));
    if (i > fit) {
      EXPECT_FALSE(log->find({1, (i - fit - 1) * kBytes, 0}, kBytes, 0, got.data(), ticks));
    }
  }
  // The index loses few of what the log still holds.
  std::uint64_t found = 0;
  for (std::uint64_t i = 19 * fit + 1; i < 20 * fit; ++i)
    if (log->find({1, i * kBytes, 0}, kBytes, 0, got.data(), ticks)) {
      EXPECT_TRUE(has(got, {1, i * kBytes, 0}, i));
      ++found;
    }
  EXPECT_GT(found, fit * 9 / 10);
}

TEST(SharedLog, ANewRecordReplacesTheOldOneOfItsKey) {
  const Memory memory(1 << 16, 1);
  const auto log = memory.open(0);
  const Key key{1, 8, 0};
  std::uint64_t ticks = 0;
  std::vector<unsigned char> got(16);
  for (std::uint64_t i = 1; i < 50; ++i) {
    ASSERT_TRUE(put(*log, key, 16, i));
    ASSERT_TRUE(log->find(key, 16, 0, got.data(), ticks));
    EXPECT_EQ(ticks, i);
  }
}

TEST(SharedLog, WhatIsTooLargeIsRefused) {
  const Memory memory(1 << 14, 1);
  const auto log = memory.open(0);
  EXPECT_FALSE(put(*log, {1, 0, 0}, log->capacity(), 1));
  EXPECT_FALSE(put(*log, {1, 0, 0}, log->capacity() / 8, 1));
  EXPECT_TRUE(put(*log, {1, 0, 0}, log->capacity() / 8 - 48, 1));
  std::vector<unsigned char> got(2 * log->capacity());
  std::uint64_t ticks = 0;
  EXPECT_FALSE(log->find({1, 0, 0}, got.size(), 0, got.data(), ticks));
  EXPECT_FALSE(SharedLog::fits(1024, 64));
  EXPECT_TRUE(SharedLog::fits(1 << 14, 1));
}

/// A writer that sleeps between taking its room and filling it writes where a later one would like
/// to: the later one gives way, and nothing that is found is mixed of both.
TEST(SharedLog, ASleepingWriterIsNotOvertaken) {
  const Memory memory(1 << 14, 2);
  const auto sleeper = memory.open(0), other = memory.open(1);
  constexpr std::size_t kBytes = 100;
  const Key slow{7, 0, 0};
  std::vector<unsigned char> data(kBytes), got(kBytes);
  paint(data, slow, 1);
  const SharedLog::Room room = sleeper->claim(kBytes);
  ASSERT_TRUE(room);
  const std::uint64_t fit = other->capacity() / 152;
  std::uint64_t kept = 0, ticks = 0;
  for (std::uint64_t i = 0; i < 3 * fit; ++i) kept += put(*other, {1, i * kBytes, 0}, kBytes, i);
  EXPECT_GE(kept, fit - 2);
  EXPECT_LE(kept, fit);
  sleeper->commit(room, slow, data.data(), kBytes, sleeper->now(), 1);
  EXPECT_FALSE(other->find(slow, kBytes, 0, got.data(), ticks)) << "overtaken long ago";
  for (std::uint64_t i = 0; i < 3 * fit; ++i)
    if (other->find({1, i * kBytes, 0}, kBytes, 0, got.data(), ticks)) {
      EXPECT_TRUE(has(got, {1, i * kBytes, 0}, ticks));
    }
  // Awake again, it is in nobody's way.
  ASSERT_TRUE(put(*other, {1, 5, 0}, kBytes, 9));
  ASSERT_TRUE(sleeper->find({1, 5, 0}, kBytes, 0, got.data(), ticks));
  EXPECT_TRUE(has(got, {1, 5, 0}, 9));
}

/// A page that cannot be written at first, and what happens when somebody tries.
struct Trap {
  SharedLog* other = nullptr;
  unsigned char* page = nullptr;
  std::size_t length = 0;
  std::uint64_t rounds = 0;
};
Trap trap;

void sprung(int, siginfo_t*, void*) {
  static const unsigned char noise[200] = {};
  const std::uint64_t records = trap.rounds * trap.other->capacity() / sizeof noise;
  for (std::uint64_t i = 0; i < records; ++i)
    trap.other->insert({9, 8 * i, 0}, noise, sizeof noise, trap.other->now(), 0);
  mprotect(trap.page, trap.length, PROT_READ | PROT_WRITE);
}

/// The log goes round while a reader is in the middle of its copy: it notices.
TEST(SharedLog, ASleepingReaderNotices) {
  const Memory memory(1 << 14, 2);
  const auto reader = memory.open(0), writer = memory.open(1);
  trap.length = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* pages = static_cast<unsigned char*>(
      mmap(nullptr, 2 * trap.length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  trap.page = pages + trap.length;
  trap.other = writer.get();
  struct sigaction action {
  }, before{};
  action.sa_sigaction = sprung;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGSEGV, &action, &before), 0);
  constexpr std::size_t kBytes = 800;
  unsigned char* to = trap.page - kBytes / 2;
  const Key key{1, 64, 0};
  for (trap.rounds = 0; trap.rounds < 3; ++trap.rounds) {
    ASSERT_TRUE(put(*writer, key, kBytes, 1));
    ASSERT_EQ(mprotect(trap.page, trap.length, PROT_NONE), 0);
    std::uint64_t ticks = 0;
    EXPECT_EQ(reader->find(key, kBytes, 0, to, ticks), trap.rounds == 0);
    if (trap.rounds == 0) {
      EXPECT_TRUE(has({to, to + kBytes}, key, 1));
    } else {
      EXPECT_FALSE(has({to, to + kBytes}, key, 1)) << "the trap was not sprung";
    }
  }
  sigaction(SIGSEGV, &before, nullptr);
  munmap(pages, 2 * trap.length);
}

/// Inserts and finds at random; returns how many were found, ~0 if one of them was wrong.
std::uint64_t hammer(SharedLog& log, std::uint64_t seed, std::uint64_t rounds, bool sleepy) {
  Random random(seed);
  std::vector<unsigned char> data;
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const Key key{static_cast<std::uint32_t>(random.below(3)), 8 * random.below(40), 0};
    data.resize(1 + random.below(2400));
    if (random.below(2) == 0) {
      const std::uint64_t ticks = seed << 32 | i;
      paint(data, key, ticks);
      if (const auto room = log.claim(data.size())) {
        if (sleepy && random.below(64) == 0) std::this_thread::yield();
        log.commit(room, key, data.data(), data.size(), log.now(), ticks);
      }
      continue;
    }
    std::uint64_t ticks = 0;
    const std::uint64_t floor = random.below(16) == 0 ? log.advance() : 0;
    if (!log.find(key, data.size(), floor, data.data(), ticks)) continue;
    if (!has(data, key, ticks)) return ~std::uint64_t{0};
    ++found;
  }
  return found;
}

TEST(SharedLog, ThreadsFindOnlyWholeRecords) {
  constexpr std::uint32_t kThreads = 4;
  // So small that it goes round all the time.
  for (const std::uint64_t bytes : {std::uint64_t{24} << 10, std::uint64_t{400} << 10}) {
    const Memory memory(bytes, kThreads);
    std::atomic<std::uint64_t> least{~std::uint64_t{0}}, wrong{0};
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        const auto log = memory.open(t);
        const std::uint64_t found = hammer(*log, t + 1, 60000, true);
        if (found == ~std::uint64_t{0}) ++wrong;
        std::uint64_t before = least;
        while (found < before && !least.compare_exchange_weak(before, found)) {
        }
      });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(least, 0u);
  }
}

TEST(SharedLog, ProcessesDoToo_AndOneMayBeKilled) {
  constexpr std::uint32_t kProcesses = 3;
  const Memory memory(std::uint64_t{24} << 10, kProcesses + 1);
  for (int round = 0; round < 4; ++round) {
    std::vector<pid_t> children;
    for (std::uint32_t p = 0; p <= kProcesses; ++p) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        const auto log = memory.open(p);
        if (p == kProcesses)
          for (;;) hammer(*log, 100, 1000, false);
        _exit(hammer(*log, p + 1, 60000, true) == ~std::uint64_t{0} ? 1 : 0);
      }
      children.push_back(child);
    }
    usleep(5000);
    kill(children.back(), SIGKILL);
    for (std::uint32_t p = 0; p <= kProcesses; ++p) {
      int status = 0;
      ASSERT_EQ(waitpid(children[p], &status, 0), children[p]);
      if (p < kProcesses) {
        EXPECT_TRUE(WIFEXITED(status));
        EXPECT_EQ(WEXITSTATUS(status), 0);
      }
    }
  }
}

}  // namespace
}  // namespace hob::cache
