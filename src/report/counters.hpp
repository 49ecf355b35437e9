// Counters by name, as listed in counters.def.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hob::report {

enum class Counter : std::size_t {
#define HOB_COUNTER(name, scope, unit, help) name,
#include "report/counters.def"
#undef HOB_COUNTER
  count
};
inline constexpr std::size_t counter_count = static_cast<std::size_t>(Counter::count);

enum class Scope { window, process };

struct CounterInfo {
  std::string_view name;
  Scope scope;
  std::string_view unit;
  std::string_view help;
};

inline constexpr std::array<CounterInfo, counter_count> counter_table = {{
#define HOB_COUNTER(name, scope, unit, help) {#name, Scope::scope, unit, help},
#include "report/counters.def"
#undef HOB_COUNTER
}};

/// The counter of this name, if there is one.
constexpr std::optional<Counter> find_counter(std::string_view name) {
  for (std::size_t i = 0; i < counter_count; ++i)
    if (counter_table[i].name == name) return static_cast<Counter>(i);
  return std::nullopt;
}

/// One value per counter. A plain array inside, so that it can be summed by a reduction.
struct Counters {
  std::array<std::uint64_t, counter_count> values{};

  std::uint64_t& operator[](Counter counter) { return values[static_cast<std::size_t>(counter)]; }
  std::uint64_t operator[](Counter counter) const {
    return values[static_cast<std::size_t>(counter)];
  }
  void add(const Counters& other) {
    for (std::size_t i = 0; i < counter_count; ++i) values[i] += other.values[i];
  }
};

}  // namespace hob::report
