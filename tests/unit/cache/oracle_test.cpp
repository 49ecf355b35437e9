// Random sequences of all calls, against target memory that changes: whatever a cache gives out
// must be what the target holds, and what is pending must stay.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

#include "cache/block.hpp"
#include "cache/block_fetch.hpp"
#include "cache/cache.hpp"

namespace hob::cache {
namespace {

constexpr std::uint32_t targets = 5;
constexpr std::uint64_t memory_size = 1 << 16;

struct PendingGet {
  Key key;
  std::uint64_t size;
  std::uint64_t offset;  ///< of the bytes under way
  EntryId entry;
  std::vector<std::byte> bytes;  ///< as they were when it was issued
  bool dropped = false;
};

class World {
 public:
  /// `shortly`: gets ask find_full() first.
  World(Policy policy, std::uint64_t seed, bool shortly = false)
      : random_(seed), shortly_(shortly) {
    Config config;
    config.policy = policy;
    config.index_slots = pick(16, 600);
    config.storage_bytes = pick(1, 200) * 1024;
    config.adaptation.enabled = pick(0, 1) == 1;
    config.adaptation.interval = 64;
    config.adaptation.min_index_slots = 16;
    config.adaptation.min_storage_bytes = 4096;
    config.adaptation.max_index_slots = 2048;
    config.adaptation.max_storage_bytes = 1 << 20;
    config.sample = static_cast<std::uint32_t>(pick(1, 32));
    config.seed = seed;
    cache_ = Cache::create(config);
    for (auto& memory : memory_) {
      memory.resize(memory_size);
      for (std::byte& b : memory) b = static_cast<std::byte>(random_());
    }
  }

  void step() {
    const std::uint64_t what = pick(0, 999);
    if (what < 700)
      get();
    else if (what < 900)
      finish(pick(0, 9) == 0);
    else if (what < 930)
      write();
    else if (what < 935)
      drop_target();
    else if (what < 937)
      drop_all();
    else if (what < 942)
      cache_->resize(pick(16, 1000), pick(1, 300) * 1024);
    else
      check_pending();
    const Stats& s = cache_->stats();
    ASSERT_EQ(s.gets, s.hits_full + s.hits_partial + s.hits_pending + s.missing);
    ASSERT_LE(cache_->used_bytes(), cache_->storage_bytes());
    ASSERT_LE(cache_->entries(), cache_->index_slots());
    ASSERT_GE(cache_->entries(), cache_->pending());
  }

  const Cache& cache() const { return *cache_; }
  std::uint64_t full_hits_checked() const { return checked_; }
  std::uint64_t parts_checked() const { return parts_checked_; }
  std::uint64_t blocks() const { return blocks_; }
  std::uint64_t found_shortly() const { return found_shortly_; }

  void finish_all() {
    while (!pending_.empty()) finish(false);
    EXPECT_EQ(cache_->pending(), dropped_pending_allowed());
  }

 private:
  std::uint64_t pick(std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(low, high)(random_);
  }
  std::uint64_t dropped_pending_allowed() {
    cache_->drop_all();
    return 0;
  }

  static std::uint64_t stride(const Key& key) {
    return key.layout == 0 || is_block(key.layout) ? 1 : key.layout + 1;
  }
  static std::uint64_t extent(const Key& key, std::uint64_t size) {
    return (size - 1) * stride(key) + 1;
  }
  std::vector<std::byte> read(const Key& key, std::uint64_t size) const {
    std::vector<std::byte> bytes(size);
    for (std::uint64_t i = 0; i < size; ++i)
      bytes[i] = memory_[key.target][key.displacement + i * stride(key)];
    return bytes;
  }

