#pragma once

// Looking for an entry, and what a hit counts.

#include <bit>
#include <utility>

#include "cache/engine.hpp"

namespace hob::cache {

template <class Index, class Store, class Policy>
inline Lookup CacheEngine<Index, Store, Policy>::find(const Key& key, std::uint64_t size) noexcept {
  if (size == 0) {
    Lookup nothing;
    nothing.kind = Hit::full;
    return nothing;
  }
  if (++stats_.gets >= next_look_) [[unlikely]]
    look();
  note_get(size);
  if (ready_) [[likely]] {
    // What served the last get is tried first.
    Lookup found;
    half_shift_ = 0;
    const bool blocks = key.layout == 0 && sizes_.mask() != 0;
    if (blocks && blocks_first_ && find_block(key, size, found)) return found;
    const std::uint32_t e = valid_entry(key);
    if (e != kNone) {
      blocks_first_ = false;
      return hit(e, size, 0);
    }
    if (blocks && !blocks_first_ && find_block(key, size, found)) {
      blocks_first_ = true;
      return found;
    }
    if (key.layout == 0) {
      const std::uint32_t container = find_container(key, size);
      if (container != kNone) {
        ++stats_.hits_contained;
        return hit(container, size, key.displacement - entries_[container].displacement);
      }
      if (half_shift_ != 0) return split_hit(key, size);
    }
  }
  last_hit_ = kNone;
  ++stats_.missing;
  stats_.bytes_from_network += size;
  return {};
}

template <class Index, class Store, class Policy>
inline FullHit CacheEngine<Index, Store, Policy>::find_full(const Key& key, std::uint64_t size,
                                                            const HitTerms& terms) noexcept {
  const std::uint64_t last = key.displacement + size - 1;
  if (!ready_ || stats_.gets + 1 >= next_look_ || last < key.displacement) [[unlikely]]
    return {};
  // In the order of find().
  const bool in_block = blocks_first_ && key.layout == 0;
  const std::uint32_t e = in_block ? usual_block(key, last) : valid_entry(key);
  if (e == kNone) [[unlikely]]
    return {};
  Entry& entry = entries_[e];
  const std::uint64_t offset = key.displacement - entry.displacement;
  const std::uint32_t row = row_of(entry, e, offset);
  const bool polled = row >= terms.longest_row && row % terms.longest_row == 0;
  if (entry.valid < offset + size || entry.fetched < terms.oldest || polled) [[unlikely]]
    return {};
  std::uint8_t what = entry.fetched < terms.kept_at ? FullHit::kKept : 0;
  if (in_block && row == 1) what |= FullHit::kFirstInBlock;
  if (has_unasked(entry, offset, size)) [[unlikely]] {
    if (is_block(entry.layout) || entry.fetched < terms.oldest_tagged) return {};
    last_tag_ = std::exchange(entry.touched, 0);
    what |= FullHit::kTagged;
  }
  blocks_first_ = in_block;
  ++stats_.gets;
  note_get(size);
  ++stats_.hits_full;
  stats_.bytes_from_cache += size;
  note_hit(entry, e, offset, row);
  return {entry.data + offset, what};
}

template <class Index, class Store, class Policy>
inline std::array<Fragment, 2> CacheEngine<Index, Store, Policy>::fragments(
    const Key& key, std::uint64_t size) noexcept {
  const std::uint64_t end = key.displacement + size;
  const std::uint64_t middle = block_begin(end - 1, half_shift_);
  std::array<Fragment, 2> result{Fragment{key.displacement, middle - key.displacement},
                                 Fragment{middle, end - middle}};
  for (Fragment& fragment : result) {
    const std::uint32_t e = block_at(key.target, fragment.displacement, half_shift_);
    if (e == kNone) continue;
    const Entry& entry = entries_[e];
    fragment.entry = {e, entry.birth};
    fragment.cookie = entry.cookie;
    if (!entry.pending()) fragment.data = entry.data + (fragment.displacement - entry.displacement);
  }
  return result;
}

template <class Index, class Store, class Policy>
inline bool CacheEngine<Index, Store, Policy>::in_blocks(std::uint32_t target,
                                                         std::uint64_t displacement,
                                                         std::uint64_t size) noexcept {
  const std::uint64_t last = displacement + size - 1;
  if (!ready_ || size == 0 || last < displacement) return false;
  for (std::uint32_t mask = sizes_.mask(); mask != 0; mask &= mask - 1) {
    const auto shift = static_cast<std::uint32_t>(std::countr_zero(mask));
    const std::uint64_t begin = block_begin(last, shift);
    if (begin - block_begin(displacement, shift) > std::uint64_t{1} << shift) continue;
    const std::uint32_t e = block_at(target, last, shift);
    if (e != kNone && last - begin < entries_[e].size &&
        (begin <= displacement || block_at(target, displacement, shift) != kNone))
      return true;
  }
  return false;
}

template <class Index, class Store, class Policy>
inline bool CacheEngine<Index, Store, Policy>::find_block(const Key& key, std::uint64_t size,
                                                          Lookup& found) {
  const std::uint64_t last = key.displacement + size - 1;
  if (last < key.displacement) return false;
  if (last_block_) {
    const Entry& entry = entries_[last_block_.index];
    if (entry.birth == last_block_.birth && entry.target == key.target &&
        key.displacement >= entry.displacement && last - entry.displacement < entry.size &&
        !entry.pending() && valid_generation(entry)) {
      found = block_hit(last_block_.index, size, key.displacement - entry.displacement);
      return true;
    }
  }
  std::uint32_t mask = sizes_.mask();
  std::uint32_t shift = (mask >> last_shift_ & 1) != 0 ? last_shift_ : highest(mask);
  for (;;) {
    const std::uint64_t span = block_begin(last, shift) - block_begin(key.displacement, shift);
    if (span == 0) {
      const std::uint32_t e = block_at(key.target, key.displacement, shift);
      if (e != kNone && last - entries_[e].displacement < entries_[e].size &&
          !(entries_[e].pending() && is_here(key, size))) {
        last_shift_ = shift;
        last_block_ = {e, entries_[e].birth};
        found = block_hit(e, size, key.displacement - entries_[e].displacement);
        return true;
      }
    } else if (span == std::uint64_t{1} << shift) {
      const std::uint32_t first = block_at(key.target, key.displacement, shift);
      const std::uint32_t second = block_at(key.target, last, shift);
      if (first != kNone || second != kNone) half_shift_ = shift;
      const bool both = first != kNone && second != kNone;
      const bool pending = both && (entries_[first].pending() || entries_[second].pending());
      if (both && !(pending && is_here(key, size))) {
        last_shift_ = shift;
        last_block_ = {};
        found = split_hit(key, size);
        return true;
      }
    }
    mask &= ~(1u << shift);
    if (mask == 0) return false;
    shift = highest(mask);
  }
}

template <class Index, class Store, class Policy>
inline Lookup CacheEngine<Index, Store, Policy>::split_hit(const Key& key, std::uint64_t size) {
  Lookup found;
  found.kind = Hit::split;
  found.block = half_shift_;
  found.fetched = ~std::uint64_t{0};
  bool pending = false;
  std::uint64_t present = 0;
  for (const Fragment& fragment : fragments(key, size)) {
    if (!fragment.entry) continue;
    Entry& entry = entries_[fragment.entry.index];
    policy_.on_hit(*this, fragment.entry.index);
    count_use(entry);
    if (touch(entry, fragment.displacement - entry.displacement, fragment.bytes))
      found.first = true;
    found.fetched = std::min(found.fetched, entry.fetched);
    pending = pending || fragment.data == nullptr;
    present += fragment.bytes;
  }
  last_hit_ = kNone;
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

template <class Index, class Store, class Policy>
inline Lookup CacheEngine<Index, Store, Policy>::hit(std::uint32_t e, std::uint64_t size,
                                                     std::uint64_t offset) {
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
  note_hit(entry, e, offset, row_of(entry, e, offset));
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
  if (entry.touched != 0 && !is_block(entry.layout)) [[unlikely]] {
    found.tag = std::exchange(entry.touched, 0);
    found.first = true;
  }
  return found;
}

template <class Index, class Store, class Policy>
inline std::uint32_t CacheEngine<Index, Store, Policy>::find_container(const Key& key,
                                                                       std::uint64_t size) {
  if (container_credit_ <= 0 && stats_.gets % 16 != 0) return kNone;
  const std::uint64_t end = key.displacement + size;
  if (end < key.displacement) return kNone;
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
  if (found != kNone) container_credit_ = kMaxCredit;
  return found;
}
}  // namespace hob::cache
