#include "cache/readahead.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "cache/block.hpp"
#include "cache/block_fetch.hpp"
#include "cache/cache.hpp"
#include "cache/miss_shadow.hpp"

namespace hob::cache {
namespace {

constexpr std::uint64_t kKilo = 1024;
constexpr std::uint64_t kMega = kKilo * kKilo;

Config fixed(std::uint64_t bytes, Policy policy = Policy::standard) {
  Config config;
  config.policy = policy;
  config.index_slots = 4096;
  config.storage_bytes = bytes;
  config.adaptation.enabled = false;
  return config;
}

/// A cache with readahead over a target of `exposed` bytes whose byte i is i % 251.
class World {
 public:
  World(std::uint64_t exposed, std::uint64_t storage, Readahead::Config config = {})
      : World(exposed, fixed(storage), config) {}
  World(std::uint64_t exposed, const Config& cache, Readahead::Config config = {})
      : exposed_(exposed), cache_(Cache::create(cache)), ahead_(config) {}

  void get(std::uint64_t displacement, std::uint64_t size) {
    const bool watched = ahead_.recording();
    answer(displacement, size);
    if (watched) ahead_.on_get(1, displacement, size);
  }

  void answer(std::uint64_t displacement, std::uint64_t size) {
    const Key key{1, displacement, 0};
    const Lookup found = cache_->find(key, size);
    if (found.kind == Hit::full) {
      for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(found.data[i], byte_at(displacement + i));
      return;
    }
    if (found.kind == Hit::split && found.available == size) return;
    ++trips_;
    ahead_.on_hits(cache_->stats().ahead_hits);
    if (const auto plan = ahead_.on_miss(
            1, displacement, size, exposed_,
            readable_ ? readable_(displacement, size) : Readahead::Range{0, exposed_},
            cache_->storage_bytes(), cache_->most_storage_bytes())) {
      EXPECT_LE(plan.begin, displacement);
      EXPECT_GE(plan.end, displacement + size);
      EXPECT_LE(plan.end, exposed_);
      least_added_ = std::min(least_added_, plan.end - plan.begin - size);
      if (readable_) {
        EXPECT_GE(plan.begin, readable_(displacement, size).begin);
        EXPECT_LE(plan.end, readable_(displacement, size).end);
      }
      const BlockFetch fetch = reserve_blocks(*cache_, plan, key, size, 0);
      if (fetch.count != 0) {
        for (std::uint32_t k = 0; k < fetch.count; ++k)
          fill(fetch.entries[k], fetch.begin_of(k), fetch.bytes_of(k));
        ahead_.on_trip(fetch.bytes(), size);
        bytes_ += fetch.bytes();
        longest_ = std::max(longest_, fetch.bytes());
        return;
      }
    }
    ahead_.on_trip(size, size);
    bytes_ += size;
    fill(cache_->reserve(key, size).entry, displacement, size);
  }

  std::uint64_t take_trips() { return std::exchange(trips_, 0); }
  std::uint64_t take_bytes() { return std::exchange(bytes_, 0); }
  /// Bytes that a plan had beyond what was asked for, at least.
  std::uint64_t least_added() const { return least_added_; }
  std::uint64_t longest_trip() const { return longest_; }  ///< bytes, of those for blocks
  /// Which bytes may be read because of a get; else all that is exposed.
  void only_readable(std::function<Readahead::Range(std::uint64_t, std::uint64_t)> around) {
    readable_ = std::move(around);
  }
  Cache& cache() { return *cache_; }
  Readahead& ahead() { return ahead_; }
  void drop(std::uint64_t displacement, std::uint64_t bytes) {
    cache_->drop_range(1, displacement, bytes);
    ahead_.on_drop(1, displacement, bytes);
  }
  void drop_all() {
    cache_->drop_all();
    ahead_.on_drop();
  }

 private:
  static std::byte byte_at(std::uint64_t i) { return static_cast<std::byte>(i % 251); }
  void fill(EntryId entry, std::uint64_t displacement, std::uint64_t size) {
    if (!entry) return;
    std::vector<std::byte> bytes(size);
    for (std::uint64_t i = 0; i < size; ++i) bytes[i] = byte_at(displacement + i);
    EXPECT_TRUE(cache_->fill(entry, bytes.data(), size));
  }

