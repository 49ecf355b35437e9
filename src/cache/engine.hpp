#pragma once

// The cache itself: entries, tied together from an index, a storage and a policy. It is a template
// so that a lookup costs one virtual call and no more; its longer functions are in engine_*.hpp,
// each for one purpose, which cache.cpp includes.
//
// Dropping is O(1). drop_all() restarts the index (by an epoch number), the storage and the table
// of entries; names of old entries no longer match. drop_target() notes, for that target, the
// generation from which on entries are valid; older ones count as missing and are removed as they
// are met, and by a few steps at each later reserve().

#include <algorithm>

#include "cache/adaptation.hpp"
#include "cache/cache.hpp"
#include "cache/container_map.hpp"
#include "cache/entry.hpp"
#include "cache/hash.hpp"
#include "cache/policy.hpp"
#include "cache/range_map.hpp"

namespace hob::cache {

template <class Index, class Store, class Policy>
class CacheEngine final : public Cache {
 public:
  using StoreType = Store;

  explicit CacheEngine(const Config& config) : Cache(config), policy_(config) {
    static_assert(EvictionPolicy<Policy, CacheEngine>);
    look_interval_ = config_.adaptation.interval;
    if constexpr (Policy::kEagerIndex)
      look_interval_ = std::min(look_interval_, kFirstLookInterval);
    next_adapt_ = look_interval_;
  }

  // -- Lookup ------------------------------------------------------------------------------------

  Lookup find(const Key& key, std::uint64_t size) noexcept override;

  FullHit find_full(const Key& key, std::uint64_t size, const HitTerms& terms) noexcept override;

  std::uint64_t last_tag() const noexcept override { return last_tag_; }

  std::array<Fragment, 2> fragments(const Key& key, std::uint64_t size) noexcept override;

  EntryId entry_of(const Key& key) noexcept override {
    const std::uint32_t e = ready_ ? valid_entry(key) : kNone;
    return e == kNone ? EntryId{} : EntryId{e, entries_[e].birth};
  }

  bool in_blocks(std::uint32_t target, std::uint64_t displacement,
                 std::uint64_t size) noexcept override;

  // -- Insertion ---------------------------------------------------------------------------------

  Reservation reserve(const Key& key, std::uint64_t size, Fetch fetch) noexcept override;

  bool extend(EntryId id, std::uint64_t size, Fetch fetch) noexcept override;

  bool fill(EntryId id, const void* data, std::uint64_t bytes, std::uint64_t offset,
            std::uint64_t ticks) noexcept override;

  std::byte* writable(EntryId id) noexcept override {
    Entry* const entry = named(id);
    return entry != nullptr && entry->pending() ? entry->data : nullptr;
  }

  bool complete(EntryId id, std::uint64_t ticks) noexcept override {
    Entry* const entry = named(id);
    return entry != nullptr && entry->pending() && finish(*entry, id.index, ticks);
  }

  void abandon(EntryId id) noexcept override;

  bool refresh(EntryId id, const void* data, std::uint64_t bytes, std::uint64_t offset,
               std::uint64_t ticks) noexcept override;

  // -- Invalidation ------------------------------------------------------------------------------

  void drop_all() noexcept override { restart(); }

  void drop_target(std::uint32_t target) noexcept override;

  void drop_range(std::uint32_t target, std::uint64_t displacement,
                  std::uint64_t bytes) noexcept override;

  void drop_differing(std::uint32_t target, std::uint64_t displacement, const void* data,
                      std::uint64_t bytes) noexcept override;

  void drop(EntryId id) noexcept override {
    if (named(id) != nullptr) remove(id.index, false);
  }

  // -- Sizes -------------------------------------------------------------------------------------

  void resize(std::uint64_t index_slots, std::uint64_t storage_bytes) noexcept override {
    change_index(index_slots, Reason::requested);
    change_storage(storage_bytes, Reason::requested);
  }

  void set_latency_bytes(std::uint64_t bytes) noexcept override {
    config_.latency_bytes = bytes;
    policy_.set_latency_bytes(bytes);
  }

  void set_stores_per_hit(double stores) noexcept override { policy_.set_stores_per_hit(stores); }

  bool reused_since(std::uint64_t get) const noexcept override {
    return policy_.reuse_in_time_since(get);
  }

