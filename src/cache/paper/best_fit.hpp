#pragma once

// Free regions in an AVL tree by size: the paper's best fit (III-C2), O(log of the free regions).

#include <boost/intrusive/avl_set.hpp>
#include <cstdint>
#include <new>

#include "cache/entry.hpp"
#include "cache/lazy_memory.hpp"

namespace hob::cache {

class BestFit {
 public:
  static constexpr std::uint64_t kGrain = 64;

  struct Region {
    std::uint64_t offset;
    std::uint64_t size;
    std::uint32_t prev, next;  ///< neighbours in the buffer
    std::uint32_t owner;       ///< entry, or `kNone` if free
    boost::intrusive::avl_set_member_hook<
        boost::intrusive::link_mode<boost::intrusive::normal_link>>
        hook;

    void reset() {
      owner = kNone;
      ::new (&hook) decltype(hook)();
    }
    friend bool operator<(const Region& a, const Region& b) {
      return a.size != b.size ? a.size < b.size : a.offset < b.offset;
    }
  };

  void insert(LazyArray<Region>& regions, std::uint32_t r) { tree_.insert(regions[r]); }
  void remove(LazyArray<Region>& regions, std::uint32_t r) {
    tree_.erase(tree_.iterator_to(regions[r]));
  }

  /// Removes and returns the smallest region of at least `bytes` bytes, the lowest of equals; or
  /// `kNone`.
  std::uint32_t take(LazyArray<Region>& regions, std::uint64_t bytes) {
    const auto found = tree_.lower_bound(bytes, BySize{});
    if (found == tree_.end()) return kNone;
    const auto r = static_cast<std::uint32_t>(&*found - &regions[0]);
    tree_.erase(found);
    return r;
  }

  void clear() { tree_.clear(); }

 private:
  struct BySize {
    bool operator()(const Region& region, std::uint64_t bytes) const { return region.size < bytes; }
    bool operator()(std::uint64_t bytes, const Region& region) const { return bytes < region.size; }
  };

  boost::intrusive::avl_set<
      Region, boost::intrusive::member_hook<Region, decltype(Region::hook), &Region::hook>,
      boost::intrusive::constant_time_size<false>>
      tree_;
};

}  // namespace hob::cache
