#pragma once

// Policies that keep entries in queues, for comparison: LRU, SIEVE (Zhang et al. 2024) and S3-FIFO
// (Yang et al. 2023). They evict in their order until the newcomer fits, up to a bound.

#include <cstdint>
#include <span>

#include "cache/entry.hpp"
#include "cache/hash.hpp"
#include "cache/lazy_memory.hpp"
#include "cache/policy.hpp"

namespace hob::cache {

/// A list of entries through Entry::prev and next, newest first.
class EntryQueue {
 public:
  std::uint32_t newest() const { return head_; }
  std::uint32_t oldest() const { return tail_; }
  std::uint64_t length() const { return length_; }

  template <class CacheEngine>
  void push(CacheEngine& engine, std::uint32_t e) {
    Entry& entry = engine.entry(e);
    entry.prev = kNone;
    entry.next = head_;
    (head_ != kNone ? engine.entry(head_).prev : tail_) = e;
    head_ = e;
    ++length_;
  }
  template <class CacheEngine>
  void remove(CacheEngine& engine, std::uint32_t e) {
    const Entry& entry = engine.entry(e);
    (entry.prev != kNone ? engine.entry(entry.prev).next : head_) = entry.next;
    (entry.next != kNone ? engine.entry(entry.next).prev : tail_) = entry.prev;
    --length_;
  }
  void clear() {
    head_ = tail_ = kNone;
    length_ = 0;
  }

 private:
  std::uint32_t head_ = kNone, tail_ = kNone;
  std::uint64_t length_ = 0;
};

/// What the queue policies have in common: evict victims in their order until there is room.
template <class Derived>
class QueuePolicy : public PolicyDefaults {
 public:
  static constexpr bool kEagerIndex = true;
  static constexpr bool kOneEviction = false;
  static constexpr std::uint32_t kMaxEvictions = 64;  ///< for one newcomer

  template <class CacheEngine>
  bool make_room(CacheEngine& engine, std::uint64_t bytes) {
    for (std::uint32_t i = 0; i < kMaxEvictions; ++i) {
      const std::uint32_t victim = static_cast<Derived*>(this)->victim(engine);
      engine.count_selection(1, 1);
      if (victim == kNone) return false;
      engine.evict(victim);
      if (engine.fits(bytes)) return true;
    }
    return false;
  }

  /// Whoever of the candidates was used least recently, pending ones excepted; or `kNone`.
  template <class CacheEngine>
  std::uint32_t choose(CacheEngine& engine, std::span<const std::uint32_t> candidates) {
    std::uint32_t victim = kNone;
    for (const std::uint32_t e : candidates) {
      if (!engine.live(e)) return e;
      if (engine.entry(e).pending()) continue;
      if (victim == kNone || engine.entry(e).last < engine.entry(victim).last) victim = e;
    }
    return victim;
  }

 protected:
  static constexpr std::uint32_t kMaxSteps = 4096;  ///< over entries that cannot go

  template <class CacheEngine>
  static bool evictable(CacheEngine& engine, std::uint32_t e) {
    return !engine.entry(e).pending() || !engine.live(e);
  }
};

class LruPolicy : public QueuePolicy<LruPolicy> {
 public:
  explicit LruPolicy(const Config&) {}
  void clear() { queue_.clear(); }

  template <class CacheEngine>
  void on_hit(CacheEngine& engine, std::uint32_t e) {
    engine.entry(e).last = engine.now();
    if (queue_.newest() == e) return;
    queue_.remove(engine, e);
    queue_.push(engine, e);
  }
  template <class CacheEngine>
  void on_insert(CacheEngine& engine, std::uint32_t e, std::uint64_t) {
    engine.entry(e).last = engine.now();
    queue_.push(engine, e);
  }
  template <class CacheEngine>
  void on_remove(CacheEngine& engine, std::uint32_t e, bool) {
    queue_.remove(engine, e);
  }
  template <class CacheEngine>
  std::uint32_t victim(CacheEngine& engine) {
    std::uint32_t e = queue_.oldest();
    for (std::uint32_t i = 0; i < kMaxSteps && e != kNone; ++i, e = engine.entry(e).prev)
      if (evictable(engine, e)) return e;
    return kNone;
  }

 private:
  EntryQueue queue_;
};

class SievePolicy : public QueuePolicy<SievePolicy> {
 public:
  explicit SievePolicy(const Config&) {}
  void clear() {
    queue_.clear();
    hand_ = kNone;
  }