  std::uint64_t exposed_;
  std::function<Readahead::Range(std::uint64_t, std::uint64_t)> readable_;
  std::unique_ptr<Cache> cache_;
  Readahead ahead_;
  std::uint64_t trips_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t longest_ = 0;
  std::uint64_t least_added_ = ~std::uint64_t{0};
};

TEST(Block, PartsAreSixtyFourths) {
  EXPECT_EQ(block_parts(8, 0, 1), 1u);
  EXPECT_EQ(block_parts(8, 3, 2), 3u);
  EXPECT_EQ(block_parts(8, 252, 4), std::uint64_t{1} << 63);
  EXPECT_EQ(block_parts(20, 0, kMega), ~std::uint64_t{0});
  EXPECT_EQ(bytes_of_parts(16, 7), 3 * kKilo);
  for (std::uint32_t shift = kMinBlockShift; shift <= kMaxBlockShift; ++shift) {
    EXPECT_TRUE(is_block(block_layout(shift)));
    EXPECT_EQ(block_shift(block_layout(shift)), shift);
  }
  EXPECT_FALSE(is_block(0));
  EXPECT_FALSE(is_block(std::uint64_t{1} << 40));
}

/// Which of MissShadow's sizes this is.
constexpr std::size_t size_of(std::uint64_t bytes) {
  std::size_t i = 0;
  while (std::uint64_t{1} << MissShadow::kShifts[i] != bytes) ++i;
  return i;
}
constexpr std::size_t k256B = size_of(256), k1KiB = size_of(kKilo), k16KiB = size_of(16 * kKilo);

TEST(MissShadow, RemembersAsManyBlocksAsFit) {
  MissShadow shadow;
  ASSERT_TRUE(shadow.set_capacity(8 * kKilo, 64, MissShadow::kMost));
  EXPECT_FALSE(shadow.note(k1KiB, 1, 5).here);
  EXPECT_TRUE(shadow.note(k1KiB, 1, 5).here);
  EXPECT_FALSE(shadow.note(k1KiB, 2, 5).here) << "another target";
  EXPECT_FALSE(shadow.note(k16KiB, 1, 5).here) << "a block of 16 KiB does not fit";
  EXPECT_FALSE(shadow.note(k16KiB, 1, 5).here);
  for (std::uint64_t n = 100; n < 200; ++n) shadow.note(k1KiB, 1, n);
  EXPECT_FALSE(shadow.note(k1KiB, 1, 5).here) << "long gone";
  shadow.forget();
  EXPECT_FALSE(shadow.note(k1KiB, 1, 5).here);
  EXPECT_FALSE(shadow.note(k256B, 1, 20).here);
  shadow.forget(1, 5 * kKilo + 100, 8);  // the 1 KiB block 5, the 256 B block 20
  EXPECT_FALSE(shadow.note(k1KiB, 1, 5).here);
  EXPECT_FALSE(shadow.note(k256B, 1, 20).here);
  EXPECT_TRUE(shadow.note(k256B, 1, 20).here);
}

// A small storage, of which the blocks are few: all of it counts.
/// Storage of any size can be asked for (HOB_CACHE_SIZE=100T).
TEST(MissShadow, StandsForStorageOfAnySize) {
  for (const std::uint64_t storage :
       {std::uint64_t{64}, std::uint64_t{100} << 40, std::uint64_t{1} << 63, ~std::uint64_t{0}})
    for (const std::uint64_t most : {MissShadow::kFew, MissShadow::kMost})
      for (const std::uint64_t get : {std::uint64_t{0}, std::uint64_t{1} << 40}) {
        MissShadow shadow;
        EXPECT_TRUE(shadow.set_capacity(storage, get, most)) << storage;
      }
}

TEST(MissShadow, FindsAllOfWhatJustFits) {
  for (const std::uint64_t blocks : {1, 2, 3, 7, 15, 100, 500, 1000}) {
    MissShadow shadow;
    ASSERT_TRUE(shadow.set_capacity(blocks * kKilo + 100, 64, MissShadow::kMost));
    for (std::uint64_t n = 0; n < blocks; ++n) shadow.note(k1KiB, 1, n);
    for (std::uint64_t n = 0; n < blocks; ++n) EXPECT_TRUE(shadow.note(k1KiB, 1, n).here) << blocks;
  }
  MissShadow shadow;
  ASSERT_TRUE(shadow.set_capacity(64 * kKilo, 64, MissShadow::kMost));
  std::uint32_t here = 0;
  for (int round = 0; round < 10; ++round)
    for (std::uint64_t n = 0; n < 1020; ++n) here += shadow.note(0, 1, n).here ? 1 : 0;
  EXPECT_EQ(here, 9 * 1020u) << "1,024 fit";
}

// The record forgets in the time that it took to record, and nothing but what it is told to.
TEST(MissShadow, ForgetsExactly) {
  std::mt19937_64 random(7);
  MissShadow shadow;
  ASSERT_TRUE(shadow.set_capacity(200 * kKilo, 64, MissShadow::kMost));
  for (int round = 0; round < 50; ++round) {
    std::vector<bool> here(190);
    for (int step = 0; step < 1000; ++step) {
      const std::uint64_t n = random() % here.size();
      if (random() % 3 != 0) {
        EXPECT_EQ(shadow.note(k1KiB, 1, n).here, here[n]);
        here[n] = true;
      } else {
        shadow.forget(1, n * kKilo, kKilo);
        here[n] = false;
      }
    }
    shadow.forget();
    for (std::uint64_t n = 0; n < here.size(); ++n) EXPECT_FALSE(shadow.note(k1KiB, 1, n).here);
    shadow.forget();
  }
}

TEST(MissShadow, FindsSomeOfALoopOverMoreThanFits) {
  MissShadow shadow;
  ASSERT_TRUE(shadow.set_capacity(64 * kKilo, 64, MissShadow::kMost));
  std::uint32_t here = 0;
  for (int round = 0; round < 10; ++round)
    for (std::uint64_t n = 0; n < 2000; ++n) here += shadow.note(0, 1, n).here ? 1 : 0;
  EXPECT_GT(here, 4000u) << "of 20,000; a queue in order of use finds none";
  EXPECT_LT(here, 10000u) << "1,024 of 2,000 fit";
}

TEST(MissShadow, ASampleStandsForWhatIsNotRecorded) {
  MissShadow shadow;
  ASSERT_TRUE(shadow.set_capacity(kMega, 64, 512));  // of 16,384 gets that would fit
  std::uint64_t seen = 0;
  std::uint64_t missing = 0;
  constexpr std::uint64_t gets = 8000;
  for (int round = 0; round < 3; ++round) {
    seen = missing = 0;
    for (std::uint64_t n = 0; n < gets; ++n) {
      const MissShadow::Sight sight = shadow.note(0, 1, 64 * n);
      seen += sight.stands_for;
      missing += sight.missing();
    }
  }
  EXPECT_NEAR(static_cast<double>(seen), gets, gets / 4.0);
  EXPECT_LT(missing, gets / 4) << "all of them fit";
}

TEST(Blocks, ServeWhatLiesInThemAndBetweenThem) {
  const auto cache = Cache::create(fixed(kMega));
  std::vector<std::byte> bytes(3 * kKilo);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 251);
  const Readahead::Plan plan{0, 2500, 10};  // the exposed memory ends at 2500
  cache->find({1, 900, 0}, 50);
  const BlockFetch fetch = reserve_blocks(*cache, plan, {1, 900, 0}, 50, 7);
  ASSERT_EQ(fetch.count, 3u);
  EXPECT_EQ(fetch.bytes_of(2), 2500u - 2 * kKilo);
  const Lookup pending = cache->find({1, 1000, 0}, 10);
  EXPECT_EQ(pending.kind, Hit::pending_full);
  EXPECT_EQ(pending.cookie, 7u);
  EXPECT_EQ(cache->find({1, 1000, 0}, 100).kind, Hit::split);
  for (std::uint32_t k = 0; k < 3; ++k)
    ASSERT_TRUE(
        cache->fill(fetch.entries[k], bytes.data() + fetch.begin_of(k), fetch.bytes_of(k), 0, 11));
  const Lookup asked = cache->find({1, 900, 0}, 50);
  EXPECT_EQ(asked.kind, Hit::full);
  EXPECT_EQ(asked.block, 10u);
  EXPECT_FALSE(asked.first) << "it was fetched for these bytes";
  EXPECT_EQ(asked.fetched, 11u);
  EXPECT_EQ(std::memcmp(asked.data, bytes.data() + 900, 50), 0);
  const Lookup first = cache->find({1, 100, 0}, 8);
  EXPECT_TRUE(first.first);
  EXPECT_FALSE(cache->find({1, 100, 0}, 8).first);
  const Lookup between = cache->find({1, 2000, 0}, 200);
  ASSERT_EQ(between.kind, Hit::split);
  EXPECT_EQ(between.available, 200u);
  std::uint64_t at = 2000;
  for (const Fragment& fragment : cache->fragments({1, 2000, 0}, 200)) {
    ASSERT_NE(fragment.data, nullptr);
    EXPECT_EQ(std::memcmp(fragment.data, bytes.data() + at, fragment.bytes), 0);
    at += fragment.bytes;
  }
  EXPECT_EQ(at, 2200u);
  EXPECT_EQ(cache->find({1, 2450, 0}, 50).kind, Hit::full);
  EXPECT_EQ(cache->find({1, 2450, 0}, 51).kind, Hit::missing) << "beyond what was fetched";
  EXPECT_EQ(cache->find({2, 100, 0}, 8).kind, Hit::missing) << "another target";
  cache->drop_range(1, 1500, 1);
  EXPECT_EQ(cache->find({1, 1400, 0}, 8).kind, Hit::missing);
  EXPECT_EQ(cache->find({1, 100, 0}, 8).kind, Hit::full);
  const Lookup half = cache->find({1, 1000, 0}, 100);
  ASSERT_EQ(half.kind, Hit::split);
  EXPECT_EQ(half.available, 0u);
  const auto parts = cache->fragments({1, 1000, 0}, 100);
  EXPECT_NE(parts[0].data, nullptr);
  EXPECT_FALSE(parts[1].entry);
  cache->drop_all();
  EXPECT_EQ(cache->find({1, 100, 0}, 8).kind, Hit::missing);
}

TEST(Blocks, TellWhichBytesTheyHaveOrWillBring) {
  const auto cache = Cache::create(fixed(kMega));
  EXPECT_FALSE(cache->in_blocks(1, 900, 50));
  const Readahead::Plan plan{0, 2500, 10};  // the exposed memory ends at 2500
  ASSERT_EQ(reserve_blocks(*cache, plan, {1, 900, 0}, 50, 7).count, 3u);
  EXPECT_TRUE(cache->in_blocks(1, 900, 50));
  EXPECT_TRUE(cache->in_blocks(1, 1000, 100)) << "in two of them";
  EXPECT_TRUE(cache->in_blocks(1, 2400, 100));
  EXPECT_FALSE(cache->in_blocks(1, 2400, 101));
  EXPECT_FALSE(cache->in_blocks(1, 0, 2500)) << "in more than two";
  EXPECT_FALSE(cache->in_blocks(2, 900, 50));
  EXPECT_FALSE(cache->in_blocks(1, 4096, 8));
  EXPECT_FALSE(cache->in_blocks(1, 900, 0));
  EXPECT_EQ(cache->stats().gets, 0u);
}

TEST(Blocks, SpeculativeBytesAreCounted) {
  World world(kMega, kMega, {.fixed_bytes = 4 * kKilo});
  world.get(0, 64);
  EXPECT_EQ(world.cache().stats().ahead_bytes, 4 * kKilo - 64);
  world.get(64, 64);
  world.get(64, 64);
  EXPECT_EQ(world.cache().stats().ahead_hits, 1u);
  EXPECT_EQ(world.cache().stats().ahead_used_bytes, 64u);
  EXPECT_EQ(world.take_trips(), 1u);
}

TEST(Blocks, HitsInARowAreHitsOnTheSameBytes) {
  World world(kMega, kMega, {.fixed_bytes = 4 * kKilo});
  world.get(0, 64);
  EXPECT_EQ(world.cache().find({1, 0, 0}, 8).consecutive, 1u);
  EXPECT_EQ(world.cache().find({1, 0, 0}, 8).consecutive, 2u);
  EXPECT_EQ(world.cache().find({1, 8, 0}, 8).consecutive, 1u) << "nobody polls a stream";
}

TEST(Blocks, APartOfABlockFetchedAgainLeavesItsAge) {
  World world(kMega, kMega, {.fixed_bytes = 4 * kKilo});
  world.get(0, 64);
  const Lookup found = world.cache().find({1, 0, 0}, 8);
  const std::vector<std::byte> changed(8, std::byte{77});
  EXPECT_TRUE(world.cache().refresh(found.entry, changed.data(), 8, 0, 99));
  EXPECT_EQ(world.cache().find({1, 0, 0}, 8).fetched, found.fetched);
}

TEST(Readahead, RecordsNoLongerWhileHitsAreNotItsOwnToJudge) {
  World world(kMega, 64 * kKilo);
  for (std::uint64_t i = 0; i < 4096 && !world.ahead().recording(); ++i)
    world.get(i * 5003 % (kMega - 8), 8);
  ASSERT_TRUE(world.ahead().recording());
  for (std::uint64_t i = 0; i < 100; ++i) world.ahead().on_other_hit(1, 64 * i);
  EXPECT_FALSE(world.ahead().recording());
}

TEST(Readahead, FixedBlocksNeverLeaveTheExposedMemory) {
  std::mt19937_64 random(3);
  for (const std::uint64_t exposed : {std::uint64_t{100}, std::uint64_t{4096}, 10 * kKilo + 7}) {
    World world(exposed, kMega, {.fixed_bytes = 4 * kKilo});
    for (int i = 0; i < 500; ++i) {
      const std::uint64_t at = random() % exposed;
      world.get(at, 1 + random() % std::min<std::uint64_t>(exposed - at, 200));
    }
    EXPECT_LE(world.take_trips(), 1 + exposed / (4 * kKilo));
  }
  Readahead ahead({.fixed_bytes = 4 * kKilo});
  EXPECT_FALSE(ahead.on_miss(1, 4090, 10, 4096, {0, 4096}, kMega, kMega))
      << "beyond the end: not ours to judge";
  EXPECT_FALSE(ahead.on_miss(1, 0, 10, 0, {}, kMega, kMega)) << "no size is known";
}

/// Where only the pages of a get may be read, and the memory begins `phase` bytes into a page.
auto pages_from(std::uint64_t phase, std::uint64_t exposed) {
  return [=](std::uint64_t displacement, std::uint64_t size) {
    const std::uint64_t page = 4 * kKilo;
    const std::uint64_t first = (displacement + phase) / page * page;
    const std::uint64_t end = ((displacement + size - 1 + phase) / page + 1) * page;
    return Readahead::Range{first > phase ? first - phase : 0, std::min(end - phase, exposed)};
  };
}

TEST(Readahead, BlocksStayInThePagesOfTheGet) {
  std::mt19937_64 random(7);
  constexpr std::uint64_t exposed = 100 * kKilo + 7;
  for (const std::uint64_t phase : {std::uint64_t{0}, std::uint64_t{16}, 2 * kKilo, 4 * kKilo - 8})
    for (const std::uint64_t block : {kKilo / 2, 4 * kKilo, 64 * kKilo}) {
      World world(exposed, kMega, {.fixed_bytes = block});
      world.only_readable(pages_from(phase, exposed));
      for (int i = 0; i < 2000; ++i) {
        const std::uint64_t at = random() % exposed;
        world.get(at, 1 + random() % std::min<std::uint64_t>(exposed - at, 200));
      }
      EXPECT_GT(world.longest_trip(), 0u) << "phase " << phase;
      EXPECT_LE(world.longest_trip(), 8 * kKilo);
    }
}

TEST(Readahead, WholePagesAreOneBlock) {
  constexpr std::uint64_t exposed = 100 * kKilo;
  World world(exposed, kMega, {.fixed_bytes = 64 * kKilo});
  world.only_readable(pages_from(0, exposed));
  for (std::uint64_t at = 0; at < exposed; at += 64) world.get(at, 64);
  EXPECT_EQ(world.take_trips(), 25u);
  EXPECT_EQ(world.longest_trip(), 4 * kKilo);
}

/// A block that the get fills would be copied once more and spare nothing.
TEST(Readahead, BlocksAddToWhatIsAskedFor) {
  World world(64 * kMega, 4 * kMega);
  std::mt19937 random(1);
  for (int i = 0; i < 4000; ++i) world.get(random() % (2 * kMega) / 64 * 64, 64);
  ASSERT_NE(world.ahead().block_bytes(), 0u);
  for (std::uint64_t i = 0; i < 400; ++i)
    world.get(4 * kMega + i * 37 % 400 * 64 * kKilo, 64 * kKilo);
  EXPECT_GT(world.least_added(), 0u);
}

TEST(Readahead, AStreamStopsAtThePage) {
  constexpr std::uint64_t exposed = 100 * kKilo;
  World world(exposed, kMega);
  world.only_readable(pages_from(0, exposed));
  for (std::uint64_t at = 0; at < exposed; at += 64) world.get(at, 64);
  EXPECT_LE(world.longest_trip(), 4 * kKilo);
}

TEST(Readahead, WidensWhereItPays) {
  World world(kMega, 4 * kMega);
  for (std::uint64_t at = 0; at < kMega; at += 64) world.get(at, 64);
  EXPECT_LT(world.take_trips(), 100u) << "of 16384 gets in order";
}

// Who asks waits for all that is fetched.
TEST(Readahead, FewGetsTakeMuchLongerThanAlone) {
  constexpr double latency = 20000, per_byte = 0.5;
  constexpr std::uint64_t exposed = 32 * kMega;
  for (const std::uint64_t size : {64U, 1024U, 16384U, 65536U}) {
    World world(exposed, 2 * exposed, {.latency = latency, .per_byte = per_byte});
    for (std::uint64_t at = 0; at < exposed; at += size) world.get(at, size);
    const double gets = static_cast<double>(exposed) / static_cast<double>(size);
    EXPECT_LT(static_cast<double>(world.take_trips()), gets / 2) << size;
    const auto longest = static_cast<double>(world.longest_trip());
    if (size >= 16 * kKilo)
      EXPECT_LE(latency + longest * per_byte,
                3.5 * (latency + static_cast<double>(size) * per_byte))
          << size;
    else
      EXPECT_EQ(world.longest_trip(), kMega) << "seen by one get in " << kMega / size;
  }
}

// Streams and blocks, measured and fixed ones, gets within a block and across two.
TEST(Readahead, NoTripIsLongerThanAllowed) {
  constexpr std::uint64_t limit = 16000;
  std::mt19937_64 random(8);
  for (const std::uint64_t fixed : {std::uint64_t{0}, 256 * kKilo}) {
    const Readahead::Config config{.fixed_bytes = fixed, .longest_fetch = limit};
    World in_order(kMega, 4 * kMega, config);
    for (std::uint64_t at = 0; at < kMega; at += 64) in_order.get(at, 64);
    EXPECT_LT(in_order.take_trips(), 300u) << "of 16384 gets";
    World random_order(kMega, 4 * kMega, config);
    for (int i = 0; i < 20000; ++i)
      random_order.get(random() % (kMega - 3000), 1 + random() % 3000);
    EXPECT_LT(random_order.take_trips(), 2000u) << "of 20000 gets";
    for (const World* world : {&in_order, &random_order}) {
      EXPECT_LE(world->longest_trip(), limit);
      EXPECT_GE(world->longest_trip(), 4 * kKilo);
    }
  }
}

// Of two sizes that differ by two, one may fit and the other not.
TEST(Readahead, FindsTheLargestBlockThatFits) {
  std::mt19937_64 random(4);
  constexpr std::uint64_t part = 8 * kKilo;
  World world(64 * part, part + 3 * kKilo);
  for (int i = 0; i < 400; ++i) {
    const std::uint64_t begin = random() % 64 * part;
    for (int k = 0; k < 50; ++k) world.get(begin + random() % (part / 16) * 16, 16);
  }
  EXPECT_EQ(world.ahead().block_bytes(), part);
}

// Gets may be watched in proportion to trips, and nearly all of these are hits.
TEST(Readahead, DecidesForProgramsThatHitNearlyAlways) {
  constexpr std::uint64_t kPieces = 640;
  World world(64 * kPieces, kMega);
  std::mt19937_64 random(5);
  for (std::uint64_t i = 0; i < 20 * kPieces; ++i) {
    // Of twenty gets, nineteen are repeated ones.
    const std::uint64_t known = i / 20 + 1;
    const std::uint64_t piece = i % 20 == 0 ? i / 20 : random() % known;
    world.get(piece * 257 % kPieces * 64, 64);
  }
  EXPECT_NE(world.ahead().block_bytes(), 0u);
  EXPECT_LT(world.take_trips(), kPieces / 10);
}

TEST(Readahead, LeavesGetsWithoutLocalityAlone) {
  std::mt19937_64 random(5);
  constexpr std::uint64_t exposed = std::uint64_t{1} << 36;
  World world(exposed, 4 * kMega);
  for (int i = 0; i < 5000; ++i) world.get(random() % (exposed / 64) * 64, 64);
  EXPECT_EQ(world.take_trips(), 5000u);
  EXPECT_LE(world.take_bytes(), 5000u * 64 * 11 / 10);
}

TEST(Readahead, ReadsRowsInRandomOrder) {
  std::mt19937_64 random(5);
  std::vector<std::uint64_t> rows(512);
  for (std::uint64_t i = 0; i < rows.size(); ++i) rows[i] = i;
  std::shuffle(rows.begin(), rows.end(), random);
  World world(rows.size() * 4 * kKilo, 4 * kMega);
  for (const std::uint64_t row : rows)
    for (std::uint64_t at = 0; at < 4 * kKilo; at += 64) world.get(row * 4 * kKilo + at, 64);
  EXPECT_LT(world.take_trips(), rows.size() * 64 / 20);
}

TEST(Readahead, StopsWhenTheProgramStopsBeingLocal) {
  std::mt19937_64 random(5);
  constexpr std::uint64_t exposed = std::uint64_t{1} << 36;
  World world(exposed, 4 * kMega);
  for (std::uint64_t at = 0; at < kMega; at += 64) world.get(at, 64);
  for (int i = 0; i < 5000; ++i) world.get(random() % (exposed / 64) * 64, 64);
  EXPECT_EQ(world.ahead().block_bytes(), 0u);
  world.take_bytes();
  world.take_trips();
  for (int i = 0; i < 5000; ++i) world.get(random() % (exposed / 64) * 64, 64);
  EXPECT_LE(world.take_bytes(), 5000u * 64 * 11 / 10);
  world.take_trips();
  for (std::uint64_t at = 8 * kMega; at < 9 * kMega; at += 64) world.get(at, 64);
  EXPECT_LT(world.take_trips(), 1000u) << "it looks again";
}

TEST(Readahead, DroppedBlocksDoNotCountAsSpared) {
  World world(64 * kMega, 4 * kMega);
  std::uint64_t at = 0;
  for (int i = 0; i < 4000; ++i) {
    world.get(at, 64);
    at = (at + 64) % kMega;
    world.drop_all();
  }
  EXPECT_EQ(world.ahead().block_bytes(), 0u);
  EXPECT_LE(world.take_bytes(), 4000u * 64 * 11 / 10);
}

// Places at random in a window that would fit: blocks pay once many of them are there, but all
// copies are invalidated before.
TEST(Readahead, LosesNoMoreThanItsBudget) {
  const Readahead::Config config{.latency = 10000, .per_byte = 0.25};
  constexpr int kGets = 20000, kPhase = 2000;
  constexpr std::uint64_t exposed = 64 * kMega;
  World world(exposed, 2 * exposed, config);
  std::mt19937_64 random(6);
  for (int i = 0; i < kGets; ++i) {
    if (i % kPhase == 0) world.drop_all();
    world.get(random() % (exposed / 64) * 64, 64);
  }
  const double spent = (static_cast<double>(world.take_bytes()) - kGets * 64.0) * config.per_byte;
  const double spared = static_cast<double>(kGets - world.take_trips()) * config.latency;
  EXPECT_GT(spent, 0) << "it was tried";
  EXPECT_LE(spent - spared,
            (config.first_budget + kGets * config.budget_share) * config.latency * 1.05);
}

// What blocks could spare of a large get is the smaller part of it: places at random, each once,
// and an invalidation when blocks begin to pay.
TEST(Readahead, LosesLessOnLargeGets) {
  const Readahead::Config config{.latency = 20000, .per_byte = 0.15};
  constexpr std::uint64_t kGets = 1000, kPhase = 700, size = 65536;
  World world(kGets * size, 64 * kMega, config);
  std::vector<std::uint64_t> places(kGets);
  std::iota(places.begin(), places.end(), 0);
  std::shuffle(places.begin(), places.end(), std::mt19937_64(6));
  for (std::size_t i = 0; i < kGets; ++i) {
    if (i % kPhase == 0) world.drop_all();
    world.get(places[i] * size, size);
  }
  const double spent =
      (static_cast<double>(world.take_bytes()) - double{kGets} * size) * config.per_byte;
  const double spared = static_cast<double>(kGets - world.take_trips()) * config.latency;
  EXPECT_GT(spent, 0) << "it was tried";
  EXPECT_LE(spent - spared, config.first_budget * config.latency / 4);
}

// The same places without the invalidation: what blocks spare pays for more of them.
TEST(Readahead, TheBudgetGrowsWithWhatIsSpared) {
  constexpr std::uint64_t exposed = 16 * kMega;
  World world(exposed, 2 * exposed, {.latency = 10000, .per_byte = 0.25});
  std::mt19937_64 random(6);
  for (int i = 0; i < 20000; ++i) world.get(random() % (exposed / 64) * 64, 64);
  world.take_trips();
  for (int i = 0; i < 10000; ++i) world.get(random() % (exposed / 64) * 64, 64);
  EXPECT_LT(world.take_trips(), 1500u) << "of 10000 gets";
}

// What it costs to watch gets ends, and where the program's trips come back, it begins again.
TEST(Readahead, WatchesNoProgramThatHitsAlways) {
  World world(64 * kMega, 4 * kMega);
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) world.get(random() % kMega * 64, 64);
  for (int i = 0; i < 600; ++i) world.get(0, 64);
  EXPECT_FALSE(world.ahead().recording());
  for (int i = 0; i < 2000; ++i) world.get(random() % kMega * 64, 64);
  EXPECT_TRUE(world.ahead().recording());
}

