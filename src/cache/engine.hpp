#pragma once
// Long: one class; its parts are the templates it is made of.

// The cache itself: entries, tied together from an index, a storage and a policy. It is a template
// so that a lookup costs one virtual call and no more.
//
// Dropping is O(1). drop_all() restarts the index (by an epoch number), the storage and the table
// of entries; names of old entries no longer match. drop_target() notes, for that target, the
// generation from which on entries are valid; older ones count as missing and are removed as they
// are met, and by a few steps at each later reserve().

#include <algorithm>
#include <cstring>

#include "cache/adaptation.hpp"
#include "cache/cache.hpp"
#include "cache/container_map.hpp"
#include "cache/entry.hpp"
#include "cache/hash.hpp"
#include "cache/range_map.hpp"

namespace hob::cache {

template <class Index, class Store, class Policy>
class Engine final : public Cache {
 public:
  using StoreType = Store;

  explicit Engine(const Config& config) : Cache(config), policy_(config) {
    look_interval_ = config_.adaptation.interval;
    if constexpr (Policy::eager_index)
      look_interval_ = std::min(look_interval_, first_look_interval);
    next_adapt_ = look_interval_;
  }

  // -- Lookup ------------------------------------------------------------------------------------

  Lookup find(const Key& key, std::uint64_t size) noexcept override {
    if (size == 0) {
      Lookup nothing;
      nothing.kind = Hit::full;
      return nothing;
    }
    if (++stats_.gets >= next_look_) [[unlikely]]
      look();
    stats_.get_size.add(size);
    policy_.on_get(size);
    if (ready_) [[likely]] {
      // What served the last get is tried first.
      Lookup found;
      half_shift_ = 0;
      const bool blocks = key.layout == 0 && sizes_.mask() != 0;
      if (blocks && blocks_first_ && find_block(key, size, found)) return found;
      const std::uint32_t e = valid_entry(key);
      if (e != none) {
        blocks_first_ = false;
        return hit(e, size, 0);
      }
      if (blocks && !blocks_first_ && find_block(key, size, found)) {
        blocks_first_ = true;
        return found;
      }
      if (key.layout == 0) {
        const std::uint32_t container = find_container(key, size);
        if (container != none) {
          ++stats_.hits_contained;
          return hit(container, size, key.displacement - entries_[container].displacement);
        }
        if (half_shift_ != 0) return split_hit(key, size);
      }
    }
    last_hit_ = none;
    ++stats_.missing;
    stats_.bytes_from_network += size;
    return {};
  }

  std::array<Part, 2> parts(const Key& key, std::uint64_t size) noexcept override {
    const std::uint64_t end = key.displacement + size;
    const std::uint64_t middle = block_begin(end - 1, half_shift_);
    std::array<Part, 2> result{Part{key.displacement, middle - key.displacement},
                               Part{middle, end - middle}};
    for (Part& part : result) {
      const std::uint32_t e = block_at(key.target, part.displacement, half_shift_);
      if (e == none) continue;
      const Entry& entry = entries_[e];
      part.entry = {e, entry.birth};
      part.cookie = entry.cookie;
      if (!entry.pending()) part.data = entry.data + (part.displacement - entry.displacement);
    }
    return result;
  }

  EntryId entry_of(const Key& key) noexcept override {
    const std::uint32_t e = ready_ ? valid_entry(key) : none;
    return e == none ? EntryId{} : EntryId{e, entries_[e].birth};
  }

  // -- Insertion ---------------------------------------------------------------------------------

