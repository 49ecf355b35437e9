// The tuned constants of point-to-point matching. Times are ratios of what one more entry costs in
// a search of a linked list, and of what it costs to dequeue a message, which are measured: at
// start (match::measure_list_step) and while messages are dequeued (Matcher::costs). The policies'
// own constants stand in their Config: match::Sampler, match::SearchTimer, match::TakeoverPolicy.
#pragma once

#include <cstdint>

#include "match/sampler.hpp"
#include "match/takeover_policy.hpp"

namespace hob::mpi::p2p::tuning {

/// A timed receive that takes longer to post than a search of so many messages was slow...
inline constexpr double kSlowSearchSteps = 220;
/// ... and so many nanoseconds for each byte of its buffer: its message may be there, and be
/// copied. Twice what the slowest memory takes.
inline constexpr double kCopyNsPerByte = 0.25;
/// From so many bytes on, copying could take longer than such a search: the library is asked for
/// the message beforehand, and that is timed. It may look at the network meanwhile, and a long
/// message takes so long that only a longer search matters: so many steps, and nanoseconds for each
/// byte.
inline constexpr double kProbedBytes = 4000;
inline constexpr double kSlowProbeSteps = 440;
inline constexpr double kSlowProbeNsPerByte = 0.03;

/// Messages dequeued at one look, so that a flood cannot keep a thread from its own work.
inline constexpr int kDequeuedAtOnce = 256;

/// The libraries' entries take longer than a bare list's: they lie on two lines of the cache, and
/// are compared. Measured on MPICH 4 and 5 and Open MPI 4, searches of 1,024 entries.
inline constexpr double kStepsPerEntry = 1.5;

/// One in so many messages that are dequeued is timed (a power of two): a timing costs some 20 ns.
inline constexpr std::uint64_t kDequeuesPerTiming = 16;
/// A new timing counts for so much of the estimate, and for no more than so many times it: now and
/// then the processor was elsewhere.
inline constexpr double kTimingWeight = 0.125;
inline constexpr double kTimingMost = 4;
/// Hob's own part of a dequeue, and the whole before it has been timed, in steps of a search.
inline constexpr double kOwnSteps = 8;
inline constexpr double kUntimedSteps = 20;

/// So many messages of one sender are looked for in a row before all have a chance, where Hob has
/// to ask who sends.
inline constexpr std::uint32_t kGuesses = 16;

/// Objects for messages that are kept for the next ones.
inline constexpr std::size_t kMessagesKept = 4096;

/// A pause in watching is over after so long: a hundred times what a stretch costs (128 x 60 ns).
inline constexpr double kLongestPauseNs = 1e6;

}  // namespace hob::mpi::p2p::tuning
