#include "mpi/rma/ghost/targets.hpp"

#include "mpi/core/context.hpp"
#include "mpi/rma/ghost/client.hpp"

namespace hob::mpi {

GhostTargets::GhostTargets(std::vector<ExposedMemory> memory, std::vector<int> ranks)
    : memory_(std::move(memory)), ranks_(std::move(ranks)), targets_(memory_.size()) {}

GhostTargets::Target& GhostTargets::add(int target) {
  auto& slot = targets_[static_cast<std::size_t>(target)];
  slot = std::make_unique<Target>();
  used_.push_back(slot.get());
  GhostWorld& world = ghost_client->world;
  const ProcessPlace& who = world.ranks[static_cast<std::size_t>(rank(target))];
  ghost::Peer& peer = slot->peer;
  peer.size = memory(target).size;
  peer.target = memory(target).header;
  if (who.node == world.own_node) {
    peer.direct = reinterpret_cast<ghost::Target*>(world.arena + memory(target).header);
    return *slot;
  }
  peer.node = &ghost_client->nodes[static_cast<std::size_t>(who.node)];
  peer.home = static_cast<unsigned>(who.home);
  if (context().settings.ghost_binding == "segment") {
    const ghost::Segments& cut = segments(who.node);
    peer.pieces = &cut.pieces(place_on_node_[static_cast<std::size_t>(target)]);
  }
  return *slot;
}

const ghost::Segments& GhostTargets::segments(int node) {
  for (auto& [known, cut] : segments_) {
    if (known == node) return *cut;
  }
  const auto node_of = [&](std::size_t target) {
    return ghost_client->world.ranks[static_cast<std::size_t>(ranks_[target])].node;
  };
  if (place_on_node_.empty()) {
    std::vector<std::size_t> next(ghost_client->nodes.size(), 0);
    for (std::size_t t = 0; t < ranks_.size(); ++t)
      place_on_node_.push_back(next[static_cast<std::size_t>(node_of(t))]++);
  }
  std::vector<std::uint64_t> sizes;
  for (std::size_t t = 0; t < memory_.size(); ++t) {
    if (node_of(t) == node) sizes.push_back(memory_[t].size);
  }
  const auto ghosts =
      static_cast<unsigned>(ghost_client->nodes[static_cast<std::size_t>(node)].ghosts.size());
  segments_.emplace_back(node, std::make_unique<ghost::Segments>(sizes, ghosts));
  return *segments_.back().second;
}

}  // namespace hob::mpi