  void get() {
    Key key;
    key.target = static_cast<std::uint32_t>(pick(0, targets - 1));
    key.displacement = pick(0, 3) == 0 ? pick(0, 40000) : pick(0, 80) * 64;
    key.layout = pick(0, 4) == 0 ? pick(1, 2) : 0;
    const std::uint64_t size = pick(0, 9) == 0 ? pick(1, 8000) : pick(1, 200);
    const Lookup found = look_up(key, size);
    const std::vector<std::byte> now = read(key, size);
    ASSERT_LE(found.available, size);
    if (found.available > 0 && found.kind != Hit::split) {
      ASSERT_NE(found.data, nullptr);
      ASSERT_TRUE(std::equal(found.data, found.data + found.available, now.begin()))
          << "stale or wrong bytes at target " << key.target << " displacement " << key.displacement
          << " size " << size;
      ++checked_;
    }
    switch (found.kind) {
      case Hit::full:
        ASSERT_EQ(found.available, size);
        if (pick(0, 19) == 0) {
          ASSERT_FALSE(cache_->refresh(found.entry, now.data(), size, found.offset, 7));
        }
        break;
      case Hit::missing: {
        ASSERT_EQ(found.available, 0u);
        if (key.layout == 0 && pick(0, 3) == 0 && fetch_blocks(key, size)) break;
        const Reservation place = cache_->reserve(
            key, size, {.extent = extent(key, size), .cookie = cookie(pending_.size())});
        ASSERT_EQ(static_cast<bool>(place.entry), place.access != Access::failing);
        if (place.entry) pending_.push_back({key, size, 0, place.entry, now, false});
        break;
      }
      case Hit::partial:
        ASSERT_GT(found.available, 0u);
        ASSERT_FALSE(found.contained);
        if (cache_->extend(found.entry, size, {.extent = extent(key, size)}))
          pending_.push_back(
              {key,
               size,
               found.available,
               found.entry,
               {now.begin() + static_cast<std::ptrdiff_t>(found.available), now.end()},
               false});
        break;
      case Hit::split:
        check_parts(key, size, found.available == size);
        if (found.available < size) fetch_blocks(key, size);
        break;
      case Hit::pending_full:
      case Hit::pending_partial: {
        bool known = false;
        for (const PendingGet& p : pending_) known |= !p.dropped && p.entry == found.entry;
        ASSERT_TRUE(known) << "a pending hit on what is not pending";
        break;
      }
    }
    if (pending_.size() > 60) finish(false);
  }

  Lookup look_up(const Key& key, std::uint64_t size) {
    if (shortly_) {
      if (const FullHit full = cache_->find_full(key, size, {}); full.data != nullptr) {
        ++found_shortly_;
        Lookup found;
        found.kind = Hit::full;
        found.available = size;
        found.data = full.data;
        return found;
      }
    }
    return cache_->find(key, size);
  }

  static std::uint32_t cookie(std::uint64_t number) { return static_cast<std::uint32_t>(number); }

  void check_parts(const Key& key, std::uint64_t size, bool complete) {
    std::uint64_t at = key.displacement;
    std::uint64_t present = 0;
    for (const Fragment& fragment : cache_->fragments(key, size)) {
      ASSERT_EQ(fragment.displacement, at);
      at += fragment.bytes;
      if (fragment.data == nullptr) continue;
      const auto* memory = &memory_[key.target][fragment.displacement];
      ASSERT_TRUE(std::equal(fragment.data, fragment.data + fragment.bytes, memory))
          << "a stale fragment";
      present += fragment.bytes;
      ++parts_checked_;
    }
    ASSERT_EQ(at, key.displacement + size);
    ASSERT_EQ(present == size, complete);
  }

  /// Whatever is fetched around a get must serve others as long as it is true, and no longer.
  bool fetch_blocks(const Key& key, std::uint64_t size) {
    const auto shift = static_cast<std::uint32_t>(8 + 2 * pick(0, 2));
    const std::uint64_t begin = block_begin(key.displacement, shift);
    const std::uint64_t last = block_begin(key.displacement + size - 1, shift);
    if (last - begin > std::uint64_t{1} << shift) return false;
    const std::uint64_t ahead = pick(0, 2) << shift;
    const Readahead::Plan plan{
        begin, std::min(last + (std::uint64_t{1} << shift) + ahead, memory_size), shift};
    const BlockFetch fetch = reserve_blocks(*cache_, plan, key, size, cookie(pending_.size()));
    for (std::uint32_t k = 0; k < fetch.count; ++k) {
      if (!fetch.entries[k]) continue;
      const Key block{key.target, fetch.begin_of(k), block_layout(shift)};
      pending_.push_back(
          {block, fetch.bytes_of(k), 0, fetch.entries[k], read(block, fetch.bytes_of(k)), false});
      ++blocks_;
    }
    return fetch.count != 0;
  }

  void finish(bool abandon) {
    if (pending_.empty()) return;
    const std::uint64_t i = pick(0, pending_.size() - 1);
    std::swap(pending_[i], pending_.back());
    const PendingGet p = pending_.back();
    pending_.pop_back();
    if (abandon) {
      cache_->abandon(p.entry);
      ASSERT_EQ(cache_->writable(p.entry), nullptr);
      return;
    }
    bool done = false;
    if (pick(0, 1) == 0) {
      done = cache_->fill(p.entry, p.bytes.data(), p.bytes.size(), p.offset, 9);
    } else if (std::byte* to = cache_->writable(p.entry); to != nullptr) {
      std::copy(p.bytes.begin(), p.bytes.end(), to + p.offset);
      done = cache_->complete(p.entry, 9);
    }
    if (p.dropped) {
      ASSERT_FALSE(done) << "a dropped entry was filled";
    } else {
      ASSERT_TRUE(done) << "a pending entry was lost";
      const Lookup found = cache_->find(p.key, p.size);
      ASSERT_TRUE(found.kind == Hit::full ||
                  (found.kind == Hit::split && found.available == p.size));
      if (found.block == 0) {
        ASSERT_EQ(found.fetched, 9u);
      }
    }
  }

