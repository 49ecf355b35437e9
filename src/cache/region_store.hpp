#pragma once

// The storage S_w: one buffer, cut into regions that each belong to an entry or are free. Regions
// form a list in address order, so that neighbours, and the free bytes next to an entry (the
// paper's d_c, III-C2), are known in O(1), and free neighbours are merged. How free regions are
// found by size is the parameter Free: BestFit (the paper's AVL tree) or SegregatedFit. Descriptors
// live beside the buffer, which holds nothing but data. The buffer is backed by memory only as far
// as it was ever needed.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cache/entry.hpp"
#include "cache/lazy_memory.hpp"

namespace hob::cache {

template <class Free>
class RegionStore {
 public:
  using Region = typename Free::Region;

  /// Sizes are rounded up to it: a CPU cache line in the paper (III-C2).
  static constexpr std::uint64_t kGrain = Free::kGrain;
  static std::uint64_t rounded(std::uint64_t bytes) {
    return bytes > ~std::uint64_t{0} - kGrain ? ~std::uint64_t{0} / kGrain * kGrain
                                              : (bytes + kGrain - 1) / kGrain * kGrain;
  }

  /// Sets addresses aside for up to `max_bytes` and `max_regions`; takes no memory yet.
  bool init(std::uint64_t capacity, std::uint64_t max_bytes, std::uint64_t max_entries) noexcept {
    if (!buffer_.reserve(rounded(max_bytes), kGrain)) return false;
    if (!regions_.reserve(2 * max_entries + 2, 16)) return false;
    capacity_ = std::min(rounded(capacity), buffer_.reserved() / kGrain * kGrain);
    clear();
    return true;
  }

  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t max_capacity() const { return buffer_.reserved() / kGrain * kGrain; }
  std::uint64_t used() const { return used_; }
  std::uint64_t bytes() const { return buffer_.committed() + regions_.bytes(); }

  /// A region of at least `bytes` bytes for an entry, or `kNone`.
  std::uint32_t allocate(std::uint64_t bytes, std::uint32_t owner) noexcept {
    const std::uint64_t need = std::max(rounded(bytes), kGrain);
    if (need > capacity_ - used_) return kNone;
    std::uint32_t r = free_.take(regions_, need);
    if (r == kNone) {
      if (!expand(need)) return kNone;
      r = free_.take(regions_, need);
      if (r == kNone) return kNone;
    }
    cut(r, need);
    regions_[r].owner = owner;
    used_ += regions_[r].size;
    return r;
  }

  /// Whether allocate() would find room in what is backed already.
  bool fits(std::uint64_t bytes) noexcept {
    const std::uint32_t r = free_.take(regions_, std::max(rounded(bytes), kGrain));
    if (r != kNone) free_.insert(regions_, r);
    return r != kNone;
  }

  void release(std::uint32_t r) noexcept {
    used_ -= regions_[r].size;
    regions_[r].owner = kNone;
    const std::uint32_t next = regions_[r].next;
    if (next != kNone && is_free(next)) {
      free_.remove(regions_, next);
      absorb_next(r);
    }
    const std::uint32_t prev = regions_[r].prev;
    if (prev != kNone && is_free(prev)) {
      free_.remove(regions_, prev);
      absorb_next(prev);
      r = prev;
    }
    free_.insert(regions_, r);
  }

  /// Enlarges a region where it is. False if the bytes behind it are not free.
  bool grow(std::uint32_t r, std::uint64_t bytes) noexcept {
    const std::uint64_t need = rounded(bytes);
    const std::uint64_t have = regions_[r].size;
    if (need <= have) return true;
    const std::uint32_t next = regions_[r].next;
    if (next == kNone || !is_free(next) || regions_[next].size < need - have) return false;
    free_.remove(regions_, next);
    absorb_next(r);
    cut(r, need);
    used_ += regions_[r].size - have;
    return true;
  }

  std::byte* data(std::uint32_t r) const { return buffer_.data() + regions_[r].offset; }
  std::uint64_t size(std::uint32_t r) const { return regions_[r].size; }
  std::uint64_t offset(std::uint32_t r) const { return regions_[r].offset; }
  std::uint32_t owner(std::uint32_t r) const { return regions_[r].owner; }
  bool is_free(std::uint32_t r) const { return regions_[r].owner == kNone; }
  std::uint32_t prev(std::uint32_t r) const { return regions_[r].prev; }
  std::uint32_t next(std::uint32_t r) const { return regions_[r].next; }

  /// d_c: the free bytes right before and right behind a region.
  std::uint64_t adjacent_free(std::uint32_t r) const {
    std::uint64_t bytes = 0;
    for (const std::uint32_t n : {regions_[r].prev, regions_[r].next})
      if (n != kNone && is_free(n)) bytes += regions_[n].size;
    return bytes;
  }

  /// Forgets all regions, in O(size classes).
  void clear() noexcept {
    free_.clear();
    used_ = 0;
    regions_used_ = 0;
    spare_ = kNone;
    last_ = kNone;
    backed_ = std::min(buffer_.committed() / kGrain * kGrain, capacity_);
    if (backed_ == 0) return;
    const std::uint32_t all = new_region();
    if (all == kNone) {
      backed_ = 0;
      return;
    }
    regions_[all].offset = 0;
    regions_[all].size = backed_;
    regions_[all].prev = regions_[all].next = kNone;
    last_ = all;
    free_.insert(regions_, all);
  }

