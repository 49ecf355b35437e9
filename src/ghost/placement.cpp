#include "ghost/placement.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace hob::ghost {

int domain_of(const std::vector<std::vector<int>>& domains, const std::vector<int>& cpus) {
  if (cpus.empty()) return -1;
  for (std::size_t d = 0; d < domains.size(); ++d) {
    const auto& own = domains[d];
    const bool all = std::all_of(cpus.begin(), cpus.end(), [&](int cpu) {
      return std::find(own.begin(), own.end(), cpu) != own.end();
    });
    if (all) return static_cast<int>(d);
  }
  return -1;
}

namespace {

// Ranks that their launcher did not bind to one domain are taken to be spread evenly, in order, as
// their memory will be once they run.
std::vector<int> domains_of(const std::vector<std::vector<int>>& all,
                            const std::vector<std::vector<int>>& allowed) {
  const auto ranks = static_cast<int>(allowed.size());
  const auto domains = static_cast<int>(std::max<std::size_t>(all.size(), 1));
  std::vector<int> result(allowed.size());
  for (int r = 0; r < ranks; ++r) {
    const int bound = domain_of(all, allowed[static_cast<std::size_t>(r)]);
    result[static_cast<std::size_t>(r)] = bound >= 0 ? bound : r * domains / ranks;
  }
  return result;
}

// Ghosts for each domain: one for each that has served to keep, the rest in proportion to ranks. No
// domain gives up its last application rank while another has one to spare.
std::vector<int> shares(const std::vector<int>& domain_of_rank, std::size_t domains, int ghosts) {
  std::vector<int> ranks(domains, 0);
  for (const int d : domain_of_rank) ++ranks[static_cast<std::size_t>(d)];
  std::vector<int> share(domains, 0);
  const auto worth = [&](std::size_t d) {
    return std::make_tuple(share[d] + 1 < ranks[d], share[d] == 0,
                           double(ranks[d]) / (share[d] + 1));
  };
  for (int g = 0; g < ghosts; ++g) {
    std::size_t best = domains;
    for (std::size_t d = 0; d < domains; ++d) {
      if (share[d] < ranks[d] && (best == domains || worth(d) > worth(best))) best = d;
    }
    ++share[best];
  }
  return share;
}

}  // namespace

Placement place(const std::vector<std::vector<int>>& domains,
                const std::vector<std::vector<int>>& allowed, int ghosts) {
  const std::vector<int> domain = domains_of(domains, allowed);
  std::vector<int> left = shares(domain, std::max<std::size_t>(domains.size(), 1), ghosts);

  // The last ranks of each domain: the program's first ranks, which often do more, stay served.
  Placement placement;
  std::vector<bool> is_ghost(allowed.size(), false);
  for (std::size_t r = allowed.size(); r-- > 0;) {
    int& wanted = left[static_cast<std::size_t>(domain[r])];
    if (wanted == 0) continue;
    --wanted;
    is_ghost[r] = true;
  }
  for (std::size_t r = 0; r < allowed.size(); ++r) {
    if (!is_ghost[r]) continue;
    placement.ghosts.push_back(static_cast<int>(r));
    placement.domains.push_back(domain[r]);
    // A launcher's binding inside the domain is kept.
    const bool free = domains.size() > 1 && domain_of(domains, allowed[r]) < 0;
    placement.cpus.push_back(free ? domains[static_cast<std::size_t>(domain[r])]
                                  : std::vector<int>{});
  }

  // Application ranks go to the ghosts of their domain, or else of the nearest by number, evenly.
  placement.home.assign(allowed.size(), 0);
  std::vector<unsigned> served(placement.ghosts.size(), 0);
  for (std::size_t r = 0; r < allowed.size(); ++r) {
    if (is_ghost[r]) continue;
    std::size_t best = 0;
    for (std::size_t g = 1; g < served.size(); ++g) {
      const auto distance = [&](std::size_t k) {
        return std::abs(placement.domains[k] - domain[r]);
      };
      if (distance(g) < distance(best) ||
          (distance(g) == distance(best) && served[g] < served[best])) {
        best = g;
      }
    }
    placement.home[r] = static_cast<unsigned>(best);
    ++served[best];
  }
  return placement;
}

bool is_ghost(const Placement& placed, int rank) {
  return std::find(placed.ghosts.begin(), placed.ghosts.end(), rank) != placed.ghosts.end();
}

std::vector<bool> kept_ranks(const std::vector<int>& ranks, const std::vector<int>& programs) {
  std::vector<bool> kept(ranks.size());
  for (std::size_t r = 0; r < ranks.size() && !programs.empty(); ++r) {
    const auto rank = programs.begin() + ranks[r];
    kept[r] = std::find(programs.begin(), rank, *rank) == rank;
  }
  return kept;
}

void spare(const std::vector<bool>& kept, Placement& placed) {
  for (auto& ghost : placed.ghosts) {
    if (!kept[static_cast<std::size_t>(ghost)]) continue;
    for (std::size_t r = kept.size(); r-- > 0;) {
      if (kept[r] || is_ghost(placed, static_cast<int>(r))) continue;
      placed.home[static_cast<std::size_t>(ghost)] = placed.home[r];
      ghost = static_cast<int>(r);
      break;
    }
  }
}

}  // namespace hob::ghost
