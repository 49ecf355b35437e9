// Which targets of a window the MPI library reaches by loads and stores.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace hob::mpi {

/// Known since the window was made. A get from such a target is a copy, as a hit is, so that it is
/// never looked up.
class NearTargets {
 public:
  /// None.
  NearTargets() = default;
  /// These ranks of the window's group, in any order.
  explicit NearTargets(std::vector<int> ranks) : ranks_(std::move(ranks)) {
    std::sort(ranks_.begin(), ranks_.end());
  }
  static NearTargets every() {
    NearTargets near;
    near.all_ = true;
    return near;
  }

  bool all() const { return all_; }
  bool contains(int rank) const {
    return all_ || (!ranks_.empty() && std::binary_search(ranks_.begin(), ranks_.end(), rank));
  }

 private:
  bool all_ = false;
  std::vector<int> ranks_;  ///< ascending; empty if all are
};

}  // namespace hob::mpi
