// What a process finds out of stores to its own memory of a window, for validation.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "pay/backoff.hpp"
#include "pay/budget.hpp"
#include "validation/sampling.hpp"
#include "validation/store_tracker.hpp"
#include "validation/tracking_budget.hpp"

namespace hob::mpi {

class OwnStores;

/// Of all windows of the process. Guarded by the lock of validation.cpp.
class StoreWatch {
 public:
  StoreWatch();

  /// One call in which this process reports: look at windows in between.
  void begin_call();
  void end_call();

 private:
  friend class OwnStores;

  /// What looking for stores may cost, in all windows together.
  pay::Budget budget_;
  std::uint64_t moment_ = 0;       ///< counts these calls
  std::vector<OwnStores*> begun_;  ///< windows whose memory is watched since this call
  std::uint32_t paused_ = 0;       ///< calls in which no watch begins
  /// Such calls after the next watch without a result.
  pay::Backoff<std::uint32_t> pause_{{.first = 1, .longest = 1024}};
};

/// Of one window. Guarded by the lock of validation.cpp.
class OwnStores {
 public:
  /// Owner::library: the MPI library, or Hob, allocated the memory, and processes of the node may
  /// map it to carry out MPI calls.
  OwnStores(const void* base, std::uint64_t bytes, validation::Tracking tracking,
            validation::Owner owner);

  /// Whether the memory may have been stored to since this was asked last. If so, it is watched
  /// from now on, where that is possible. `always`: whatever it costs.
  bool may_have_changed(StoreWatch& watch, bool always);

  /// No process asks for copies: after some calls nothing is left registered with the kernel.
  void not_wanted();

  /// Why may_have_changed() said so.
  const char* reason() const { return reason_; }

  /// Whether the first and the last bytes of the memory are compared: where may_have_changed() says
  /// no, they are what they were when it said yes last, but others may have been read in between.
  bool compares_edges() const { return tracker_.compares_edges(); }

  /// These bytes, for the members of the window; also where they were not compared, but others
  /// doubt theirs. False if they are not known.
  bool show_edges(validation::ShownEdges& to) const { return tracker_.show_edges(to); }

 private:
  friend class StoreWatch;
  bool changed(pay::Budget& budget, bool always);
  void track(StoreWatch& watch, bool always);
  bool samples(StoreWatch& watch);

  validation::StoreTracker tracker_;
  bool promised_;
  validation::Sampling sampling_;
  std::uint64_t asked_;      ///< when may_have_changed() was called last, in nanoseconds
  double passed_ = 0;        ///< nanoseconds between the last two calls
  double look_ = 0, track_;  ///< nanoseconds that these took last, or may take
  std::uint32_t unwanted_ = 0;
  const char* reason_ = "";
};

}  // namespace hob::mpi
