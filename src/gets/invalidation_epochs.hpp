// Since when fetched bytes of a target are surely true. Pure.
#pragma once

#include <cstdint>

namespace hob::gets {

/// Numbers the moments at which fetched bytes stopped being surely true: acquires, own writes,
/// dropped caches (docs/consistency.md, "What the ranks of a node share"). Not thread safe.
class InvalidationEpochs {
 public:
  /// The number of the last such moment.
  std::uint64_t now() const { return last_; }
  /// One of all targets; of the target whose mark this is.
  void advance_all() { all_ = ++last_; }
  void advance(std::uint64_t& mark) { mark = ++last_; }
  /// Whether there was one for the target with this mark after the number `since`.
  bool any(std::uint64_t mark, std::uint64_t since) const { return since < mark || since < all_; }

 private:
  std::uint64_t last_ = 1;
  std::uint64_t all_ = 0;  ///< the last that was of all targets
};

}  // namespace hob::gets
