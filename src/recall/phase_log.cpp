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

void PhaseLog::sample(std::vector<Place>& into) const {
  into.clear();
  for (const Place& place : log_.places) {
    // The product's upper bits depend on all bits of the place.
    const std::uint64_t mixed = (place.displacement() + place.target()) * 0x9e3779b97f4a7c15;
    if (mixed > ~std::uint64_t{0} / kSampled) continue;
    into.push_back(place);
  }
  std::sort(into.begin(), into.end(), [](const Place& a, const Place& b) { return a.before(b); });
}

}  // namespace hob::recall
