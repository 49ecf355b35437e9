// The tuned constants of the glue: numbers that another machine may want otherwise. What can be
// measured at start or while running is measured, and is not here. Each row: unit, what it is for,
// how it was found.
#pragma once

#include <cstddef>

namespace hob::mpi::tuning {

/// progress. Looks in vain, one after another, before a waiting thread gives its core away between
/// two: about a millisecond. A yield on a machine with more processes than processors costs a time
/// slice (2 to 4 ms), so whoever is served within a millisecond does not pay it. Chosen from these
/// two times; not swept.
inline constexpr int kLooksBeforeYield = 10'000;

/// progress. ns between two looks of the helper thread: long against a look, short against what a
/// program would notice. Chosen; not swept.
inline constexpr long kHelperRest = 50'000;

/// requests. Receives that a wait still misses, from which on it lets time pass between looks in
/// vain: with fewer, the next message is likely to be the last one, and a rest only delays it.
/// Chosen.
inline constexpr std::size_t kManyMissing = 8;

/// requests. ns: a look in vain that takes longer has asked the kernel. Between the looks of shared
/// memory and of sockets on the machine of docs/measurements.
inline constexpr double kKernelLook = 300;

/// requests. ns of rest between two such looks: the messages that come meanwhile are cheaper to
/// fetch together. Measured with bursts over TCP (docs/measurements/2026-11-takeover.md).
inline constexpr double kRestBetweenLooks = 2000;

}  // namespace hob::mpi::tuning