// Watching takes longer than a miss should: it ends where nothing comes of it.
TEST(Readahead, WatchesFarGetsEverMoreRarely) {
  constexpr std::uint64_t exposed = std::uint64_t{1} << 36;
  World world(exposed, 4 * kMega);
  std::mt19937_64 random(8);
  int watched = 0;
  for (int i = 0; i < 100000; ++i) {
    watched += world.ahead().recording();
    world.get(random() % (exposed / 64) * 64, 64);
  }
  EXPECT_LT(watched, 20000) << "of 100000 gets";
  EXPECT_GT(watched, 5000) << "programs have phases";
}

// As many ranges in a row are not forgotten one by one; what they held is not taken for spared.
TEST(Readahead, ManyDroppedRangesAreForgottenTogether) {
  World world(64 * kMega, 4 * kMega);
  std::mt19937_64 random(9);
  constexpr std::uint64_t part = kMega / 512;
  for (int i = 0; i < 1000; ++i) {
    world.get(random() % (kMega / 64) * 64, 64);
    for (std::uint64_t at = 0; at < kMega; at += part) world.drop(at, part);
  }
  EXPECT_EQ(world.ahead().block_bytes(), 0u);
  EXPECT_LE(world.take_bytes(), 1000u * 64 * 11 / 10);
}