  Reservation reserve(const Key& key, std::uint64_t size, Fetch fetch) noexcept override {
    if (size == 0 || (!ready_ && !make_ready())) return fail();
    sweep();
    const std::uint64_t hash = hash_key(key);
    if (const std::uint32_t old = lookup(key, hash); old != none) {
      if (valid_generation(entries_[old])) return fail();
      remove(old, false);
    }
    policy_.on_reserve(*this, hash, size, is_block(key.layout));
    if (size > store_.capacity()) return reject(hash);
    if constexpr (requires { policy_.admits(*this, size); })
      if (!is_block(key.layout) && !policy_.admits(*this, size)) return reject(hash);

    Access access = Access::direct;
    if (!index_.prepare(hash, hash_of()) &&
        !(grow_index_now() && index_.prepare(hash, hash_of()))) {
      const std::uint32_t victim = policy_.choose(*this, index_.candidates());
      if (victim == none) return reject(hash);
      evict(victim);
      access = Access::conflicting;
    }
    const std::uint32_t e = new_entry();
    if (e == none) return reject(hash);
    std::uint32_t region = store_.allocate(size, e);
    if (region == none && grow_storage_now()) region = store_.allocate(size, e);
    if (region == none && !(Policy::one_eviction && access == Access::conflicting) &&
        policy_.make_room(*this, size)) {
      region = store_.allocate(size, e);
      if (access == Access::direct) access = Access::capacity;
    }
    if (region == none) {
      recycle(e);
      return reject(hash);
    }
    const bool placed = index_.commit(hash, e, hash_of(), set_slot());
    if (!placed) {
      store_.release(region);
      recycle(e);
      return reject(hash);
    }
    Entry& entry = entries_[e];
    entry.displacement = key.displacement;
    entry.layout = key.layout;
    entry.target = key.target;
    if (++births_ == 0) births_ = 1;
    entry.birth = births_;
    entry.valid = 0;
    entry.data = store_.data(region);
    entry.size = size;
    entry.uses = 1;
    entry.generation = generation_;
    entry.fetched = 0;
    entry.cookie = fetch.cookie;
    entry.extent =
        std::max(fetch.extent, key.layout == 0 || is_block(key.layout) ? size : std::uint64_t{1});
    entry.touched = 0;
    if (is_block(key.layout)) note_block(entry, fetch);
    entry.region = region;
    entry.consecutive = 0;
    ++live_;
    ++pending_;
    ++stats_.reuse.counts[1];
    policy_.on_insert(*this, e, hash);
    if (key.layout == 0) containers_.insert(key.target, key.displacement, size, e);
    if (ranges_.active()) ranges_.insert(entries_, e);
    switch (access) {
      case Access::conflicting:
        ++stats_.conflicting;
        break;
      case Access::capacity:
        ++stats_.capacity;
        break;
      default:
        ++stats_.direct;
    }
    return {access, {e, entry.birth}};
  }

  bool extend(EntryId id, std::uint64_t size, Fetch fetch) noexcept override {
    Entry* const entry = named(id);
    if (entry == nullptr || entry->pending() || size <= entry->size || !enlarge(id.index, size)) {
      ++stats_.failing;
      return false;
    }
    if (ranges_.active()) ranges_.remove(entries_, id.index);
    entry->size = size;
    entry->cookie = fetch.cookie;
    entry->extent =
        std::max({entry->extent, fetch.extent, entry->layout == 0 ? size : std::uint64_t{1}});
    if (ranges_.active()) ranges_.insert(entries_, id.index);
    if (entry->layout == 0) containers_.insert(entry->target, entry->displacement, size, id.index);
    ++pending_;
    ++stats_.extended;
    return true;
  }

  bool fill(EntryId id, const void* data, std::uint64_t bytes, std::uint64_t offset,
            std::uint64_t ticks) noexcept override {
    Entry* const entry = named(id);
    if (entry == nullptr || !entry->pending()) return false;
    if (offset > entry->valid || bytes > entry->size - offset || offset + bytes < entry->valid) {
      abandon(id);
      return false;
    }
    std::memcpy(entry->data + offset, data, bytes);
    entry->size = offset + bytes;
    return finish(*entry, id.index, ticks);
  }

  std::byte* writable(EntryId id) noexcept override {
    Entry* const entry = named(id);
    return entry != nullptr && entry->pending() ? entry->data : nullptr;
  }

  bool complete(EntryId id, std::uint64_t ticks) noexcept override {
    Entry* const entry = named(id);
    return entry != nullptr && entry->pending() && finish(*entry, id.index, ticks);
  }

  void abandon(EntryId id) noexcept override {
    Entry* const entry = named(id);
    if (entry == nullptr || !entry->pending()) return;
    if (entry->valid == 0) {
      remove(id.index, false);
      return;
    }
    entry->size = entry->valid;
    --pending_;
  }