  std::uint64_t index_slots() const noexcept override {
    return ready_ ? index_.slots() : config_.index_slots;
  }
  std::uint64_t storage_bytes() const noexcept override {
    return ready_ ? store_.capacity() : config_.storage_bytes;
  }
  std::uint64_t used_bytes() const noexcept override { return ready_ ? store_.used() : 0; }
  std::uint64_t entries() const noexcept override { return live_; }
  std::uint64_t pending() const noexcept override { return pending_; }

  std::uint64_t memory_bytes() const noexcept override {
    return sizeof(*this) + entries_.bytes() + index_.bytes() + store_.bytes() +
           containers_.bytes() + ranges_.bytes() + floors_.bytes() + policy_.bytes() +
           stats_.occupancy.points().capacity() * sizeof(Occupancy) +
           stats_.adjustments.capacity() * sizeof(Adjustment);
  }

  // -- For policies ------------------------------------------------------------------------------

  Entry& entry(std::uint32_t e) const { return entries_[e]; }
  /// Index of the current get in the sequence of gets.
  std::uint64_t now() const { return stats_.gets; }
  /// Index of the last get before everything was dropped last.
  std::uint64_t dropped_at() const { return dropped_at_; }
  /// Neither free nor dropped.
  bool live(std::uint32_t e) const {
    return entries_[e].birth != 0 && valid_generation(entries_[e]);
  }
  Store& store() { return store_; }
  bool fits(std::uint64_t bytes) { return store_.fits(bytes); }
  std::uint64_t adjacent_free(std::uint32_t e) const {
    return store_.adjacent_free(entries_[e].region);
  }
  std::uint64_t slots() const { return index_.slots(); }
  std::uint32_t at_slot(std::uint64_t slot) const { return index_.at(slot); }
  /// Entries have numbers below this; not all of them are live.
  std::uint64_t entries_used() const { return used_; }
  void count_selection(std::uint64_t visited, std::uint64_t nonempty) {
    ++stats_.selections;
    stats_.visited += visited;
    stats_.visited_nonempty += nonempty;
  }
  void evict(std::uint32_t e) {
    const bool was_live = live(e);
    if (was_live) ++stats_.evictions;
    remove(e, was_live);
  }

 private:
  template <class Visit>
  void each_overlapping(std::uint32_t target, std::uint64_t displacement, std::uint64_t bytes,
                        Visit visit);
  static constexpr std::uint64_t kMaxFloors = 4096;
  static constexpr std::uint32_t kSweepSteps = 8;
  static constexpr std::int32_t kMaxCredit = 1024;
  static constexpr std::uint64_t kFirstLookInterval = 64;  ///< gets
  static constexpr std::uint64_t kReuseHorizon = 256;      ///< gets
  static constexpr std::uint64_t kFewEvents = 4;
  static constexpr std::size_t kMaxAdjustments = 256;
  /// A storage becomes smaller once so many drops, or looks with no drop in between, have found
  /// most of it free.
  static constexpr std::uint64_t kDropsRemembered = 64, kLooksRemembered = 16;

  auto hash_of() const {
    return [this](std::uint32_t e) { return hash_key(entries_[e].key()); };
  }
  auto set_slot() {
    return [this](std::uint32_t e, std::uint32_t slot) { entries_[e].slot = slot; };
  }

  std::uint32_t lookup(const Key& key, std::uint64_t hash) const {
    return index_.find(hash, [&](std::uint32_t e) { return entries_[e].matches(key); });
  }

  /// The entry of that key, or `kNone`; one that was dropped is removed on the way.
  [[gnu::always_inline]] std::uint32_t valid_entry(const Key& key) {
    const std::uint32_t e = lookup(key, hash_key(key));
    if (e == kNone || valid_generation(entries_[e])) [[likely]]
      return e;
    remove(e, false);
    return kNone;
  }

  // -- Blocks ------------------------------------------------------------------------------------

  std::uint32_t block_at(std::uint32_t target, std::uint64_t displacement, std::uint32_t shift) {
    return valid_entry({target, block_begin(displacement, shift), block_layout(shift)});
  }

  void enter(std::uint32_t e, const Key& key, std::uint64_t size, std::uint32_t region,
             const Fetch& fetch);
  void count(Access access) {
    ++(access == Access::conflicting ? stats_.conflicting
       : access == Access::capacity  ? stats_.capacity
                                     : stats_.direct);
  }
  void note_block(Entry& entry, const Fetch& fetch) {
    const std::uint32_t shift = block_shift(entry.layout);
    sizes_.add(shift);
    if (fetch.asked_bytes != 0) entry.touched = block_parts(shift, fetch.asked, fetch.asked_bytes);
    ++stats_.blocks;
    stats_.ahead_bytes += entry.size - entry.used_bytes();
  }