TEST(Readahead, AFullCacheMakesRoomForBlocksThatPay) {
  constexpr std::uint64_t storage = 256 * kKilo;
  World world(32 * kMega, storage);
  // Hot pieces fill it, far apart.
  for (int again = 0; again < 8; ++again)
    for (std::uint64_t at = 16 * kMega; at < 32 * kMega; at += 4 * kKilo) world.get(at, 64);
  EXPECT_GT(world.cache().used_bytes(), storage * 9 / 10);
  world.take_trips();
  for (std::uint64_t at = 0; at < 16 * kMega; at += 64) world.get(at, 64);
  EXPECT_LT(world.take_trips(), 16 * kMega / 64 / 20) << "of gets in order, each byte once";
}

// Entries of 64 bytes fill the cache; blocks of 2 KiB, which would not fit, are not kept for long.
TEST(Readahead, FindsOutThatExactEntriesFit) {
  constexpr std::uint64_t pieces = 400;
  std::mt19937_64 random(11);
  World world(kMega, pieces * 64);
  std::vector<std::uint64_t> places(pieces);
  // Half of them in places of their own, the others side by side.
  for (std::uint64_t i = 0; i < pieces; ++i) places[i] = i % 2 == 0 ? 64 * i : kKilo * i;
  for (int round = 0; round < 200; ++round) {
    std::shuffle(places.begin(), places.end(), random);
    for (const std::uint64_t at : places) world.get(at, 64);
    if (round == 100) world.take_trips();
  }
  EXPECT_LT(world.take_trips(), 99 * pieces / 50) << "of " << 99 * pieces << " gets";
}