  /// Changes the capacity. Shrinking below what is used is refused. If the buffer must become
  /// shorter, all regions are moved to its front; `moved(owner, data)` gets the place of each one
  /// now.
  template <class Moved>
  bool set_capacity(std::uint64_t bytes, Moved&& moved) noexcept {
    bytes = std::min(rounded(bytes), max_capacity());
    if (bytes < used_ || bytes < kGrain) return false;
    if (bytes < backed_) compact(bytes, moved);
    capacity_ = bytes;
    return true;
  }

 private:
  /// Splits what is more than `need` off the end of a region that is in no free list.
  void cut(std::uint32_t r, std::uint64_t need) noexcept {
    if (regions_[r].size < need + kGrain) return;
    const std::uint32_t rest = new_region();
    if (rest == kNone) return;  // no descriptor: the entry gets the whole region
    Region& a = regions_[r];
    Region& b = regions_[rest];
    b.offset = a.offset + need;
    b.size = a.size - need;
    b.prev = r;
    b.next = a.next;
    if (a.next != kNone) regions_[a.next].prev = rest;
    if (last_ == r) last_ = rest;
    a.next = rest;
    a.size = need;
    free_.insert(regions_, rest);
  }

  /// Joins a region with the one behind it; neither is in a free list.
  void absorb_next(std::uint32_t r) noexcept {
    Region& a = regions_[r];
    const std::uint32_t n = a.next;
    a.size += regions_[n].size;
    a.next = regions_[n].next;
    if (a.next != kNone) regions_[a.next].prev = r;
    if (last_ == n) last_ = r;
    delete_region(n);
  }

  /// Backs more of the buffer by memory, so that `need` bytes are free at its end.
  bool expand(std::uint64_t need) noexcept {
    const std::uint64_t at_end = last_ != kNone && is_free(last_) ? regions_[last_].size : 0;
    const std::uint64_t wanted = backed_ + (need - at_end);
    if (wanted > capacity_) return false;
    // Of much memory, the buffer takes larger steps by itself.
    const std::uint64_t step = std::clamp(backed_, kFirstStep, kLargeStep);
    const std::uint64_t wish = std::min(capacity_, std::max(wanted, backed_ + step));
    if (!buffer_.commit(wish, capacity_) && !buffer_.commit(wanted)) {
      capacity_ = std::max(backed_, kGrain);
      return false;
    }
    const std::uint64_t end = std::min(buffer_.committed() / kGrain * kGrain, capacity_);
    if (at_end > 0) {
      free_.remove(regions_, last_);
      regions_[last_].size += end - backed_;
      free_.insert(regions_, last_);
    } else {
      const std::uint32_t r = new_region();
      if (r == kNone) return false;
      regions_[r].offset = backed_;
      regions_[r].size = end - backed_;
      regions_[r].prev = last_;
      regions_[r].next = kNone;
      if (last_ != kNone) regions_[last_].next = r;
      last_ = r;
      free_.insert(regions_, r);
    }
    backed_ = end;
    return true;
  }

  template <class Moved>
  void compact(std::uint64_t bytes, Moved&& moved) noexcept {
    std::uint32_t r = last_;
    while (r != kNone && regions_[r].prev != kNone) r = regions_[r].prev;
    std::uint64_t end = 0;
    std::uint32_t kept = kNone;
    while (r != kNone) {
      const std::uint32_t next = regions_[r].next;
      if (is_free(r)) {
        free_.remove(regions_, r);
        delete_region(r);
      } else {
        if (regions_[r].offset != end) {
          std::memmove(buffer_.data() + end, data(r), regions_[r].size);
          regions_[r].offset = end;
          moved(regions_[r].owner, data(r));
        }
        end += regions_[r].size;
        regions_[r].prev = kept;
        if (kept != kNone) regions_[kept].next = r;
        kept = r;
      }
      r = next;
    }
    if (kept != kNone) regions_[kept].next = kNone;
    last_ = kept;
    backed_ = end;
    buffer_.trim(bytes);
    const std::uint64_t limit = std::min(buffer_.committed() / kGrain * kGrain, bytes);
    if (limit <= end) return;
    const std::uint32_t rest = new_region();
    if (rest == kNone) return;
    regions_[rest].offset = end;
    regions_[rest].size = limit - end;
    regions_[rest].prev = kept;
    regions_[rest].next = kNone;
    if (kept != kNone) regions_[kept].next = rest;
    last_ = rest;
    backed_ = limit;
    free_.insert(regions_, rest);
  }

  std::uint32_t new_region() noexcept {
    std::uint32_t r = spare_;
    if (r != kNone) {
      spare_ = regions_[r].next;
    } else {
      if (!regions_.grow(regions_used_ + 1)) return kNone;
      r = static_cast<std::uint32_t>(regions_used_++);
    }
    regions_[r].reset();
    return r;
  }

  void delete_region(std::uint32_t r) noexcept {
    regions_[r].owner = kNone;
    regions_[r].next = spare_;
    spare_ = r;
  }

  /// A cache of little takes little; doubled until steps are large.
  static constexpr std::uint64_t kFirstStep = std::uint64_t{16} << 10;
  static constexpr std::uint64_t kLargeStep = std::uint64_t{256} << 10;

  LazyMemory buffer_;
  LazyArray<Region> regions_;
  Free free_;
  std::uint64_t regions_used_ = 0;
  std::uint32_t spare_ = kNone;  ///< list of unused descriptors
  std::uint32_t last_ = kNone;   ///< the region at the end of the backed part
  std::uint64_t backed_ = 0;     ///< regions cover [0, backed_)
  std::uint64_t capacity_ = 0;
  std::uint64_t used_ = 0;
};

}  // namespace hob::cache
