#pragma once

// Hob's eviction and admission. An entry is worth what it is expected to save: its estimated rate
// of use times the cost of fetching it again. Room is made by evicting the neighbourhood of a few
// sampled entries that is worth least for each byte (so that what is freed is one piece), and only
// if the newcomer is worth more than that.
//
// How often an entry will be used is learned while running (ReuseModel), from the intervals between
// its uses and the time since the last one. Keys that left or were not admitted are remembered for
// a while. The numbers below were chosen with `hob replay --suite choosing`.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <span>

#include "cache/entry.hpp"
#include "cache/hash.hpp"
#include "cache/lazy_memory.hpp"
#include "cache/policy.hpp"
#include "cache/reuse_model.hpp"

namespace hob::cache {

class ValuePolicy : public PolicyDefaults {
 public:
  static constexpr bool kEagerIndex = true;
  static constexpr bool kKnowsReuse = true;
  static constexpr bool kOneEviction = false;

  explicit ValuePolicy(const Config& config)
      : latency_bytes_(static_cast<float>(config.latency_bytes)),
        sample_((config.sample + 1) / 2),  // live ones all; more gains nothing in replay
        adaptive_(config.adaptation.enabled),
        random_(config.seed ^ 0x5eed) {}

  bool allocate(std::uint64_t slots) noexcept {
    // Its first tables are the same for all, and take tens of microseconds to compute.
    static const ReuseModel fresh;
    if (model_ == nullptr) model_.reset(new (std::nothrow) ReuseModel(fresh));
    if (model_ == nullptr) return false;
    const std::uint64_t count =
        std::bit_ceil(std::clamp<std::uint64_t>(2 * slots, 1024, std::uint64_t{1} << 22));
    if (count <= ghosts_.size()) return true;
    ZeroArray<Ghost> ghosts;
    if (!ghosts.allocate(count)) return ghosts_.size() > 0;
    ghosts_ = std::move(ghosts);
    return true;
  }
  std::uint64_t bytes() const {
    return ghosts_.bytes() + (model_ ? sizeof(ReuseModel) : 0) + (victims_ ? sizeof(Victims) : 0);
  }
  void clear() { floor_ = 0; }
  void set_latency_bytes(std::uint64_t bytes) {
    latency_bytes_ = static_cast<float>(std::max<std::uint64_t>(bytes, 1));
  }
  void set_stores_per_hit(double stores) {
    stores_per_hit_ = static_cast<float>(std::clamp(stores, 0.0, double{kMostStores}));
  }

  template <class CacheEngine>
  void on_hit(CacheEngine& engine, std::uint32_t e) {
    Entry& entry = engine.entry(e);
    History history = history_of(entry);
    const std::uint64_t age = engine.now() - entry.last;
    // Learning costs more than the rest of a hit: one in a few, at random, will do.
    if (engine.now() * 0x9e3779b97f4a7c15u >> 61 == 0)
      model_->learn_use(history, entry.size, age, 8);
    ReuseModel::used_after(history, age);
    set_history(entry, history);
    entry.last = engine.now();
    last_reuse_ = engine.now();
    if (entry.size >= kCostlyCopy && !is_block(entry.layout))
      earn(stores_per_hit_ * static_cast<float>(entry.size));
  }

  /// Whether a newcomer of this size is kept. To fill memory for a large get takes about as long as
  /// to fetch it: beyond a budget of bytes, which hits on large entries add to, only keys that come
  /// back are kept, and only where a single hit pays for the copy.
  template <class CacheEngine>
  bool admits(const CacheEngine&, std::uint64_t size) {
    if (size < kCostlyCopy || !adaptive_) return true;
    if (newcomer_.intervals != 0 && stores_per_hit_ >= 1) return true;
    const auto bytes = static_cast<float>(size);
    if (bytes > may_copy_) {
      earn(bytes * kTried);
      return false;
    }
    may_copy_ -= bytes;
    return true;
  }

  bool reuse_since(std::uint64_t get) const {
    return std::max(last_reuse_, last_late_reuse_) >= get;
  }
  bool reuse_in_time_since(std::uint64_t get) const { return last_reuse_ >= get; }

  /// A block that was here before costs the time of many trips to be fetched again. One that was
  /// not would have been fetched anyway.
  std::uint64_t trips(std::uint64_t size) const {
    if (!block_ || newcomer_.intervals == 0) return 1;
    return 1 + static_cast<std::uint64_t>(static_cast<float>(size) / latency_bytes_);
  }