  bool refresh(EntryId id, const void* data, std::uint64_t bytes, std::uint64_t offset,
               std::uint64_t ticks) noexcept override {
    Entry* const entry = named(id);
    if (entry == nullptr || offset > entry->valid || bytes > entry->valid - offset) return false;
    const bool changed = std::memcmp(entry->data + offset, data, bytes) != 0;
    if (changed) std::memcpy(entry->data + offset, data, bytes);
    if (!is_block(entry->layout) || bytes == entry->size) entry->fetched = ticks;
    entry->consecutive = 0;
    ++stats_.refreshed;
    stats_.refreshed_changed += changed ? 1 : 0;
    return changed;
  }

  // -- Invalidation ------------------------------------------------------------------------------

  void drop_all() noexcept override {
    ++stats_.drops_all;
    restart();
  }

  void drop_target(std::uint32_t target) noexcept override {
    ++stats_.drops_target;
    if (live_ == 0) return;
    if ((floors_.size() == 0 && !floors_.allocate(max_floors)) || generation_ + 1 == 0) {
      // No memory for the note, or the generations are used up: dropping everything is right too.
      for (std::uint64_t i = 0; i < floors_.size(); ++i) floors_[i] = 0;
      generation_ = 0;
      restart();
      return;
    }
    floors_[target % max_floors] = ++generation_;
    sweep_left_ = used_;
  }

  void drop_range(std::uint32_t target, std::uint64_t displacement,
                  std::uint64_t bytes) noexcept override {
    ++stats_.drops_range;
    if (bytes == 0 || live_ == 0) return;
    if (!ranges_.active()) {
      if (!ranges_.activate(index_.slots())) {
        drop_target(target);
        return;
      }
      for (std::uint32_t e = 0; e < used_; ++e)
        if (entries_[e].birth != 0) ranges_.insert(entries_, e);
    }
    const bool looked =
        ranges_.overlapping(entries_, target, displacement, bytes, [this](std::uint32_t e) {
          ++stats_.entries_dropped;
          remove(e, false);
        });
    if (!looked) drop_target(target);
  }

  void drop(EntryId id) noexcept override {
    if (named(id) == nullptr) return;
    ++stats_.entries_dropped;
    remove(id.index, false);
  }

  // -- Sizes -------------------------------------------------------------------------------------

  void resize(std::uint64_t index_slots, std::uint64_t storage_bytes) noexcept override {
    change_index(index_slots, Reason::requested);
    change_storage(storage_bytes, Reason::requested);
  }

