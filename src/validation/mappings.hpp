// What this process's memory is mapped from.
#pragma once

#include <cstdint>

namespace hob::validation {

/// Of a range of addresses. Other threads may change it at any time.
struct Mappings {
  bool known = false;   ///< all of it is mapped, and no part is a device's
  bool shared = false;  ///< a part that other processes may map, too
  /// A part that is a private mapping of a file: a page of it that this process has not stored to
  /// shows what others write to the file.
  bool files = false;

  bool anonymous() const { return known && !shared && !files; }
};

/// Asks /proc/self/maps: some microseconds, and before Linux 6.11 more with many mappings.
Mappings mappings_of(std::uintptr_t begin, std::uintptr_t end);

}  // namespace hob::validation
