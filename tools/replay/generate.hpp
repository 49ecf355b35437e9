#pragma once

// Traces made by rule and seed, so that none need be kept in the repository. There are two suites
// that share no program: defaults are chosen with the one and judged with the other.

#include <cstdint>
#include <string_view>
#include <vector>

#include "report/trace.hpp"

namespace hob::replay {

struct Family {
  std::string_view name;
  std::string_view what;  ///< one line for people
  std::vector<report::TraceRecord> (*make)(std::uint64_t seed);
};

/// The traces that defaults may be chosen with.
const std::vector<Family>& choosing_suite();

/// The traces that they are judged with.
const std::vector<Family>& judging_suite();

}  // namespace hob::replay
