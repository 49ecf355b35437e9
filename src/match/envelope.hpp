#pragma once

#include <cstdint>
#include <limits>

namespace hob::match {

/// Receive from whoever sends. The engine's own constant: MPI libraries differ in theirs, so the
/// glue translates.
inline constexpr std::int32_t kAnySource = std::numeric_limits<std::int32_t>::min();

/// Receive whatever the tag. The engine's own constant, as above.
inline constexpr std::int32_t kAnyTag = std::numeric_limits<std::int32_t>::min();

/// What messages are matched by. A message's envelope has no wildcards; a receive's or a probe's
/// may have kAnySource, kAnyTag or both. Never the communicator: that is always equal.
struct Envelope {
  std::uint32_t context = 0;  ///< which communicator; numbers are the caller's
  std::int32_t source = 0;    ///< rank in that communicator, 0 or more, or kAnySource
  std::int32_t tag = 0;       ///< any number but kAnyTag's, or kAnyTag

  friend bool operator==(const Envelope&, const Envelope&) = default;
};

/// Whether a receive or probe that wants `want` takes a message with envelope `has`.
constexpr bool accepts(const Envelope& want, const Envelope& has) {
  return want.context == has.context && (want.source == has.source || want.source == kAnySource) &&
         (want.tag == has.tag || want.tag == kAnyTag);
}

}  // namespace hob::match
