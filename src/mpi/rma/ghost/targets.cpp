#include "mpi/rma/ghost/targets.hpp"

#include "mpi/core/context.hpp"
#include "mpi/rma/ghost/client.hpp"

namespace hob::mpi {

std::uint64_t GhostTargets::header(int target) const {
  return ghost_client->world.slice_begins[static_cast<std::size_t>(rank(target))] +
         memory_.headers.of(target);
}

std::size_t GhostTargets::memory_bytes() const {
  std::size_t pages = 0;
  for (const auto& page : pages_) pages += page ? 1 : 0;
  return sizeof *this + pages_.capacity() * sizeof pages_[0] + pages * sizeof(Page) +
         used_.size() * (sizeof(Target) + sizeof used_[0]) + memory_.headers.memory_bytes() +
         memory_.sizes.memory_bytes() + memory_.units.memory_bytes();
}

GhostTargets::Target& GhostTargets::add(int target) {
  const auto at = static_cast<std::size_t>(target);
  auto& page = pages_[at / kPage];
  if (!page) page = std::make_unique<Page>();
  auto& slot = (*page)[at % kPage];
  slot = std::make_unique<Target>();
  used_.push_back(slot.get());
  slot->rank = target;
  GhostWorld& world = ghost_client->world;
  const ProcessPlace& who = world.ranks[static_cast<std::size_t>(rank(target))];
  ghost::Peer& peer = slot->peer;
  peer.size = size(target);
  peer.target = header(target);
  if (who.node == world.own_node) {
    peer.direct = reinterpret_cast<ghost::Target*>(world.arena + peer.target);
    return *slot;
  }
  peer.node = &ghost_client->nodes[static_cast<std::size_t>(who.node)];
  peer.home = static_cast<unsigned>(who.home);
  if (context().settings.ghost_binding == "segment") {
    const ghost::Segments& cut = segments(who.node);
    peer.pieces = &cut.pieces(static_cast<std::size_t>(members_->places[at]));
  }
  return *slot;
}

const ghost::Segments& GhostTargets::segments(int node) {
  for (auto& [known, cut] : segments_) {
    if (known == node) return *cut;
  }
  const std::vector<int>& ranks = members_->ranks;
  const auto node_of = [&](std::size_t target) {
    return ghost_client->world.ranks[static_cast<std::size_t>(ranks[target])].node;
  };
  if (members_->places.empty()) {
    std::vector<int> next(ghost_client->nodes.size(), 0);
    for (std::size_t t = 0; t < ranks.size(); ++t)
      members_->places.push_back(next[static_cast<std::size_t>(node_of(t))]++);
  }
  std::vector<std::uint64_t> sizes;
  for (std::size_t t = 0; t < ranks.size(); ++t) {
    if (node_of(t) == node) sizes.push_back(size(static_cast<int>(t)));
  }
  const auto ghosts =
      static_cast<unsigned>(ghost_client->nodes[static_cast<std::size_t>(node)].ghosts.size());
  segments_.emplace_back(node, std::make_unique<ghost::Segments>(sizes, ghosts));
  return *segments_.back().second;
}

}  // namespace hob::mpi
