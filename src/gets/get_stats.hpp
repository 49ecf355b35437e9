// What is counted of the gets of one window. Pure.
#pragma once

#include <cstdint>

namespace hob::gets {

/// What the report says about one window's cache beyond cache::Stats.
struct GetStats {
  std::uint64_t gets = 0;         ///< asked for by the program, of any size and target
  std::uint64_t native_gets = 0;  ///< gets that the MPI library was asked for, refetches included
  std::uint64_t bypassed = 0;     ///< left to the library since the target is as fast as a hit
  std::uint64_t short_lived = 0;  ///< left to the library since copies never lived to be used
  std::uint64_t not_reused = 0;   ///< left to the library since gets like them did not come back
  std::uint64_t uncacheable = 0;  ///< left to the library for another reason
  std::uint64_t own_rank = 0;     ///< of these, from the process's own memory
  std::uint64_t device_buffers = 0;  ///< of these, into an accelerator's memory
  std::uint64_t refetches = 0;       ///< hits that were fetched again to see whether they changed
  std::uint64_t refetches_changed = 0;  ///< of these, the bytes had changed
  std::uint64_t flushes = 0;            ///< flush calls of the program
  std::uint64_t flushes_skipped = 0;    ///< of these, nothing was outstanding: no call made
  std::uint64_t invalidations = 0;      ///< times that the whole cache was dropped
  std::uint64_t own_writes = 0;         ///< own puts and accumulates that dropped what they overlap
  std::uint64_t verified = 0;           ///< hits that were fetched as well and compared
  std::uint64_t verify_failures = 0;    ///< of these, the bytes differed
  std::uint64_t shared_hits = 0;        ///< missing, but in the node's log
  std::uint64_t shared_bytes = 0;       ///< served so
  std::uint64_t shared_inserts = 0;     ///< gets put into the node's log
  std::uint64_t ahead_gets = 0;         ///< gets of blocks
  std::uint64_t ahead_refetches = 0;    ///< of these, blocks that were old when first asked for
  std::uint64_t ahead_changed = 0;      ///< of these, the bytes had changed
  std::uint64_t recalled = 0;           ///< places fetched again before they were asked for
  std::uint64_t recall_used = 0;        ///< of these, asked for
  std::uint64_t recall_bytes = 0;       ///< in such places
  std::uint64_t recall_used_bytes = 0;  ///< of these, in places that were asked for
  std::uint64_t recall_changed = 0;     ///< places that were old when first asked for, and changed
  std::uint64_t progress_calls = 0;     ///< times that MPI was entered for progress' sake
  std::uint64_t kept = 0;               ///< acquires after which copies were kept
  std::uint64_t kept_hits = 0;          ///< hits on copies fetched before such an acquire
};

}  // namespace hob::gets
