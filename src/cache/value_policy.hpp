#pragma once

// Hob's eviction and admission. An entry is worth what it is expected to save: its estimated rate
// of use times the cost of fetching it again. Room is made by evicting the neighbourhood of a few
// sampled entries that is worth least for each byte (so that what is freed is one piece), and only
// if the newcomer is worth more than that.
//
// The rate of use is estimated from the intervals between uses (a mean over the last few), from the
// time since the last use, and from a prior learned while running: how soon keys seen for the first
// time are usually asked for again. Keys that left or were not admitted are remembered for a while.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "cache/entry.hpp"
#include "cache/hash.hpp"
#include "cache/lazy_memory.hpp"

namespace hob::cache {

class ValuePolicy {
 public:
  /// A full index grows at once, if adaptation allows it, before anything is evicted for it.
  static constexpr bool eager_index = true;
  static constexpr bool one_eviction = false;

  explicit ValuePolicy(const Config& config)
      : latency_bytes_(static_cast<float>(config.latency_bytes)),
        sample_(config.sample),
        random_(config.seed ^ 0x5eed) {}

  bool allocate(std::uint64_t slots) noexcept {
    const std::uint64_t count =
        std::bit_ceil(std::clamp<std::uint64_t>(2 * slots, 1024, std::uint64_t{1} << 22));
    if (count <= ghosts_.size()) return true;
    ZeroArray<Ghost> ghosts;
    if (!ghosts.allocate(count)) return ghosts_.size() > 0;
    ghosts_ = std::move(ghosts);
    return true;
  }
  std::uint64_t bytes() const { return ghosts_.bytes(); }
  void clear() {}
  void set_latency_bytes(std::uint64_t bytes) { latency_bytes_ = static_cast<float>(bytes); }

  void on_get(std::uint64_t) {}

  template <class Engine>
  void on_hit(Engine& engine, std::uint32_t e) {
    Entry& entry = engine.entry(e);
    const auto age = static_cast<float>(engine.now() - entry.last);
    if (entry.mark == 0) learn(age, true);
    if (entry.mark < max_intervals) ++entry.mark;
    entry.interval += (age - entry.interval) / static_cast<float>(entry.mark);
    entry.last = engine.now();
  }

  /// Called before room is made for a key: what is known of it.
  template <class Engine>
  void on_reserve(Engine& engine, std::uint64_t hash, std::uint64_t size) {
    intervals_ = 0;
    interval_ = 0;
    const Ghost& ghost = ghost_of(hash);
    if (ghost.tag == tag_of(hash)) {
      const float age = static_cast<float>(static_cast<std::uint32_t>(engine.now()) - ghost.last);
      if (ghost.intervals == 0) learn(age, true);
      intervals_ = std::min<std::uint32_t>(ghost.intervals + 1u, max_intervals);
      interval_ = ghost.interval + (age - ghost.interval) / static_cast<float>(intervals_);
    }
    newcomer_density_ = rate(intervals_, interval_, 0) *
                        (latency_bytes_ + static_cast<float>(size)) /
                        static_cast<float>(Engine::StoreType::rounded(size));
  }

  template <class Engine>
  void on_insert(Engine& engine, std::uint32_t e, std::uint64_t hash) {
    Entry& entry = engine.entry(e);
    entry.last = engine.now();
    entry.mark = intervals_;
    entry.interval = interval_;
    Ghost& ghost = ghost_of(hash);
    if (ghost.tag == tag_of(hash)) ghost = Ghost{};
  }

  template <class Engine>
  void on_reject(Engine& engine, std::uint64_t hash) {
    remember(engine, hash, static_cast<std::uint32_t>(engine.now()), intervals_, interval_);
  }

  template <class Engine>
  void on_remove(Engine& engine, std::uint32_t e, bool evicted) {
    if (!evicted) return;
    const Entry& entry = engine.entry(e);
    remember(engine, hash_key(entry.key()), static_cast<std::uint32_t>(entry.last), entry.mark,
             entry.interval);
  }

  /// Evicts neighbours whose room, merged, holds `bytes`; false if nobody is worth less per byte
  /// than the newcomer.
  template <class Engine>
  bool make_room(Engine& engine, std::uint64_t bytes) {
    const std::uint64_t need = Engine::StoreType::rounded(bytes);
    const std::uint64_t used = engine.entries_used();
    Window best{};
    float lowest = newcomer_density_;
    std::uint64_t visited = 0;
    std::uint64_t nonempty = 0;
    for (; nonempty < sample_ && visited < 4 * sample_; ++visited) {
      const auto e = static_cast<std::uint32_t>(random_.below(used));
      if (engine.entry(e).birth == 0) continue;
      ++nonempty;
      Window window{};
      if (!window_at(engine, e, need, lowest, window)) continue;
      best = window;
      lowest = window.worth / static_cast<float>(window.bytes);
    }
    engine.count_selection(visited, nonempty);
    if (best.count == 0) return false;
    // The descriptors change as neighbours merge: note the owners first.
    std::array<std::uint32_t, max_window> victims;
    std::uint32_t count = 0;
    std::uint32_t r = best.first;
    for (std::uint32_t i = 0; i < best.count; ++i, r = engine.store().next(r))
      if (!engine.store().is_free(r)) victims[count++] = engine.store().owner(r);
    for (std::uint32_t i = 0; i < count; ++i) engine.evict(victims[i]);
    return true;
  }