  void write() {
    const auto target = static_cast<std::uint32_t>(pick(0, targets - 1));
    const std::uint64_t bytes = pick(1, pick(0, 9) == 0 ? 20000 : 100);
    const std::uint64_t begin = pick(0, memory_size - bytes);
    for (std::uint64_t i = begin; i < begin + bytes; ++i)
      memory_[target][i] = static_cast<std::byte>(random_());
    cache_->drop_range(target, begin, bytes);
    for (PendingGet& p : pending_)
      if (p.key.target == target && p.key.displacement < begin + bytes &&
          begin < p.key.displacement + extent(p.key, p.size))
        p.dropped = true;
    // What the range does not reach may have been dropped too: that is seen as a lost name only.
    for (PendingGet& p : pending_)
      if (p.key.target == target && cache_->writable(p.entry) == nullptr) p.dropped = true;
  }

  void drop_target() {
    const auto target = static_cast<std::uint32_t>(pick(0, targets - 1));
    for (std::byte& b : memory_[target]) b ^= std::byte{0x5a};
    cache_->drop_target(target);
    for (PendingGet& p : pending_) p.dropped |= p.key.target == target;
  }

  void drop_all() {
    for (auto& memory : memory_)
      for (std::byte& b : memory) b ^= std::byte{0x33};
    cache_->drop_all();
    for (PendingGet& p : pending_) p.dropped = true;
    ASSERT_EQ(cache_->entries(), 0u);
    ASSERT_EQ(cache_->used_bytes(), 0u);
  }

  void check_pending() {
    for (const PendingGet& p : pending_)
      ASSERT_EQ(cache_->writable(p.entry) != nullptr, !p.dropped);
  }

  std::mt19937_64 random_;
  bool shortly_;
  std::uint64_t found_shortly_ = 0;
  std::unique_ptr<Cache> cache_;
  std::vector<std::byte> memory_[targets];
  std::vector<PendingGet> pending_;
  std::uint64_t checked_ = 0;
  std::uint64_t parts_checked_ = 0;
  std::uint64_t blocks_ = 0;
};

class Oracle : public testing::TestWithParam<Policy> {};

TEST_P(Oracle, GivesOutWhatTheTargetHolds) {
  const char* given = std::getenv("TESTS_SEED");
  const std::uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  const std::uint64_t count = given != nullptr ? 1 : 20;
  std::uint64_t checked = 0;
  std::uint64_t parts = 0;
  std::uint64_t blocks = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("TESTS_SEED=" + std::to_string(seed));
    World world(GetParam(), seed);
    for (int i = 0; i < 5000; ++i) {
      world.step();
      if (HasFatalFailure()) return;
    }
    world.finish_all();
    if (HasFatalFailure()) return;
    checked += world.full_hits_checked();
    parts += world.parts_checked();
    blocks += world.blocks();
  }
  EXPECT_GT(checked, 200u * count) << "the test looked at too little";
  EXPECT_GT(blocks, 10u * count) << "the test fetched too few blocks";
  EXPECT_GT(parts, count) << "the test met too few gets between blocks";
}

TEST_P(Oracle, AskingForFullHitsFirstChangesNothing) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World one(GetParam(), seed);
    World other(GetParam(), seed, true);
    for (int i = 0; i < 5000; ++i) {
      one.step();
      other.step();
      if (HasFatalFailure()) return;
      const Stats& a = one.cache().stats();
      const Stats& b = other.cache().stats();
      ASSERT_EQ(a.gets, b.gets);
      ASSERT_EQ(a.hits_full, b.hits_full);
      ASSERT_EQ(a.hits_contained, b.hits_contained);
      ASSERT_EQ(a.missing, b.missing);
      ASSERT_EQ(a.bytes_from_cache, b.bytes_from_cache);
      ASSERT_EQ(a.ahead_used_bytes, b.ahead_used_bytes);
      ASSERT_EQ(a.get_size.counts, b.get_size.counts);
      ASSERT_EQ(a.reuse.counts, b.reuse.counts);
      ASSERT_EQ(a.evictions, b.evictions);
      ASSERT_EQ(one.cache().entries(), other.cache().entries());
      ASSERT_EQ(one.cache().storage_bytes(), other.cache().storage_bytes());
    }
    found += other.found_shortly();
  }
  EXPECT_GT(found, 1000u);
}

INSTANTIATE_TEST_SUITE_P(Policies, Oracle,
                         testing::Values(Policy::standard, Policy::paper, Policy::temporal,
                                         Policy::positional, Policy::lru, Policy::sieve,
                                         Policy::s3fifo),
                         [](const auto& p) { return std::string(policy_name(p.param)); });

}  // namespace
}  // namespace hob::cache
