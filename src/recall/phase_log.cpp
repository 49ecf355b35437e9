#include "recall/phase_log.hpp"

#include <algorithm>

namespace hob::recall {

bool PhaseLog::grow() {
  constexpr std::size_t kFirst = 64;
  const std::size_t now = log_.places.size();
  if (overflowed_ || now >= most_) return false;
  return log_.reserve(std::min(std::max(2 * now, kFirst), most_));
}

std::span<const Place> PhaseLog::sorted() {
  std::vector<Place>& places = log_.places;
  const auto before = [](const Place& a, const Place& b) { return a.before(b); };
  if (!std::is_sorted(places.begin(), places.end(), before))
    std::sort(places.begin(), places.end(), before);
  std::size_t kept = 0;
  for (const Place& place : places) {
    if (kept != 0 && places[kept - 1].contains(place.target(), place.displacement(), place.bytes()))
      continue;
    places[kept++] = place;
  }
  places.resize(kept);
  return places;
}

}  // namespace hob::recall