// A byte is dear: two trips are enough for a decision, so that one that is counted on one side
// alone is half of what is compared.
TEST(Readahead, WhatWasPaidIsComparedWithTheSameGets) {
  constexpr std::uint64_t piece = 4 * kKilo;
  World world(500 * piece, piece, {.latency = 286, .per_byte = 0.65});
  for (int round = 0; round < 20; ++round)
    for (std::uint64_t i = 0; i < 500; ++i) world.get(i * piece, piece);
  EXPECT_EQ(world.ahead().block_bytes(), 0u);
  EXPECT_EQ(world.ahead().changes(), 0u);
}

// Each byte is reused and the cache grows as it fills, so that little is evicted; but blocks would
// never seem to fit where only what it holds now is looked at.
TEST(Readahead, ACacheThatGrowsIsJudgedByWhatItWillHold) {
  constexpr std::uint64_t pieces = 1000, piece = 8 * kKilo;
  Config cache = fixed(512 * kKilo);
  cache.adaptation.enabled = true;
  World world(pieces * piece, cache);
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) world.get(random() % pieces * piece, piece);
  EXPECT_GT(world.cache().storage_bytes(), pieces * piece);
  EXPECT_LT(world.take_trips(), pieces * 2 / 3);
  EXPECT_LT(world.take_bytes(), 2 * pieces * piece);
}

