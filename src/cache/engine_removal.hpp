#pragma once

// Dropping entries.

#include <cstring>

#include "cache/engine.hpp"

namespace hob::cache {

template <class Index, class Store, class Policy>
inline void CacheEngine<Index, Store, Policy>::drop_target(std::uint32_t target) noexcept {
  if (live_ == 0) return;
  if ((floors_.size() == 0 && !floors_.allocate(kMaxFloors)) || generation_ + 1 == 0) {
    // No memory for the note, or the generations are used up: dropping everything is right too.
    for (std::uint64_t i = 0; i < floors_.size(); ++i) floors_[i] = 0;
    generation_ = 0;
    restart();
    return;
  }
  floors_[target % kMaxFloors] = ++generation_;
  sweep_left_ = used_;
}

template <class Index, class Store, class Policy>
template <class Visit>
inline void CacheEngine<Index, Store, Policy>::each_overlapping(std::uint32_t target,
                                                                std::uint64_t displacement,
                                                                std::uint64_t bytes, Visit visit) {
  if (bytes == 0 || live_ == 0) return;
  if (!ranges_.active()) {
    if (!ranges_.activate(index_.slots())) {
      drop_target(target);
      return;
    }
    for (std::uint32_t e = 0; e < used_; ++e)
      if (entries_[e].birth != 0) ranges_.insert(entries_, e);
  }
  if (!ranges_.overlapping(entries_, target, displacement, bytes, visit)) drop_target(target);
}

template <class Index, class Store, class Policy>
inline void CacheEngine<Index, Store, Policy>::drop_range(std::uint32_t target,
                                                          std::uint64_t displacement,
                                                          std::uint64_t bytes) noexcept {
  each_overlapping(target, displacement, bytes, [this](std::uint32_t e) { remove(e, false); });
}

template <class Index, class Store, class Policy>
inline void CacheEngine<Index, Store, Policy>::drop_differing(std::uint32_t target,
                                                              std::uint64_t displacement,
                                                              const void* data,
                                                              std::uint64_t bytes) noexcept {
  const auto equal = [&](const Entry& entry) {
    if ((entry.layout != 0 && !is_block(entry.layout)) || entry.pending()) return false;
    const std::uint64_t first = std::max(entry.displacement, displacement);
    const std::uint64_t end = std::min(entry.displacement + entry.size, displacement + bytes);
    return first >= end || std::memcmp(entry.data + (first - entry.displacement),
                                       static_cast<const std::byte*>(data) + (first - displacement),
                                       end - first) == 0;
  };
  each_overlapping(target, displacement, bytes, [&](std::uint32_t e) {
    if (!equal(entries_[e])) remove(e, false);
  });
}

template <class Index, class Store, class Policy>
inline void CacheEngine<Index, Store, Policy>::remove_unindexed(std::uint32_t e, bool evicted) {
  Entry& entry = entries_[e];
  policy_.on_remove(*this, e, evicted);
  if (is_block(entry.layout)) sizes_.remove(block_shift(entry.layout));
  store_.release(entry.region);
  if (ranges_.active()) ranges_.remove(entries_, e);
  if (entry.pending()) --pending_;
  --live_;
  if (last_hit_ == e) last_hit_ = kNone;
  recycle(e);
}

template <class Index, class Store, class Policy>
inline void CacheEngine<Index, Store, Policy>::restart() {
  last_hit_ = kNone;
  last_block_ = {};
  dropped_at_ = stats_.gets;
  if (used_ == 0) return;
  dropped_ = true;
  used_at_drops_ = std::max(used_bytes(), used_at_drops_ - used_at_drops_ / kDropsRemembered);
  index_.clear();
  containers_.clear();
  store_.clear();
  policy_.clear();
  ranges_.deactivate();
  sizes_.clear();
  used_ = live_ = pending_ = sweep_left_ = 0;
  free_ = kNone;
}

template <class Index, class Store, class Policy>
inline void CacheEngine<Index, Store, Policy>::sweep() {
  for (std::uint32_t i = 0; i < kSweepSteps && sweep_left_ > 0; ++i, --sweep_left_) {
    if (sweep_hand_ >= used_) sweep_hand_ = 0;
    const std::uint32_t e = sweep_hand_++;
    if (entries_[e].birth != 0 && !valid_generation(entries_[e])) remove(e, false);
  }
}
}  // namespace hob::cache
