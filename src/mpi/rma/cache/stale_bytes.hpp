// What follows when a hit that was compared (setting `verify`) differs from the target's memory.
#pragma once

#include <string>

namespace hob::mpi {

/// The exit status of a process that got stale bytes, unless the program's own is not 0.
inline constexpr int kStaleStatus = 86;

/// Reports a difference on standard error, whatever `report` says: the first of this process in
/// full, the others are counted. Then as the setting `verify_action` says: nothing more,
/// kStaleStatus once the program has ended, or the end of the job. Thread safe.
void report_stale_bytes(const std::string& sentence);

}  // namespace hob::mpi
