#pragma once

// Taking in entries.

#include <cstring>

#include "cache/engine.hpp"

namespace hob::cache {

template <class Index, class Store, class Policy>
inline Reservation CacheEngine<Index, Store, Policy>::reserve(const Key& key, std::uint64_t size,
                                                              Fetch fetch) noexcept {
  if (size == 0 || (!ready_ && !make_ready())) return fail();
  sweep();
  const std::uint64_t hash = hash_key(key);
  if (const std::uint32_t old = lookup(key, hash); old != kNone) {
    if (valid_generation(entries_[old])) return fail();
    remove(old, false);
  }
  policy_.on_reserve(*this, hash, size, is_block(key.layout));
  if (size > store_.capacity()) return reject(hash);
  if (!is_block(key.layout) && !policy_.admits(*this, size)) return reject(hash);

  Access access = Access::direct;
  if (!index_.prepare(hash, hash_of()) && !(grow_index_now() && index_.prepare(hash, hash_of()))) {
    const std::uint32_t victim = policy_.choose(*this, index_.candidates());
    if (victim == kNone) return reject(hash);
    evict(victim);
    access = Access::conflicting;
  }
  const std::uint32_t e = new_entry();
  if (e == kNone) return reject(hash);
  std::uint32_t region = store_.allocate(size, e);
  if (region == kNone && grow_storage_now(size)) region = store_.allocate(size, e);
  if (region == kNone && !(Policy::kOneEviction && access == Access::conflicting) &&
      policy_.make_room(*this, size)) {
    region = store_.allocate(size, e);
    if (access == Access::direct) access = Access::capacity;
  }
  if (region == kNone) {
    recycle(e);
    return reject(hash);
  }
  const bool placed = index_.commit(hash, e, hash_of(), set_slot());
  if (!placed) {
    store_.release(region);
    recycle(e);
    return reject(hash);
  }
  enter(e, key, size, region, fetch);
  policy_.on_insert(*this, e, hash);
  if (key.layout == 0) containers_.insert(key.target, key.displacement, size, e);
  if (ranges_.active()) ranges_.insert(entries_, e);
  count(access);
  return {access, {e, entries_[e].birth}};
}

/// What is known of a new entry, which waits for its bytes.
template <class Index, class Store, class Policy>
inline void CacheEngine<Index, Store, Policy>::enter(std::uint32_t e, const Key& key,
                                                     std::uint64_t size, std::uint32_t region,
                                                     const Fetch& fetch) {
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
  entry.touched = is_block(key.layout) ? 0 : fetch.tag;
  if (is_block(key.layout)) note_block(entry, fetch);
  entry.region = region;
  entry.consecutive = 0;
  ++live_;
  ++pending_;
  ++stats_.reuse.counts[1];
}

template <class Index, class Store, class Policy>
inline bool CacheEngine<Index, Store, Policy>::extend(EntryId id, std::uint64_t size,
                                                      Fetch fetch) noexcept {
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

template <class Index, class Store, class Policy>
inline bool CacheEngine<Index, Store, Policy>::fill(EntryId id, const void* data,
                                                    std::uint64_t bytes, std::uint64_t offset,
                                                    std::uint64_t ticks) noexcept {
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

template <class Index, class Store, class Policy>
inline void CacheEngine<Index, Store, Policy>::abandon(EntryId id) noexcept {
  Entry* const entry = named(id);
  if (entry == nullptr || !entry->pending()) return;
  if (entry->valid == 0) {
    remove(id.index, false);
    return;
  }
  entry->size = entry->valid;
  --pending_;
}

template <class Index, class Store, class Policy>
inline bool CacheEngine<Index, Store, Policy>::refresh(EntryId id, const void* data,
                                                       std::uint64_t bytes, std::uint64_t offset,
                                                       std::uint64_t ticks) noexcept {
  Entry* const entry = named(id);
  if (entry == nullptr || offset > entry->valid || bytes > entry->valid - offset) return false;
  const bool changed = std::memcmp(entry->data + offset, data, bytes) != 0;
  if (changed) std::memcpy(entry->data + offset, data, bytes);
  if (!is_block(entry->layout) || bytes == entry->size) entry->fetched = ticks;
  entry->consecutive = 0;
  return changed;
}

template <class Index, class Store, class Policy>
inline bool CacheEngine<Index, Store, Policy>::enlarge(std::uint32_t e, std::uint64_t size) {
  Entry& entry = entries_[e];
  if (store_.grow(entry.region, size)) return true;
  const std::uint32_t region = store_.allocate(size, e);
  if (region == kNone) return false;
  std::memcpy(store_.data(region), entry.data, entry.valid);
  store_.release(entry.region);
  entry.region = region;
  entry.data = store_.data(region);
  return true;
}

template <class Index, class Store, class Policy>
inline bool CacheEngine<Index, Store, Policy>::make_ready() {
  if (broken_) return false;
  const Adaptation& a = config_.adaptation;
  const std::uint64_t most_slots = LazyArray<Entry>::share(
      std::min<std::uint64_t>(std::max(config_.index_slots, a.max_index_slots), kNone - 1),
      config_.index_slots);
  const std::uint64_t most_bytes = LazyMemory::share(
      std::max(config_.storage_bytes, a.max_storage_bytes), config_.storage_bytes);
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
}  // namespace hob::cache
