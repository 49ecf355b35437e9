// When cached bytes may be used again (settings.def, key "cache"; docs/consistency.md).
#pragma once

#include <cstdint>

namespace hob::gets {

enum class Mode : std::uint8_t { automatic, strict, always, user, off };

/// The word for it in settings and reports.
constexpr const char* name_of(Mode mode) {
  constexpr const char* names[] = {"auto", "strict", "always", "user", "off"};
  return names[static_cast<int>(mode)];
}

/// The user has promised that acquires say nothing about this window.
constexpr bool outlives_acquires(Mode mode) { return mode == Mode::always || mode == Mode::user; }

}  // namespace hob::gets