  /// Called before room is made for a key: what is known of it.
  template <class CacheEngine>
  void on_reserve(CacheEngine& engine, std::uint64_t hash, std::uint64_t size, bool block) {
    size_ = size;
    ++asked_;
    look_at_a_ghost(engine.now());
    const Ghost& ghost = ghost_of(hash);
    if (ghost.tag == tag_of(hash)) {
      newcomer_ = ghost.history;
      const std::uint32_t age = static_cast<std::uint32_t>(engine.now()) - ghost.last;
      model_->learn_use(newcomer_, size, age);
      ++returned_;
      ReuseModel::used_after(newcomer_, age);
      const bool in_time = age < engine.now() - engine.dropped_at();
      (in_time ? last_reuse_ : last_late_reuse_) = engine.now();
    } else {
      newcomer_ = {};
    }
    const auto rounded = static_cast<float>(CacheEngine::StoreType::rounded(size));
    // What is worth hardly less stays: exchanging equals gains nothing, and a loop over more than
    // fits would exchange everything.
    asking_density_ = model_->density(newcomer_, size, 0) *
                      (latency_bytes_ + static_cast<float>(size)) / (rounded * kMargin);
    // Whether blocks pay was decided before one is asked for (Readahead), and a block that is
    // refused costs a trip for each get that it would have served. Who has to go is decided here.
    block_ = block;
    if (block) asking_density_ = std::numeric_limits<float>::max();
  }

  template <class CacheEngine>
  void on_insert(CacheEngine& engine, std::uint32_t e, std::uint64_t hash) {
    Entry& entry = engine.entry(e);
    entry.last = engine.now();
    set_history(entry, newcomer_);
    Ghost& ghost = ghost_of(hash);
    if (ghost.tag == tag_of(hash)) ghost = Ghost{};
  }

  template <class CacheEngine>
  void on_reject(CacheEngine& engine, std::uint64_t hash) {
    remember(engine, hash, engine.now(), size_, newcomer_);
  }

  template <class CacheEngine>
  void on_remove(CacheEngine& engine, std::uint32_t e, bool evicted) {
    const Entry& entry = engine.entry(e);
    if (evicted) remember(engine, hash_key(entry.key()), entry.last, entry.size, history_of(entry));
  }

  /// Whether a larger storage could serve more gets: some of the gets that missed since the last
  /// call had been here, or had been asked for, before. A stream that is read once needs no room.
  bool wants_room() {
    const bool wants = returned_ * 50 > asked_;
    asked_ = returned_ = 0;
    return wants;
  }

  /// Evicts neighbours whose room, merged, holds `bytes`; false if no entry is worth less per byte
  /// than the newcomer.
  template <class CacheEngine>
  bool make_room(CacheEngine& engine, std::uint64_t bytes) {
    // Looking for a victim costs more than the rest of a miss. What is worth less than the least
    // that recent samples held is refused unseen, but for one in a few, lest the floor be out of
    // date.
    if (block_) return make_much_room(engine, bytes);
    if (asking_density_ < floor_ && ++refused_unseen_ % kLookAnyway != 0) return false;
    // Among small entries, the few neighbours of a window would never be enough.
    if (bytes > engine.used_bytes() / (engine.entries() + 1) * (kMaxWindow / 2))
      return make_much_room(engine, bytes);
    const std::uint64_t need = CacheEngine::StoreType::rounded(bytes);
    const std::uint64_t used = engine.entries_used();
    // First ask for the descriptors of the whole sample, so that the memory accesses overlap.
    std::array<std::uint32_t, kMaxSample> sampled;
    std::uint32_t count = 0;
    std::uint64_t visited = 0;
    for (; count < sample_; ++count, ++visited) {
      sampled[count] = static_cast<std::uint32_t>(random_.below(used));
      const auto* line = reinterpret_cast<const char*>(&engine.entry(sampled[count]));
      __builtin_prefetch(line);
      __builtin_prefetch(line + 64);
    }
    Window best{};
    float lowest = asking_density_;
    float least = std::numeric_limits<float>::max();
    std::uint64_t nonempty = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (engine.entry(sampled[i]).birth == 0) continue;
      ++nonempty;
      least = std::min(least, density_of(engine, sampled[i]));
      Window window{};
      if (!window_at(engine, sampled[i], need, lowest, window)) continue;
      best = window;
      lowest = window.worth / static_cast<float>(window.bytes);
    }
    engine.count_selection(visited, nonempty);
    if (nonempty != 0) floor_ += (least - floor_) / 16;
    if (best.count == 0) return false;
    // The descriptors change as neighbours merge: note the owners first.
    std::array<std::uint32_t, kMaxWindow> victims;
    count = 0;
    std::uint32_t r = best.first;
    for (std::uint32_t i = 0; i < best.count; ++i, r = engine.store().next(r))
      if (!engine.store().is_free(r)) victims[count++] = engine.store().owner(r);
    for (std::uint32_t i = 0; i < count; ++i) engine.evict(victims[i]);
    return true;
  }

