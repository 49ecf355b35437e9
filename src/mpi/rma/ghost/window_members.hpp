// The processes of ghost windows. Pure.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace hob::mpi {

/// The members of windows. Windows of the same members share one, since it has four bytes for each.
struct GhostMembers {
  std::vector<int> ranks;   ///< in the internal communicator
  std::vector<int> places;  ///< the how many-th each is on its node; empty: not asked for yet
};

/// Those of all windows that are there. Not thread safe.
class MemberGroups {
 public:
  /// The members that have these ranks.
  std::shared_ptr<GhostMembers> share(std::vector<int> ranks) {
    std::erase_if(known_, [](const auto& group) { return group.expired(); });
    for (const auto& group : known_)
      if (auto found = group.lock(); found && found->ranks == ranks) return found;
    auto made = std::make_shared<GhostMembers>(GhostMembers{std::move(ranks), {}});
    known_.push_back(made);
    return made;
  }

 private:
  std::vector<std::weak_ptr<GhostMembers>> known_;
};

}  // namespace hob::mpi