  /// The block that served last, if it holds all of these bytes, or another one of its size;
  /// `kNone`: neither.
  std::uint32_t usual_block(const Key& key, std::uint64_t last) {
    if (last_block_) {
      const Entry& entry = entries_[last_block_.index];
      if (entry.birth == last_block_.birth && entry.target == key.target &&
          key.displacement >= entry.displacement && last - entry.displacement < entry.size &&
          !entry.pending() && valid_generation(entry))
        return last_block_.index;
    }
    if ((sizes_.mask() >> last_shift_ & 1) == 0 ||
        block_begin(last, last_shift_) != block_begin(key.displacement, last_shift_))
      return kNone;
    const std::uint32_t e = block_at(key.target, key.displacement, last_shift_);
    if (e == kNone || entries_[e].pending() || last - entries_[e].displacement >= entries_[e].size)
      return kNone;
    last_block_ = {e, entries_[e].birth};
    return e;
  }

  /// Looks for blocks that hold all of a contiguous get: one, or two side by side. Notes in
  /// half_shift_ where one of two was found.
  bool find_block(const Key& key, std::uint64_t size, Lookup& found);

  /// An exact entry has the bytes already that a block will bring.
  bool is_here(const Key& key, std::uint64_t size) {
    const std::uint32_t e = valid_entry(key);
    return e != kNone && entries_[e].valid >= size;
  }

  static std::uint32_t highest(std::uint32_t mask) {
    return static_cast<std::uint32_t>(std::bit_width(mask)) - 1;
  }

  Lookup block_hit(std::uint32_t e, std::uint64_t size, std::uint64_t offset) {
    Lookup found = hit(e, size, offset);
    found.block = block_shift(entries_[e].layout);
    found.first = touch(entries_[e], offset, size);
    if (found.first) ++stats_.ahead_hits;
    return found;
  }

  /// True if some of it was not asked for before.
  bool touch(Entry& entry, std::uint64_t offset, std::uint64_t bytes) {
    const std::uint32_t shift = block_shift(entry.layout);
    const std::uint64_t fresh = block_parts(shift, offset, bytes) & ~entry.touched;
    if (fresh == 0) [[likely]]
      return false;
    stats_.ahead_used_bytes += bytes_of_parts(shift, fresh);
    entry.touched |= fresh;
    return true;
  }

  /// At least one of the two blocks is there.
  Lookup split_hit(const Key& key, std::uint64_t size);

  bool valid_generation(const Entry& entry) const {
    return floors_.size() == 0 || entry.generation >= floors_[entry.target % kMaxFloors];
  }

  /// The entry of that name, or null; one that was dropped is removed on the way.
  Entry* named(EntryId id) {
    if (!id || id.index >= used_ || entries_[id.index].birth != id.birth) return nullptr;
    if (valid_generation(entries_[id.index])) return &entries_[id.index];
    remove(id.index, false);
    return nullptr;
  }

  void count_use(Entry& entry) {
    const std::uint32_t uses = ++entry.uses;
    if ((uses & (uses - 1)) != 0 || uses == 0) return;
    // Crossed a power of two: the entry moves up one bar of the histogram.
    --stats_.reuse.counts[std::bit_width(uses) - 1];
    ++stats_.reuse.counts[std::bit_width(uses)];
  }

  /// Whether some of these bytes were not asked for before.
  bool has_unasked(const Entry& entry, std::uint64_t offset, std::uint64_t bytes) const {
    if (!is_block(entry.layout)) [[likely]]
      return entry.touched != 0;
    return (block_parts(block_shift(entry.layout), offset, bytes) & ~entry.touched) != 0;
  }

  /// The number in a row that a hit there has.
  std::uint32_t row_of(const Entry& entry, std::uint32_t e, std::uint64_t offset) const {
    return last_hit_ == e && last_offset_ == offset ? entry.consecutive + 1 : 1;
  }

  void note_get(std::uint64_t size) {
    stats_.get_size.add(size);
    policy_.on_get(size);
  }

  void note_hit(Entry& entry, std::uint32_t e, std::uint64_t offset, std::uint32_t row) {
    policy_.on_hit(*this, e);
    count_use(entry);
    entry.consecutive = row;
    last_hit_ = e;
    last_offset_ = offset;
  }

