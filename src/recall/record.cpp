#include "recall/record.hpp"

#include <algorithm>

namespace hob::recall {
namespace {

constexpr std::uint32_t kOfPhase = Place::kRecalled | Place::kAsked;

bool before(const Place& a, const Place& b) { return a.before(b); }

}  // namespace

std::uint32_t Record::find(std::uint32_t target, std::uint64_t displacement,
                           std::uint64_t bytes) const {
  constexpr int kLookedAt = 4;  // places that begin before it: few overlap
  const std::vector<Place>& places = places_.places;
  // Of places that begin alike the longest comes first: the search needs no length.
  const Place wanted(target, displacement, 0, 0);
  auto at = std::upper_bound(places.begin(), places.end(), wanted, before);
  for (int i = 0; i < kLookedAt && at != places.begin(); ++i) {
    --at;
    if (at->target() != target) break;
    if (at->contains(target, displacement, bytes))
      return static_cast<std::uint32_t>(at - places.begin());
  }
  return kNone;
}

Record::Range Record::of(std::uint32_t target) const {
  const std::vector<Place>& places = places_.places;
  const auto first = std::partition_point(places.begin(), places.end(),
                                          [&](const Place& p) { return p.target() < target; });
  const auto end = std::partition_point(first, places.end(),
                                        [&](const Place& p) { return p.target() == target; });
  return {static_cast<std::uint32_t>(first - places.begin()),
          static_cast<std::uint32_t>(end - places.begin())};
}

void Record::mark(std::span<const Place> log, std::vector<Place>& rest) {
  rest.clear();
  for (const Place& place : log) {
    const std::uint32_t known = find(place.target(), place.displacement(), place.bytes());
    if (known == kNone)
      rest.push_back(place);
    else
      places_.places[known].set(Place::kAsked);
  }
}

std::uint64_t Record::abandon() {
  std::uint64_t vain = 0;
  for (Place& place : places_.places) {
    if (place.is(Place::kRecalled) && !place.is(Place::kAsked)) vain += place.bytes();
    place.clear(kOfPhase);
  }
  return vain;
}

Record::Outcome Record::close(std::span<const Place> rest, bool strict) {
  std::vector<Place>& places = places_.places;
  Outcome outcome;
  std::size_t kept = 0;
  for (std::size_t first = 0; first < places.size();) {
    std::size_t end = first;
    bool read = false;
    for (; end < places.size() && places[end].target() == places[first].target(); ++end)
      read = read || places[end].is(Place::kRecalled) || places[end].is(Place::kAsked);
    for (std::size_t i = first; i < end; ++i) {
      Place place = places[i];
      const bool asked = place.is(Place::kAsked), fresh = place.is(Place::kFresh);
      const bool recalled = place.is(Place::kRecalled);
      place.clear(kOfPhase);
      if (read) {
        ++(fresh ? outcome.fresh : outcome.known);
        if (asked) {
          ++(fresh ? outcome.fresh_asked : outcome.asked);
          outcome.asked_bytes += place.bytes();
          place.clear(Place::kAbsent | Place::kFresh);
        } else {
          if (recalled) outcome.vain_bytes += place.bytes();
          if (strict || fresh || place.is(Place::kAbsent)) continue;
          place.set(Place::kAbsent);
        }
      }
      places[kept++] = place;
    }
    first = end;
  }
  places.resize(kept);
  outcome.whole = places_.reserve(kept + rest.size());
  if (!outcome.whole) return outcome;
  for (Place place : rest) {
    place.clear(kOfPhase);
    place.set(Place::kFresh);
    places.push_back(place);
  }
  outcome.entered = static_cast<std::uint32_t>(rest.size());
  std::inplace_merge(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(kept),
                     places.end(), before);
  if (outcome.entered != 0) join();
  return outcome;
}

/// Joins places that touch, where a run is long enough.
void Record::join() {
  std::vector<Place>& places = places_.places;
  std::size_t kept = 0;
  for (std::size_t first = 0; first < places.size();) {
    const Place& begin = places[first];
    std::uint64_t end = begin.end(), order = begin.order();
    bool fresh = begin.is(Place::kFresh);
    std::size_t beyond = first + 1;
    for (; beyond < places.size(); ++beyond) {
      const Place& place = places[beyond];
      const std::uint64_t longer = std::max(end, place.end());
      if (place.target() != begin.target() || place.displacement() > end ||
          (longer > end && longer - begin.displacement() > kLongestRun))
        break;
      end = longer;
      order = std::min(order, place.order());
      fresh = fresh && place.is(Place::kFresh);
    }
    if (beyond - first > 1 && end - begin.displacement() >= kShortestRun) {
      Place run(begin.target(), begin.displacement(), end - begin.displacement(), order);
      if (fresh) run.set(Place::kFresh);
      places[kept++] = run;
    } else {
      for (std::size_t i = first; i < beyond; ++i) places[kept++] = places[i];
    }
    first = beyond;
  }
  places.resize(kept);
}

}  // namespace hob::recall