  /// Whoever of the candidates is worth least for each byte, if less than the newcomer; or `none`.
  template <class Engine>
  std::uint32_t choose(Engine& engine, std::span<const std::uint32_t> candidates) {
    std::uint32_t victim = none;
    float lowest = newcomer_density_;
    for (const std::uint32_t e : candidates) {
      const Entry& entry = engine.entry(e);
      if (!engine.live(e)) return e;
      if (entry.pending()) continue;
      const float density =
          worth(engine, e) / static_cast<float>(engine.store().size(entry.region));
      if (density >= lowest) continue;
      victim = e;
      lowest = density;
    }
    return victim;
  }

 private:
  struct Ghost {
    std::uint32_t tag;  ///< 0: none
    std::uint32_t last;
    float interval;
    std::uint32_t intervals;
  };
  /// Consecutive regions that could be freed together.
  struct Window {
    std::uint32_t first;
    std::uint32_t count;
    std::uint64_t bytes;
    float worth;
  };
  static constexpr std::uint32_t max_intervals = 6;  ///< uses that an interval's mean looks back
  static constexpr std::uint32_t max_window = 24;
  static constexpr float prior_weight = 0.5f;  ///< in intervals observed

  static std::uint32_t tag_of(std::uint64_t hash) {
    const auto tag = static_cast<std::uint32_t>(hash);
    return tag == 0 ? 1 : tag;
  }
  Ghost& ghost_of(std::uint64_t hash) { return ghosts_[to_range(hash, ghosts_.size())]; }

  template <class Engine>
  void remember(Engine& engine, std::uint64_t hash, std::uint32_t last, std::uint32_t intervals,
                float interval) {
    Ghost& ghost = ghost_of(hash);
    if (ghost.tag != 0 && ghost.tag != tag_of(hash) && ghost.intervals == 0)
      learn(static_cast<float>(static_cast<std::uint32_t>(engine.now()) - ghost.last), false);
    ghost = {tag_of(hash), last, interval, intervals};
  }

  /// A key seen once was seen again, or given up, after `age` gets.
  void learn(float age, bool again) {
    exposure_ += age;
    if (again) events_ += 1;
    if (events_ < 1024 && exposure_ < 1e12f) return;
    exposure_ *= 0.5f;
    events_ *= 0.5f;
  }

  /// Uses for each get, estimated: the posterior mean for a few intervals observed, a prior, and a
  /// time without use.
  float rate(std::uint32_t intervals, float interval, float age) const {
    const auto k = static_cast<float>(intervals);
    return (k + prior_weight) / (k * interval + prior_weight * exposure_ / events_ + age);
  }

  template <class Engine>
  float worth(Engine& engine, std::uint32_t e) const {
    const Entry& entry = engine.entry(e);
    const auto age = static_cast<float>(engine.now() - entry.last);
    return rate(entry.mark, entry.interval, age) *
           (latency_bytes_ + static_cast<float>(entry.size));
  }

  /// The cheapest way to grow from an entry to its neighbours until `need` bytes would be free.
  /// False if there is none below `limit`, worth for each byte.
  template <class Engine>
  bool window_at(Engine& engine, std::uint32_t e, std::uint64_t need, float limit, Window& window) {
    auto& store = engine.store();
    const float most = limit * static_cast<float>(need) * 2;  // hopeless beyond it
    std::uint32_t low = engine.entry(e).region;
    std::uint32_t high = low;
    window = {low, 1, store.size(low), 0};
    if (!add_worth(engine, e, window)) return false;
    for (;;) {
      std::uint32_t left = store.prev(low);
      if (left != none && store.is_free(left)) {
        window.bytes += store.size(left);
        ++window.count;
        low = left;
        left = store.prev(low);
      }
      std::uint32_t right = store.next(high);
      if (right != none && store.is_free(right)) {
        window.bytes += store.size(right);
        ++window.count;
        high = right;
        right = store.next(high);
      }
      if (window.bytes >= need || window.worth > most || window.count + 3 > max_window) break;
      Window by_left = window;
      Window by_right = window;
      const bool can_left = left != none && add_worth(engine, store.owner(left), by_left);
      const bool can_right = right != none && add_worth(engine, store.owner(right), by_right);
      if (!can_left && !can_right) return false;
      const bool go_left =
          can_left && (!can_right ||
                       (by_left.worth - window.worth) * static_cast<float>(store.size(right)) <=
                           (by_right.worth - window.worth) * static_cast<float>(store.size(left)));
      window = go_left ? by_left : by_right;
      window.bytes += store.size(go_left ? left : right);
      ++window.count;
      (go_left ? low : high) = go_left ? left : right;
    }
    window.first = low;
    return window.bytes >= need && window.worth < limit * static_cast<float>(window.bytes);
  }

  /// False if the entry cannot be evicted. Entries that were dropped are worth nothing.
  template <class Engine>
  bool add_worth(Engine& engine, std::uint32_t e, Window& window) const {
    if (!engine.live(e)) return true;
    if (engine.entry(e).pending()) return false;
    window.worth += worth(engine, e);
    return true;
  }

  ZeroArray<Ghost> ghosts_;
  float latency_bytes_;
  std::uint32_t sample_;
  Random random_;

  // How soon keys seen once are seen again: exposure_ / events_ gets.
  float exposure_ = 1000;
  float events_ = 1;

  // The key that room is being made for.
  std::uint32_t intervals_ = 0;
  float interval_ = 0;
  float newcomer_density_ = 0;
};

}  // namespace hob::cache