  Lookup hit(std::uint32_t e, std::uint64_t size, std::uint64_t offset);

  /// An entry that covers the whole range from another displacement; not looked for at every miss
  /// once that has proved vain.
  std::uint32_t find_container(const Key& key, std::uint64_t size);

  Reservation fail() {
    ++stats_.failing;
    return {};
  }
  Reservation reject(std::uint64_t hash) {
    policy_.on_reject(*this, hash);
    return fail();
  }

  bool finish(Entry& entry, std::uint32_t e, std::uint64_t ticks) {
    --pending_;
    if (entry.size == 0) {
      ++pending_;
      remove(e, false);
      return false;
    }
    entry.valid = entry.size;
    entry.fetched = ticks;
    return true;
  }

  /// More room for an entry, where it is or elsewhere, without evicting anyone.
  bool enlarge(std::uint32_t e, std::uint64_t size);

  // -- The table of entries ----------------------------------------------------------------------

  bool make_ready();

  std::uint32_t new_entry() {
    if (free_ != kNone) {
      const std::uint32_t e = free_;
      free_ = entries_[e].next;
      return e;
    }
    if (used_ >= entries_.max_size() || !entries_.grow(used_ + 1)) return kNone;
    entries_[used_].birth = 0;
    return static_cast<std::uint32_t>(used_++);
  }
  void recycle(std::uint32_t e) {
    entries_[e].birth = 0;
    entries_[e].next = free_;
    free_ = e;
  }

  void remove(std::uint32_t e, bool evicted) {
    index_.erase(entries_[e].slot);
    remove_unindexed(e, evicted);
  }
  void remove_unindexed(std::uint32_t e, bool evicted);

  void restart();

  /// Removes a few of the entries that drop_target() left.
  void sweep();

  // -- Adaptation --------------------------------------------------------------------------------

  void look();

  void note_adjustment(bool of_index, std::uint64_t from, std::uint64_t to, Reason reason);

  bool grow_index_now();

  /// The same for the storage, as soon as the paper's signal (capacity and failing gets) is there
  /// and gets do come back. There is no room for `size` bytes.
  bool grow_storage_now(std::uint64_t size);

  void begin_interval(std::uint64_t length);

  void change_index(std::uint64_t slots, Reason reason);

  /// Enters an entry into a new index; it is lost if there is no place.
  void move_to(Index& fresh, std::uint32_t e);

  void rebuild_maps();

  void change_storage(std::uint64_t bytes, Reason reason);

  Index index_;
  LazyArray<Entry> entries_;
  ZeroArray<std::uint32_t> floors_;  ///< by target: the first valid generation
  std::uint64_t used_ = 0;           ///< entries_ beyond it were never in use
  std::uint32_t last_hit_ = kNone;
  BlockSizes sizes_;
  std::uint32_t last_shift_ = 0;   ///< of the block that served last
  EntryId last_block_;             ///< that block
  std::uint32_t half_shift_ = 0;   ///< find() met one or both of two blocks of this size
  bool blocks_first_ = false;      ///< a block served the last hit
  std::uint64_t last_offset_ = 0;  ///< in the entry last_hit_
  std::uint64_t last_tag_ = 0;
  bool ready_ = false;   ///< memory was taken
  bool broken_ = false;  ///< there was none to take
  std::uint64_t next_look_ = 1;
  Policy policy_;

  Store store_;
  ContainerMap containers_;
  RangeMap ranges_;
  std::uint32_t free_ = kNone;  ///< list of free entries
  std::uint32_t births_ = 0;
  std::uint32_t generation_ = 1;
  std::uint64_t live_ = 0;
  std::uint64_t pending_ = 0;
  std::uint64_t sweep_left_ = 0;
  std::uint32_t sweep_hand_ = 0;
  std::int32_t container_credit_ = kMaxCredit;
  Signals signals_;
  std::uint64_t next_adapt_ = 0;
  std::uint64_t look_interval_ = 0;
  std::uint64_t last_look_ = 0;
  std::uint64_t short_of_space_ = 0;  ///< trips for what had no room, since the last look
  std::uint64_t used_at_look_ = 0;    ///< bytes
  /// Bytes in use when everything was dropped: the most of the last times, forgotten gradually.
  std::uint64_t used_at_drops_ = 0;
  bool dropped_ = false;          ///< everything, since the last look
  std::uint64_t dropped_at_ = 0;  ///< the last get before everything was dropped last
};

}  // namespace hob::cache