  template <class CacheEngine>
  void on_hit(CacheEngine& engine, std::uint32_t e) {
    engine.entry(e).last = engine.now();
    engine.entry(e).mark = 1;
  }
  template <class CacheEngine>
  void on_insert(CacheEngine& engine, std::uint32_t e, std::uint64_t) {
    engine.entry(e).last = engine.now();
    engine.entry(e).mark = 0;
    queue_.push(engine, e);
  }
  template <class CacheEngine>
  void on_remove(CacheEngine& engine, std::uint32_t e, bool) {
    if (hand_ == e) hand_ = engine.entry(e).prev;
    queue_.remove(engine, e);
  }
  template <class CacheEngine>
  std::uint32_t victim(CacheEngine& engine) {
    for (std::uint32_t i = 0; i < kMaxSteps; ++i) {
      if (hand_ == kNone) hand_ = queue_.oldest();
      if (hand_ == kNone) return kNone;
      const std::uint32_t e = hand_;
      hand_ = engine.entry(e).prev;
      if (!evictable(engine, e)) continue;
      if (engine.entry(e).mark == 0) return e;
      engine.entry(e).mark = 0;
    }
    return kNone;
  }

 private:
  EntryQueue queue_;
  std::uint32_t hand_ = kNone;
};

class S3FifoPolicy : public QueuePolicy<S3FifoPolicy> {
 public:
  explicit S3FifoPolicy(const Config&) {}

  bool allocate(std::uint64_t slots) noexcept {
    if (ghosts_.size() >= slots) return true;
    ZeroArray<std::uint32_t> ghosts;
    if (!ghosts.allocate(slots)) return ghosts_.size() > 0;
    ghosts_ = std::move(ghosts);
    return true;
  }
  std::uint64_t bytes() const { return ghosts_.bytes(); }
  void clear() {
    small_.clear();
    main_.clear();
  }

  template <class CacheEngine>
  void on_hit(CacheEngine& engine, std::uint32_t e) {
    Entry& entry = engine.entry(e);
    entry.last = engine.now();
    if ((entry.mark & kUses) < kUses) ++entry.mark;
  }
  template <class CacheEngine>
  void on_insert(CacheEngine& engine, std::uint32_t e, std::uint64_t hash) {
    engine.entry(e).last = engine.now();
    std::uint32_t& ghost = ghosts_[to_range(hash, ghosts_.size())];
    const bool seen = ghost == static_cast<std::uint32_t>(hash) && ghost != 0;
    if (seen) ghost = 0;
    engine.entry(e).mark = seen ? kInMain : 0;
    (seen ? main_ : small_).push(engine, e);
  }
  template <class CacheEngine>
  void on_remove(CacheEngine& engine, std::uint32_t e, bool evicted) {
    Entry& entry = engine.entry(e);
    if ((entry.mark & kInMain) != 0) {
      main_.remove(engine, e);
      return;
    }
    small_.remove(engine, e);
    if (!evicted) return;
    const std::uint64_t hash = hash_key(entry.key());
    ghosts_[to_range(hash, ghosts_.size())] = static_cast<std::uint32_t>(hash);
  }
  template <class CacheEngine>
  std::uint32_t victim(CacheEngine& engine) {
    for (std::uint32_t i = 0; i < kMaxSteps; ++i) {
      const bool from_small =
          small_.oldest() != kNone &&
          (main_.oldest() == kNone || small_.length() * 10 > small_.length() + main_.length());
      EntryQueue& queue = from_small ? small_ : main_;
      const std::uint32_t e = queue.oldest();
      if (e == kNone) return kNone;
      Entry& entry = engine.entry(e);
      if (evictable(engine, e) && (entry.mark & kUses) <= (from_small ? 1u : 0u)) return e;
      queue.remove(engine, e);
      if (from_small)
        entry.mark = kInMain;
      else if ((entry.mark & kUses) > 0)
        --entry.mark;
      main_.push(engine, e);
    }
    return kNone;
  }

 private:
  static constexpr std::uint32_t kUses = 3;    ///< bits of Entry::mark that count uses, up to 3
  static constexpr std::uint32_t kInMain = 4;  ///< bit of Entry::mark

  EntryQueue small_, main_;
  ZeroArray<std::uint32_t> ghosts_;
};

}  // namespace hob::cache