// Most gets are hits while blocks fill the cache, and half of it is free: that is no reason to take
// room away.
TEST(Readahead, ACacheThatFillsDoesNotShrink) {
  constexpr std::uint64_t exposed = 32 * kMega;
  Config cache = fixed(64 * kMega);
  cache.adaptation.enabled = true;
  World world(exposed, cache, {.fixed_bytes = kMega});
  for (std::uint64_t i = 0; i < 20000; ++i)
    world.get((i / 40 * kMega + i * 7919 * 8 % kMega) % exposed, 8);
  EXPECT_EQ(world.take_bytes(), exposed);
  EXPECT_EQ(world.cache().stats().evictions, 0u);
}

// Nor are the first gets after everything was dropped.
TEST(Readahead, ACacheThatIsDroppedAndFilledAgainKeepsItsSize) {
  constexpr std::uint64_t exposed = 8 * kMega;
  Config cache = fixed(16 * kMega);
  cache.adaptation.enabled = true;
  World world(exposed, cache, {.fixed_bytes = 256 * kKilo});
  for (int phase = 0; phase < 20; ++phase) {
    for (std::uint64_t at = 0; at < exposed; at += 256 * kKilo) world.get(at, 8);
    EXPECT_GE(world.cache().storage_bytes(), exposed) << phase;
    world.cache().drop_all();
    world.ahead().on_drop();
    for (std::uint64_t i = 0; i < 1000; ++i) world.get(i % 32 * 8, 8);
  }
}

