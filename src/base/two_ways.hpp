// A small table that forgets: two places for each hash, so that two keys of one hash that are used
// in turn do not drive one another out, as with one place.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

namespace hob {

/// `Slot`: a value type; a default one is empty. Not thread safe.
template <class Slot, std::size_t kSets>
class TwoWays {
 public:
  /// The slot among those of `hash` (below kSets) that `matches`, or null.
  template <class Matches>
  Slot* find(std::size_t hash, Matches matches) {
    Set& set = sets_[hash];
    if (matches(set.newer)) return &set.newer;
    return matches(set.older) ? &set.older : nullptr;
  }

  /// Puts a slot in the place of the older of the two.
  Slot& put(std::size_t hash, Slot slot) {
    Set& set = sets_[hash];
    set.older = std::move(set.newer);
    set.newer = std::move(slot);
    return set.newer;
  }

 private:
  struct Set {
    Slot newer{};
    Slot older{};
  };
  std::array<Set, kSets> sets_{};
};

}  // namespace hob