  /// Whoever of the candidates is worth least for each byte, if less than the newcomer; or `kNone`.
  template <class CacheEngine>
  std::uint32_t choose(CacheEngine& engine, std::span<const std::uint32_t> candidates) {
    std::uint32_t victim = kNone;
    float lowest = asking_density_;
    for (const std::uint32_t e : candidates) {
      const Entry& entry = engine.entry(e);
      if (!engine.live(e)) return e;
      if (entry.pending()) continue;
      const float density = density_of(engine, e);
      if (density >= lowest) continue;
      victim = e;
      lowest = density;
    }
    return victim;
  }

 private:
  using History = ReuseModel::History;

  /// A key that is not in the cache.
  struct Ghost {
    std::uint32_t tag;  ///< 0: none
    std::uint32_t last;
    History history;
    std::uint32_t size : 31;
    std::uint32_t counted : 1;  ///< as lost sight of
  };
  /// Consecutive regions that could be freed together.
  struct Window {
    std::uint32_t first;
    std::uint32_t count;
    std::uint64_t bytes;
    float worth;
  };
  static constexpr std::uint32_t kMaxWindow = 24;  ///< regions looked at around a sampled entry
  static constexpr std::uint32_t kMaxSample = 256;
  static constexpr float kMargin = 1.2f;  ///< how much more a newcomer must be worth
  static constexpr std::uint32_t kLookAnyway = 8;
  static constexpr std::uint64_t kCostlyCopy = std::uint64_t{16} << 10;
  /// Bytes of large gets that are kept at first, and at most, before one of them is asked for
  /// again. The first costs a program that reads everything once some milliseconds. Chosen with
  /// `hob bench map` (gets over TCP).
  static constexpr float kFirstCopies = 1 << 20;
  static constexpr float kMostCopies = 64 << 20;
  /// Bytes that may be stored for each that is hit: until it is known, and at most.
  static constexpr float kFirstStores = 4, kMostStores = 16;
  /// Of what is refused, so much is kept all the same: programs have phases.
  static constexpr float kTried = 1.0f / 64;

  void earn(float bytes) { may_copy_ = std::min(may_copy_ + bytes, kMostCopies); }

  static std::uint32_t tag_of(std::uint64_t hash) {
    const auto tag = static_cast<std::uint32_t>(hash);
    return tag == 0 ? 1 : tag;
  }
  Ghost& ghost_of(std::uint64_t hash) { return ghosts_[to_range(hash, ghosts_.size())]; }

  static History history_of(const Entry& entry) {
    return {entry.interval, static_cast<std::uint16_t>(entry.mark >> 16),
            static_cast<std::uint16_t>(entry.mark)};
  }
  static void set_history(Entry& entry, const History& history) {
    entry.interval = history.mean;
    entry.mark = std::uint32_t{history.intervals} << 16 | history.last;
  }

  template <class CacheEngine>
  void remember(CacheEngine& engine, std::uint64_t hash, std::uint64_t last, std::uint64_t size,
                const History& history) {
    Ghost& ghost = ghost_of(hash);
    if (ghost.tag != 0 && ghost.tag != tag_of(hash) && ghost.counted == 0)
      model_->learn_loss(ghost.history, ghost.size,
                         static_cast<std::uint32_t>(engine.now()) - ghost.last);
    ghost = {tag_of(hash), static_cast<std::uint32_t>(last), history,
             static_cast<std::uint32_t>(std::min<std::uint64_t>(size, 0x7fffffffu)), 0};
  }

  /// Keys that do not come back must be counted as well, long before their place is taken.
  void look_at_a_ghost(std::uint64_t now) {
    Ghost& ghost = ghosts_[ghost_hand_++ & (ghosts_.size() - 1)];
    if (ghost.tag == 0 || ghost.counted != 0) return;
    const std::uint32_t age = static_cast<std::uint32_t>(now) - ghost.last;
    if (age < 1024) return;
    model_->learn_loss(ghost.history, ghost.size, age);
    ghost.counted = 1;
  }

  template <class CacheEngine>
  float worth(CacheEngine& engine, std::uint32_t e) const {
    const Entry& entry = engine.entry(e);
    return model_->density(history_of(entry), entry.size, engine.now() - entry.last) *
           (latency_bytes_ + static_cast<float>(entry.used_bytes()));
  }

  /// Worth of each byte. Entries that were dropped are worth nothing.
  template <class CacheEngine>
  float density_of(CacheEngine& engine, std::uint32_t e) const {
    if (!engine.live(e)) return 0;
    return worth(engine, e) / static_cast<float>(engine.store().size(engine.entry(e).region));
  }

