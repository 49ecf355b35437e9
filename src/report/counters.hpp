// Counters: their names, and where their values are found.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace hob::report {

enum class Kind { count, level };  ///< a level goes up and down; a count only goes up

/// The description of a counter; `unit` is "B" or what is counted.
struct CounterInfo {
  std::string_view name;
  std::string_view unit;
  std::string_view help;
  Kind kind = Kind::count;
  /// Of what is said of all ranks together: each is taken to have as much as the one that has
  /// least, since ranks wait for each other, and what one of them waits less it may wait later.
  bool coupled = false;
};

/// A counter of a part of Hob: one row of the part's table. `value` reads it from an object of the
/// part's (a window, a queue, the whole process).
template <class Object>
struct CounterRow {
  CounterInfo info;
  std::uint64_t (*value)(const Object&);
};

template <class Object, std::size_t count>
using CounterRows = std::array<CounterRow<Object>, count>;

template <class Object, std::size_t count>
constexpr std::array<CounterInfo, count> infos_of(const CounterRows<Object, count>& rows) {
  std::array<CounterInfo, count> infos{};
  for (std::size_t i = 0; i < count; ++i) infos[i] = rows[i].info;
  return infos;
}

/// Adds an object's values to `sums`, which has one for each row.
template <class Object, std::size_t count>
void add_values(const CounterRows<Object, count>& rows, const Object& object,
                std::span<std::uint64_t> sums) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += rows[i].value(object);
}

/// Values by name, in the order of their tables.
struct Counters {
  struct Value {
    std::string_view name;
    std::uint64_t value;
  };
  std::vector<Value> values;

  /// Of sums over ranks: the greatest value of a rank, and which has it, in the same order. Empty
  /// where none was asked for.
  struct Peak {
    double value = 0;
    int rank = -1;
  };
  std::vector<Peak> peaks;

  /// {0, -1} for a name that is not there.
  Peak peak(std::string_view name) const {
    for (std::size_t i = 0; i < peaks.size(); ++i)
      if (values[i].name == name) return peaks[i];
    return {};
  }

  /// 0 for a name that is not there.
  std::uint64_t operator[](std::string_view name) const {
    for (const Value& each : values)
      if (each.name == name) return each.value;
    return 0;
  }
};

/// One object's counters.
template <class Object, std::size_t count>
Counters counters_of(const CounterRows<Object, count>& rows, const Object& object) {
  Counters counters;
  for (const auto& row : rows) counters.values.push_back({row.info.name, row.value(object)});
  return counters;
}

}  // namespace hob::report
