#include "ghost/advice.hpp"

#include <algorithm>

namespace hob::ghost {
namespace {

double busy(const GhostUse::Ghost& ghost) {
  return ghost.lived_ns == 0
             ? 0
             : static_cast<double>(ghost.busy_ns) / static_cast<double>(ghost.lived_ns);
}

std::string why_nothing(const GhostUse& use) {
  if (use.windows == 0) return "no window was made that ghosts can serve";
  if (use.native != 0)
    return "operations were puts and gets, which this network does without the target's processor";
  if (use.nodes == 1 && use.direct != 0)
    return "all ranks are on one node, where operations go straight through shared memory";
  if (use.direct != 0)
    return "operations went to the origin's own node only, straight through shared memory";
  if (use.nodes > 1) return "no operations came to its ranks from other nodes";
  return "there were no operations on windows that ghosts serve";
}

/// Which ghosts a sentence is about.
std::string whose(const GhostUse& use) {
  if (use.nodes == 1) return "The ghosts";
  if (use.nodes <= kNodesToName) return "The ghosts on " + use.host;
  return "The ghosts of at least one node (hob report says which)";
}

}  // namespace

std::vector<std::string> advice(const GhostUse& use) {
  std::vector<std::string> sentences;
  if (use.ghosts.empty()) return sentences;
  const bool worked = std::any_of(use.ghosts.begin(), use.ghosts.end(),
                                  [](const auto& ghost) { return ghost.operations != 0; });
  double all = 0;
  double most = 0;
  for (const auto& ghost : use.ghosts) {
    all += busy(ghost);
    most = std::max(most, busy(ghost));
  }
  if (!worked)
    sentences.emplace_back(whose(use) + " did nothing: " + why_nothing(use) +
                           ". Without them their cores could compute.");
  else if (most > kBusyGhost)
    sentences.emplace_back(
        "A ghost was busy for more than 80% of the run: one more ghost per node may help.");
  else if (use.ghosts.size() > 1 && all < kIdleGhosts)
    sentences.emplace_back(whose(use) +
                           " together were busy for less than 20% of the run: one ghost per node "
                           "would do.");
  return sentences;
}

}  // namespace hob::ghost
