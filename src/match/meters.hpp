#pragma once

#include <algorithm>
#include <cstdint>
#include <new>

#include "match/depth_meter.hpp"

namespace hob::match {

/// Counters of one communicator's receives and messages.
struct QueueCounters {
  std::uint64_t native = 0;        ///< receives posted with the library
  std::uint64_t in_prq = 0;        ///< receives that went to Hob's PRQ
  std::uint64_t immediate = 0;     ///< receives that found their message in Hob's UMQ
  std::uint64_t dequeued = 0;      ///< messages that Hob dequeued from the library
  std::uint64_t reposted = 0;      ///< receives of Hob's PRQ that went to the library after all
  std::uint64_t reposted_few = 0;  ///< the same, since they were few and waited for
  std::uint64_t passed = 0;        ///< entries of Hob's PRQ that the library would have passed
  std::uint64_t emptied = 0;       ///< times the library's unexpected messages were all dequeued
  std::uint64_t lone = 0;     ///< blocking receives with nothing else posted: length and depth 1
  std::uint64_t longest = 0;  ///< receives that waited at a time, at the library and in Hob's PRQ

  void add(const QueueCounters& other) {
    native += other.native;
    in_prq += other.in_prq;
    immediate += other.immediate;
    dequeued += other.dequeued;
    reposted += other.reposted;
    reposted_few += other.reposted_few;
    passed += other.passed;
    emptied += other.emptied;
    lone += other.lone;
    longest = std::max(longest, other.longest);
  }

  /// Receives that the program posted.
  std::uint64_t receives() const { return native + in_prq + immediate - reposted; }
};

/// What the report has of one communicator's queues.
struct QueueStats {
  QueueCounters counters;
  DepthStats posted;   ///< receives, of those that are watched
  DepthStats arrived;  ///< messages that Hob dequeued before their receive was posted

  void add(const QueueStats& other) {
    counters.add(other.counters);
    posted.add(other.posted);
    arrived.add(other.arrived);
  }

  bool any() const { return posted.appended != 0 || arrived.appended != 0; }
};

/// The instruments of one communicator. Not thread safe.
struct Meters {
  /// Beyond this length the meters estimate.
  static constexpr std::uint32_t kLimit = 1u << 17;

  QueueCounters counters;
  DepthMeter posted{kLimit};
  DepthMeter arrived{kLimit};

  /// A receive is posted. False: there is no memory to follow it.
  bool append_posted(DepthMeter::Ticket& ticket) {
    try {
      ticket = posted.append();
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  /// So many receives wait.
  void wait(std::uint64_t receives) { counters.longest = std::max(counters.longest, receives); }

  /// Everything, with the lone receives among those that were watched: the queue had one entry,
  /// then none; the search looked at one.
  QueueStats stats() const {
    QueueStats all{counters, posted.stats(), arrived.stats()};
    all.counters.longest = std::max(counters.longest, all.posted.max_length);
    const std::uint64_t lone = counters.lone;
    if (lone == 0) return all;
    all.counters.longest = std::max<std::uint64_t>(all.counters.longest, 1);
    all.posted.appended += lone;
    all.posted.matched += lone;
    all.posted.depth_sum += lone;
    all.posted.max_length = std::max<std::uint64_t>(all.posted.max_length, 1);
    all.posted.length.counts[0] += lone;
    all.posted.length.counts[1] += lone;
    all.posted.depth.counts[1] += lone;
    return all;
  }
};

}  // namespace hob::match