// One get in ninety finds its block evicted: few gets, and most of the time.
TEST(Readahead, ACacheGrowsForBlocksThatComeBack) {
  constexpr std::uint64_t exposed = 32 * kMega;
  Config cache = fixed(16 * kMega);
  cache.adaptation.enabled = true;
  World world(exposed, cache, {.fixed_bytes = kMega});
  for (std::uint64_t i = 0; i < 30000; ++i)
    world.get((i / 90 * kMega + i * 7919 * 8 % kMega) % exposed, 8);
  EXPECT_GE(world.cache().storage_bytes(), exposed);
  EXPECT_LT(world.take_bytes(), 3 * exposed);
}

TEST(Readahead, ACacheDoesNotGrowForBlocksOfAStream) {
  Config cache = fixed(16 * kMega);
  cache.adaptation.enabled = true;
  World world(256 * kMega, cache, {.fixed_bytes = kMega});
  for (std::uint64_t at = 0; at < 256 * kMega; at += 16 * kKilo) world.get(at, 64);
  EXPECT_EQ(world.cache().storage_bytes(), 16 * kMega);
}

TEST(Readahead, WatchesNoGetsAfterItsEnd) {
  World world(kMega, 4 * kMega);
  for (std::uint64_t at = 0; at < 4 * kKilo; at += 64) world.get(at, 64);
  EXPECT_TRUE(world.ahead().recording());
  world.ahead().end();
  for (std::uint64_t at = 512 * kKilo; at < 520 * kKilo; at += 64) world.get(at, 64);
  EXPECT_FALSE(world.ahead().recording());
}