  /// Room that may be that of thousands of small entries, around the least valuable of a few
  /// sampled entries, or around another one where neighbours are pending. For a block, whoever has
  /// to go.
  template <class CacheEngine>
  bool make_much_room(CacheEngine& engine, std::uint64_t bytes) {
    if (victims_ == nullptr) victims_.reset(new (std::nothrow) Victims);
    if (victims_ == nullptr) return false;
    const std::uint64_t need = CacheEngine::StoreType::rounded(bytes);
    std::array<std::pair<float, std::uint32_t>, kMaxSample> sampled;
    std::uint32_t count = 0;
    // Where blocks have replaced small entries, few of the descriptors are in use.
    const std::uint64_t used = engine.entries_used();
    const std::uint32_t steps = static_cast<std::uint32_t>(std::min<std::uint64_t>(used, 4096));
    std::uint64_t e = random_.below(used);
    std::uint32_t visited = 0;
    for (; visited < steps && count < sample_; ++visited) {
      e = count == 0 || used < std::uint64_t{4} * sample_ ? (e + 1) % used : random_.below(used);
      const auto entry = static_cast<std::uint32_t>(e);
      if (engine.entry(entry).birth == 0) continue;
      if (engine.live(entry) && engine.entry(entry).pending()) continue;
      sampled[count++] = {density_of(engine, entry), entry};
    }
    engine.count_selection(visited, count);
    std::sort(sampled.begin(), sampled.begin() + count);
    for (std::uint32_t i = 0; i < std::min(count, kFewTries); ++i) {
      Window window{};
      if (!window_at(engine, sampled[i].second, need, asking_density_, window, kMostVictims))
        continue;
      std::uint32_t victims = 0;
      std::uint32_t r = window.first;
      for (std::uint32_t k = 0; k < window.count; ++k, r = engine.store().next(r))
        if (!engine.store().is_free(r)) (*victims_)[victims++] = engine.store().owner(r);
      for (std::uint32_t k = 0; k < victims; ++k) engine.evict((*victims_)[k]);
      return true;
    }
    return false;
  }

  /// The cheapest way to grow from an entry to its neighbours until `need` bytes would be free.
  /// False if there is none below `limit`, worth for each byte.
  template <class CacheEngine>
  bool window_at(CacheEngine& engine, std::uint32_t e, std::uint64_t need, float limit,
                 Window& window, std::uint32_t most_regions = kMaxWindow) {
    auto& store = engine.store();
    const float most = limit * static_cast<float>(need) * 2;  // hopeless beyond it
    std::uint32_t low = engine.entry(e).region;
    std::uint32_t high = low;
    window = {low, 1, store.size(low), 0};
    if (!add_worth(engine, e, window)) return false;
    while (window.bytes < need) {
      std::uint32_t left = store.prev(low);
      if (left != kNone && store.is_free(left)) {
        window.bytes += store.size(left);
        ++window.count;
        low = left;
        left = store.prev(low);
      }
      std::uint32_t right = store.next(high);
      if (right != kNone && store.is_free(right)) {
        window.bytes += store.size(right);
        ++window.count;
        high = right;
        right = store.next(high);
      }
      if (window.bytes >= need || window.worth > most || window.count + 3 > most_regions) break;
      Window by_left = window;
      Window by_right = window;
      const bool can_left = left != kNone && add_worth(engine, store.owner(left), by_left);
      const bool can_right = right != kNone && add_worth(engine, store.owner(right), by_right);
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
  template <class CacheEngine>
  bool add_worth(CacheEngine& engine, std::uint32_t e, Window& window) const {
    if (!engine.live(e)) return true;
    if (engine.entry(e).pending()) return false;
    window.worth += worth(engine, e);
    return true;
  }

  ZeroArray<Ghost> ghosts_;
  float latency_bytes_;
  std::uint32_t sample_;
  bool adaptive_;
  Random random_;

  static constexpr std::uint32_t kMostVictims = 8192;  ///< of one entry
  static constexpr std::uint32_t kFewTries = 4;
  using Victims = std::array<std::uint32_t, kMostVictims>;
  std::unique_ptr<Victims> victims_;  ///< from the first entry on that takes so much room
  bool block_ = false;                ///< room is made for one

  std::unique_ptr<ReuseModel> model_;  ///< from the first insertion on
  std::uint64_t ghost_hand_ = 0;

  float floor_ = 0;  ///< the least worth for each byte that samples held, of late
  std::uint32_t refused_unseen_ = 0;

  // Since the last wants_room(): insertions asked for, and those of keys known already.
  std::uint64_t asked_ = 0;
  std::uint64_t returned_ = 0;

  std::uint64_t last_reuse_ = 0;       ///< the last get whose key was seen before
  std::uint64_t last_late_reuse_ = 0;  ///< likewise, but everything was dropped in between
  float stores_per_hit_ = kFirstStores;
  float may_copy_ = kFirstCopies;  ///< bytes of large gets

  // The key that room is being made for.
  History newcomer_{};
  std::uint64_t size_ = 0;
  float asking_density_ = 0;  ///< room is made only by what is worth less for each byte
};

}  // namespace hob::cache