  void set_latency_bytes(std::uint64_t bytes) noexcept override {
    config_.latency_bytes = bytes;
    if constexpr (requires { policy_.set_latency_bytes(bytes); }) policy_.set_latency_bytes(bytes);
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
  static constexpr std::uint64_t max_floors = 4096;
  static constexpr std::uint32_t sweep_steps = 8;
  static constexpr std::int32_t max_credit = 1024;
  static constexpr std::uint64_t first_look_interval = 64;  ///< gets
  static constexpr std::uint64_t reuse_horizon = 256;       ///< gets
  static constexpr std::uint64_t few_events = 4;
  static constexpr std::size_t max_adjustments = 256;

  auto hash_of() const {
    return [this](std::uint32_t e) { return hash_key(entries_[e].key()); };
  }
  auto set_slot() {
    return [this](std::uint32_t e, std::uint32_t slot) { entries_[e].slot = slot; };
  }

  std::uint32_t lookup(const Key& key, std::uint64_t hash) const {
    return index_.find(hash, [&](std::uint32_t e) { return entries_[e].matches(key); });
  }

  /// The entry of that key, or `none`; one that was dropped is removed on the way.
  std::uint32_t valid_entry(const Key& key) {
    const std::uint32_t e = lookup(key, hash_key(key));
    if (e == none || valid_generation(entries_[e])) [[likely]]
      return e;
    remove(e, false);
    return none;
  }

  // -- Blocks ------------------------------------------------------------------------------------

  std::uint32_t block_at(std::uint32_t target, std::uint64_t displacement, std::uint32_t shift) {
    return valid_entry({target, block_begin(displacement, shift), block_layout(shift)});
  }

  void note_block(Entry& entry, const Fetch& fetch) {
    const std::uint32_t shift = block_shift(entry.layout);
    sizes_.add(shift);
    if (fetch.asked_bytes != 0) entry.touched = block_parts(shift, fetch.asked, fetch.asked_bytes);
    ++stats_.blocks;
    stats_.ahead_bytes += entry.size - entry.used_bytes();
  }

  /// Looks for blocks that hold all of a contiguous get: one, or two side by side. Notes in
  /// half_shift_ where one of two was found.
  bool find_block(const Key& key, std::uint64_t size, Lookup& found) {
    const std::uint64_t last = key.displacement + size - 1;
    if (last < key.displacement) return false;
    std::uint32_t mask = sizes_.mask();
    std::uint32_t shift = (mask >> last_shift_ & 1) != 0 ? last_shift_ : highest(mask);
    for (;;) {
      const std::uint64_t span = block_begin(last, shift) - block_begin(key.displacement, shift);
      if (span == 0) {
        const std::uint32_t e = block_at(key.target, key.displacement, shift);
        if (e != none && last - entries_[e].displacement < entries_[e].size &&
            !(entries_[e].pending() && is_here(key, size))) {
          last_shift_ = shift;
          found = block_hit(e, size, key.displacement - entries_[e].displacement);
          return true;
        }
      } else if (span == std::uint64_t{1} << shift) {
        const std::uint32_t first = block_at(key.target, key.displacement, shift);
        const std::uint32_t second = block_at(key.target, last, shift);
        if (first != none || second != none) half_shift_ = shift;
        const bool both = first != none && second != none;
        const bool pending = both && (entries_[first].pending() || entries_[second].pending());
        if (both && !(pending && is_here(key, size))) {
          last_shift_ = shift;
          found = split_hit(key, size);
          return true;
        }
      }
      mask &= ~(1u << shift);
      if (mask == 0) return false;
      shift = highest(mask);
    }
  }

  /// An exact entry has the bytes already that a block will bring.
  bool is_here(const Key& key, std::uint64_t size) {
    const std::uint32_t e = valid_entry(key);
    return e != none && entries_[e].valid >= size;
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

  /// True if nobody had asked for some of it.
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
  Lookup split_hit(const Key& key, std::uint64_t size) {
    Lookup found;
    found.kind = Hit::split;
    found.block = half_shift_;
    found.fetched = ~std::uint64_t{0};
    bool pending = false;
    std::uint64_t present = 0;
    for (const Part& part : parts(key, size)) {
      if (!part.entry) continue;
      Entry& entry = entries_[part.entry.index];
      policy_.on_hit(*this, part.entry.index);
      count_use(entry);
      if (touch(entry, part.displacement - entry.displacement, part.bytes)) found.first = true;
      found.fetched = std::min(found.fetched, entry.fetched);
      pending = pending || part.data == nullptr;
      present += part.bytes;
    }
    last_hit_ = none;
    stats_.bytes_from_cache += present;
    stats_.bytes_from_network += size - present;
    if (present < size) {
      ++stats_.hits_partial;
    } else {
      ++(pending ? stats_.hits_pending : stats_.hits_full);
      if (!pending) found.available = size;
      if (found.first) ++stats_.ahead_hits;
    }
    return found;
  }

  bool valid_generation(const Entry& entry) const {
    return floors_.size() == 0 || entry.generation >= floors_[entry.target % max_floors];
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

  Lookup hit(std::uint32_t e, std::uint64_t size, std::uint64_t offset) {
    Entry& entry = entries_[e];
    const std::uint64_t end = offset + size;
    Lookup found;
    if (entry.valid >= end) [[likely]] {
      found.kind = Hit::full;
      ++stats_.hits_full;
      stats_.bytes_from_cache += size;
    } else if (entry.pending() && entry.size >= end) {
      found.kind = Hit::pending_full;
      ++stats_.hits_pending;
      stats_.bytes_from_cache += size;
    } else {
      found.kind = entry.pending() ? Hit::pending_partial : Hit::partial;
      ++stats_.hits_partial;
      stats_.bytes_from_cache += entry.size - offset;
      stats_.bytes_from_network += end - entry.size;
    }
    policy_.on_hit(*this, e);
    count_use(entry);
    entry.consecutive = last_hit_ == e && last_offset_ == offset ? entry.consecutive + 1 : 1;
    last_hit_ = e;
    last_offset_ = offset;
    found.contained = offset != 0;
    found.consecutive = entry.consecutive;
    found.entry = {e, entry.birth};
    found.offset = offset;
    if (entry.valid > offset) {
      found.available = std::min(entry.valid - offset, size);
      found.data = entry.data + offset;
    }
    found.fetched = entry.fetched;
    found.cookie = entry.cookie;
    return found;
  }

  /// An entry that covers the whole range from another displacement; not looked for at every miss
  /// once that has proved vain.
  std::uint32_t find_container(const Key& key, std::uint64_t size) {
    if (container_credit_ <= 0 && stats_.gets % 16 != 0) return none;
    const std::uint64_t end = key.displacement + size;
    if (end < key.displacement) return none;
    const std::uint32_t found =
        containers_.find(key.target, key.displacement, size, [&](std::uint32_t e) {
          if (e >= used_) return false;
          const Entry& entry = entries_[e];
          if (entry.birth != 0 && entry.layout == 0 && entry.target == key.target &&
              entry.displacement <= key.displacement && end <= entry.displacement + entry.size &&
              valid_generation(entry))
            return true;
          --container_credit_;
          return false;
        });
    if (found != none) container_credit_ = max_credit;
    return found;
  }

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
  bool enlarge(std::uint32_t e, std::uint64_t size) {
    Entry& entry = entries_[e];
    if (store_.grow(entry.region, size)) return true;
    const std::uint32_t region = store_.allocate(size, e);
    if (region == none) return false;
    std::memcpy(store_.data(region), entry.data, entry.valid);
    store_.release(entry.region);
    entry.region = region;
    entry.data = store_.data(region);
    return true;
  }

  // -- The table of entries ----------------------------------------------------------------------

  bool make_ready() {
    if (broken_) return false;
    const Adaptation& a = config_.adaptation;
    const std::uint64_t most_slots =
        std::min<std::uint64_t>(std::max(config_.index_slots, a.max_index_slots), none - 1);
    const std::uint64_t most_bytes = std::max(config_.storage_bytes, a.max_storage_bytes);
    if (!entries_.reserve(most_slots, 64) ||
        !store_.init(config_.storage_bytes, most_bytes, entries_.max_size()) ||
        !index_.allocate(std::min(config_.index_slots, entries_.max_size()), config_.seed) ||
        !policy_.allocate(index_.slots())) {
      broken_ = true;
      return false;
    }
    containers_.allocate(index_.slots());
    return ready_ = true;
  }

  std::uint32_t new_entry() {
    if (free_ != none) {
      const std::uint32_t e = free_;
      free_ = entries_[e].next;
      return e;
    }
    if (used_ >= entries_.max_size() || !entries_.grow(used_ + 1)) return none;
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
  void remove_unindexed(std::uint32_t e, bool evicted) {
    Entry& entry = entries_[e];
    policy_.on_remove(*this, e, evicted);
    if (is_block(entry.layout)) sizes_.remove(block_shift(entry.layout));
    store_.release(entry.region);
    if (ranges_.active()) ranges_.remove(entries_, e);
    if (entry.pending()) --pending_;
    --live_;
    if (last_hit_ == e) last_hit_ = none;
    recycle(e);
  }

  void restart() {
    last_hit_ = none;
    if (used_ == 0) return;
    index_.clear();
    containers_.clear();
    store_.clear();
    policy_.clear();
    ranges_.deactivate();
    sizes_.clear();
    used_ = live_ = pending_ = sweep_left_ = 0;
    free_ = none;
  }

  /// Removes a few of the entries that drop_target() left.
  void sweep() {
    for (std::uint32_t i = 0; i < sweep_steps && sweep_left_ > 0; ++i, --sweep_left_) {
      if (sweep_hand_ >= used_) sweep_hand_ = 0;
      const std::uint32_t e = sweep_hand_++;
      if (entries_[e].birth != 0 && !valid_generation(entries_[e])) remove(e, false);
    }
  }

  // -- Adaptation --------------------------------------------------------------------------------

  void look() {
    if (stats_.gets >= next_adapt_) {
      bool changed = false;
      if (ready_ && config_.adaptation.enabled) {
        const Verdict verdict =
            signals_.look(config_.adaptation, stats_, index_slots(), storage_bytes(), used_bytes());
        if (verdict.index_slots) change_index(*verdict.index_slots, verdict.index_reason);
        bool useful = true;
        if constexpr (requires { policy_.wants_room(); })
          useful = policy_.wants_room() || verdict.storage_bytes < storage_bytes();
        if (verdict.storage_bytes && useful)
          change_storage(*verdict.storage_bytes, verdict.storage_reason);
        changed = verdict.index_slots || (verdict.storage_bytes && useful);
      }
      // Sizes that are far off should be right soon, and changing them loses nothing: the next look
      // comes early after a change, and ever later without one.
      if constexpr (Policy::eager_index)
        begin_interval(changed ? first_look_interval : 2 * look_interval_);
      else
        begin_interval(config_.adaptation.interval);
    }
    if (stats_.gets >= stats_.occupancy.next())
      stats_.occupancy.add({stats_.gets, used_bytes(), storage_bytes(), live_, index_slots()});
    next_look_ = std::min(next_adapt_, stats_.occupancy.next());
  }

  void note_adjustment(bool of_index, std::uint64_t from, std::uint64_t to, Reason reason) {
    ++stats_.adjustment_count;
    if (stats_.adjustments.size() >= max_adjustments) return;
    try {
      stats_.adjustments.push_back({stats_.gets, of_index, from, to, reason});
    } catch (...) {
      // Out of memory: it is counted all the same.
    }
  }

  bool grow_index_now() {
    if constexpr (Policy::eager_index) {
      const Adaptation& a = config_.adaptation;
      const std::uint64_t slots = index_.slots();
      if (!a.enabled || slots >= a.max_index_slots) return false;
      const auto wish =
          static_cast<std::uint64_t>(static_cast<double>(slots) * a.index_increase_factor);
      change_index(std::min(wish, a.max_index_slots), Reason::conflicts);
      return index_.slots() > slots;
    }
    return false;
  }

  /// The same for the storage, as soon as the paper's signal (capacity and failing gets) is there
  /// and gets do come back.
  bool grow_storage_now() {
    if constexpr (requires { policy_.reuse_since(last_look_); }) {
      const Adaptation& a = config_.adaptation;
      const std::uint64_t bytes = store_.capacity();
      if (!a.enabled || bytes >= a.max_storage_bytes) return false;
      ++short_of_space_;
      const auto gets = static_cast<double>(stats_.gets - last_look_);
      if (short_of_space_ < few_events ||
          static_cast<double>(short_of_space_) < a.capacity_threshold * gets)
        return false;
      if (!policy_.reuse_since(stats_.gets - std::min(stats_.gets, reuse_horizon))) return false;
      const auto wish =
          static_cast<std::uint64_t>(static_cast<double>(bytes) * a.memory_increase_factor);
      change_storage(std::min(wish, a.max_storage_bytes), Reason::capacity);
      begin_interval(first_look_interval);
      return store_.capacity() > bytes;
    }
    return false;
  }

  void begin_interval(std::uint64_t length) {
    look_interval_ = std::min(length, config_.adaptation.interval);
    last_look_ = stats_.gets;
    short_of_space_ = 0;
    signals_.restart(stats_);
    next_adapt_ = stats_.gets + look_interval_;
    next_look_ = std::min(next_adapt_, stats_.occupancy.next());
  }

  void change_index(std::uint64_t slots, Reason reason) {
    slots = std::max<std::uint64_t>(slots, 16);
    if (!ready_) {
      config_.index_slots = slots;
      return;
    }
    // With room to spare for what must not go.
    slots = std::min(std::max(slots, 2 * pending_), entries_.max_size());
    const std::uint64_t from = index_.slots();
    if (slots == from) return;
    Index fresh;
    if (!fresh.allocate(slots, config_.seed + stats_.adjustment_count + 1)) return;
    // Pending entries first: if not all fit, it is the others that are lost.
    for (const bool pending : {true, false})
      for (std::uint32_t e = 0; e < used_; ++e)
        if (entries_[e].birth != 0 && entries_[e].pending() == pending) move_to(fresh, e);
    index_ = std::move(fresh);
    policy_.allocate(index_.slots());
    rebuild_maps();
    note_adjustment(true, from, index_.slots(), reason);
  }

  /// Enters an entry into a new index; it is lost if there is no place.
  void move_to(Index& fresh, std::uint32_t e) {
    const bool valid = valid_generation(entries_[e]);
    const std::uint64_t hash = hash_key(entries_[e].key());
    if (valid && fresh.prepare(hash, hash_of())) {
      fresh.commit(hash, e, hash_of(), set_slot());
      return;
    }
    if (valid) ++stats_.lost;
    remove_unindexed(e, valid);
  }

  void rebuild_maps() {
    if (containers_.allocate(index_.slots())) {
      for (std::uint32_t e = 0; e < used_; ++e) {
        const Entry& entry = entries_[e];
        if (entry.birth != 0 && entry.layout == 0)
          containers_.insert(entry.target, entry.displacement, entry.size, e);
      }
    }
    if (!ranges_.active()) return;
    ranges_.deactivate();  // built again when it is needed
  }

  void change_storage(std::uint64_t bytes, Reason reason) {
    bytes = std::max(bytes, Store::grain);
    if (!ready_) {
      config_.storage_bytes = bytes;
      return;
    }
    const std::uint64_t from = store_.capacity();
    if (bytes == from) return;
    // Entries that will not fit go, an arbitrary one after the other; pending ones stay.
    for (std::uint32_t e = 0; e < used_ && store_.used() > bytes; ++e) {
      if (entries_[e].birth == 0 || (live(e) && entries_[e].pending())) continue;
      if (live(e)) ++stats_.lost;
      evict(e);
    }
    bytes = std::max(bytes, store_.used());
    store_.set_capacity(bytes, [this](std::uint32_t e, std::byte* data) {
      entries_[e].data = data;
      ++stats_.moved;
    });
    if (store_.capacity() != from) note_adjustment(false, from, store_.capacity(), reason);
  }

  Index index_;
  LazyArray<Entry> entries_;
  ZeroArray<std::uint32_t> floors_;  ///< by target: the first valid generation
  std::uint64_t used_ = 0;           ///< entries_ beyond it were never in use
  std::uint32_t last_hit_ = none;
  BlockSizes sizes_;
  std::uint32_t last_shift_ = 0;   ///< of the block that served last
  std::uint32_t half_shift_ = 0;   ///< find() met one or both of two blocks of this size
  bool blocks_first_ = false;      ///< a block served the last hit
  std::uint64_t last_offset_ = 0;  ///< in the entry last_hit_
  bool ready_ = false;             ///< memory was taken
  bool broken_ = false;            ///< there was none to take
  std::uint64_t next_look_ = 1;
  Policy policy_;

  Store store_;
  ContainerMap containers_;
  RangeMap ranges_;
  std::uint32_t free_ = none;  ///< list of free entries
  std::uint32_t births_ = 0;
  std::uint32_t generation_ = 1;
  std::uint64_t live_ = 0;
  std::uint64_t pending_ = 0;
  std::uint64_t sweep_left_ = 0;
  std::uint32_t sweep_hand_ = 0;
  std::int32_t container_credit_ = max_credit;
  Signals signals_;
  std::uint64_t next_adapt_ = 0;
  std::uint64_t look_interval_ = 0;
  std::uint64_t last_look_ = 0;
  std::uint64_t short_of_space_ = 0;  ///< gets without room since the last look
};

}  // namespace hob::cache
