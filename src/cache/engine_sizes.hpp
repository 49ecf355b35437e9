#pragma once

// The sizes of the index and of the storage, and when they change.

#include <utility>

#include "cache/engine.hpp"

namespace hob::cache {

template <class Index, class Store, class Policy>
inline void CacheEngine<Index, Store, Policy>::look() {
  if (stats_.gets >= next_adapt_) {
    bool changed = false;
    if (ready_ && config_.adaptation.enabled) {
      // Memory is taken when it is used: half of a storage that fills is free, and costs nothing.
      const bool filling = Policy::kKnowsReuse && used_bytes() > used_at_look_;
      used_at_look_ = used_bytes();
      // Where everything is dropped from time to time, the storage is mostly free soon after, and
      // is used again: a smaller one would have to grow, and touch its pages anew.
      const std::uint64_t used =
          Policy::kKnowsReuse ? std::min(std::max(used_bytes(), used_at_drops_), storage_bytes())
                              : used_bytes();
      if (!std::exchange(dropped_, false)) used_at_drops_ -= used_at_drops_ / kLooksRemembered;
      const Verdict verdict =
          signals_.look(config_.adaptation, stats_, index_slots(), storage_bytes(), used, filling);
      if (verdict.index_slots) change_index(*verdict.index_slots, verdict.index_reason);
      const bool useful = policy_.wants_room() || verdict.storage_bytes < storage_bytes();
      if (verdict.storage_bytes && useful)
        change_storage(*verdict.storage_bytes, verdict.storage_reason);
      changed = verdict.index_slots || (verdict.storage_bytes && useful);
    }
    // Sizes that are far off should be right soon, and changing them loses nothing: the next look
    // comes early after a change, and ever later without one.
    if constexpr (Policy::kEagerIndex)
      begin_interval(changed ? kFirstLookInterval : 2 * look_interval_);
    else
      begin_interval(config_.adaptation.interval);
  }
  if (stats_.gets >= stats_.occupancy.next())
    stats_.occupancy.add({stats_.gets, used_bytes(), storage_bytes(), live_, index_slots()});
  next_look_ = std::min(next_adapt_, stats_.occupancy.next());
}

template <class Index, class Store, class Policy>
inline void CacheEngine<Index, Store, Policy>::note_adjustment(bool of_index, std::uint64_t from,
                                                               std::uint64_t to, Reason reason) {
  ++stats_.adjustment_count;
  if (stats_.adjustments.size() >= kMaxAdjustments) return;
  try {
    stats_.adjustments.push_back({stats_.gets, of_index, from, to, reason});
  } catch (...) {
    // Out of memory: it is counted all the same.
  }
}

template <class Index, class Store, class Policy>
inline bool CacheEngine<Index, Store, Policy>::grow_index_now() {
  if constexpr (Policy::kEagerIndex) {
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

template <class Index, class Store, class Policy>
inline bool CacheEngine<Index, Store, Policy>::grow_storage_now(std::uint64_t size) {
  if constexpr (Policy::kKnowsReuse) {
    const Adaptation& a = config_.adaptation;
    const std::uint64_t bytes = store_.capacity();
    if (!a.enabled || bytes >= a.max_storage_bytes) return false;
    short_of_space_ += policy_.trips(size);
    const auto gets = static_cast<double>(stats_.gets - last_look_);
    if (short_of_space_ < kFewEvents ||
        static_cast<double>(short_of_space_) < a.capacity_threshold * gets)
      return false;
    if (!policy_.reuse_since(stats_.gets - std::min(stats_.gets, kReuseHorizon))) return false;
    const auto wish =
        static_cast<std::uint64_t>(static_cast<double>(bytes) * a.memory_increase_factor);
    change_storage(std::min(wish, a.max_storage_bytes), Reason::capacity);
    begin_interval(kFirstLookInterval);
    return store_.capacity() > bytes;
  }
  return false;
}

template <class Index, class Store, class Policy>
inline void CacheEngine<Index, Store, Policy>::begin_interval(std::uint64_t length) {
  look_interval_ = std::min(length, config_.adaptation.interval);
  last_look_ = stats_.gets;
  short_of_space_ = 0;
  signals_.restart(stats_);
  next_adapt_ = stats_.gets + look_interval_;
  next_look_ = std::min(next_adapt_, stats_.occupancy.next());
}

template <class Index, class Store, class Policy>
inline void CacheEngine<Index, Store, Policy>::change_index(std::uint64_t slots, Reason reason) {
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

template <class Index, class Store, class Policy>
inline void CacheEngine<Index, Store, Policy>::move_to(Index& fresh, std::uint32_t e) {
  const bool valid = valid_generation(entries_[e]);
  const std::uint64_t hash = hash_key(entries_[e].key());
  if (valid && fresh.prepare(hash, hash_of())) {
    fresh.commit(hash, e, hash_of(), set_slot());
    return;
  }
  if (valid) ++stats_.lost;
  remove_unindexed(e, valid);
}

template <class Index, class Store, class Policy>
inline void CacheEngine<Index, Store, Policy>::rebuild_maps() {
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

template <class Index, class Store, class Policy>
inline void CacheEngine<Index, Store, Policy>::change_storage(std::uint64_t bytes, Reason reason) {
  bytes = std::max(bytes, Store::kGrain);
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
}  // namespace hob::cache
