// What Hob says while the program runs, by level (setting `log`): one line each, to standard error.
#pragma once

#include <fmt/core.h>

#include <optional>
#include <string_view>
#include <utility>

#include "base/state.hpp"

namespace hob::log {

/// "off", "warn", ...; nothing for another word.
std::optional<Level> parse_level(std::string_view word);

/// Whether lines of this level are written: one load and one comparison.
inline bool on(Level level) { return level <= output.limit.load(std::memory_order_relaxed); }

/// The number that lines begin with from now on; < 0, as at first: none.
void set_rank(int rank);

/// Writes "hob: [rank N] level: text", in one system call, so that lines of several processes stay
/// whole. Thread safe. Does nothing where there is no memory.
void write(Level level, std::string_view text) noexcept;

/// The same of a format and its arguments, which are not looked at while the level is off.
template <class... Arguments>
void line(Level level, fmt::format_string<Arguments...> format, Arguments&&... arguments) noexcept {
  if (!on(level)) return;
  try {
    write(level, fmt::format(format, std::forward<Arguments>(arguments)...));
  } catch (...) {
    // No memory for one line.
  }
}

}  // namespace hob::log