TEST(Readahead, EndsForGood) {
  World world(kMega, 4 * kMega);
  world.ahead().end();
  for (std::uint64_t at = 0; at < 64 * kKilo; at += 64) world.get(at, 64);
  EXPECT_EQ(world.take_trips(), kKilo);
}

TEST(Readahead, BlocksTakeTheRoomOfManySmallEntries) {
  World world(16 * kMega, 64 * kKilo, {.fixed_bytes = 0});
  for (std::uint64_t at = 0; at < 16 * kMega; at += 8 * kKilo)
    for (int again = 0; again < 3; ++again) world.get(at, 16);
  const std::uint64_t full = world.cache().used_bytes();
  EXPECT_GT(full, 0u);
  Readahead::Plan plan{0, 64 * kKilo, 15};
  world.cache().find({2, 0, 0}, 16);
  EXPECT_EQ(reserve_blocks(world.cache(), plan, {2, 0, 0}, 16, 0).count, 0u)
      << "nothing is evicted for a stream alone";
  plan.into_free_room = false;
  const BlockFetch fetch = reserve_blocks(world.cache(), plan, {2, 0, 0}, 16, 0);
  EXPECT_GE(fetch.count, 1u);
  EXPECT_TRUE(fetch.entries[0]);
}

}  // namespace
}  // namespace hob::cache
