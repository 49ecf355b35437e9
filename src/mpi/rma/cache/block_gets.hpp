// Gets of blocks around what is missing: how they are issued, and what happens when they arrive
// (docs/consistency.md, "Fetched ahead").
#pragma once

#include <cstdint>
#include <memory>

#include "cache/cache.hpp"
#include "mpi/rma/cache/ahead.hpp"
#include "mpi/rma/cache/get_issuer.hpp"
#include "mpi/rma/cache/requested_gets.hpp"

namespace hob::mpi {

/// Of one window. Not thread safe. No function throws.
class BlockGets {
 public:
  /// What belongs to the window. All of it outlives the object.
  struct Parts {
    Ahead& ahead;  ///< how much to fetch
    GetIssuer& issuer;
    RequestedGets& requests;
    cache::Cache& cache;
    const DisplacementUnits& units;
    const Coherence& coherence;
    const NodeSharing& sharing;
    GetsUnderWay& under_way;
    gets::Learning& learning;
    gets::KeptCopies& kept;
    GetStats& stats;
  };

  /// `longest_fetch`: bytes that one get may fetch.
  BlockGets(std::uint64_t longest_fetch, const Parts& parts)
      : longest_fetch_(longest_fetch), parts_(parts) {}

  /// A get that is missing: issues one of the blocks around it, if that is allowed and worthwhile.
  /// `recalled`: most of what the program reads is recalled. `aged`: what there was is too old.
  /// False if nothing was issued.
  bool issue(const Get& get, TargetState& t, const CacheableGet& wanted, bool recalled,
             bool aged = false);

  /// Fetches the block of a hit again, since it is old and these bytes of it were not asked for
  /// before. False if nothing was issued.
  bool issue_again(const LookedUp& asked);

  /// Blocks have arrived. Returns the ticks that it took to take them in.
  std::uint64_t finish(PendingGet& pending);

 private:
  bool may_fetch(const Get& get, const TargetState& t, const CacheableGet& wanted) const;
  std::uint32_t take_up(const Get& get, TargetState& t);
  bool lay_out(PendingGet& pending, const CacheableGet& wanted,
               const cache::BlockFetch& blocks) const;
  template <class Reserve>
  bool issue_blocks(const Get& get, TargetState& t, const CacheableGet& wanted,
                    std::unique_ptr<AheadFetch> fetch, Reserve reserve);
  bool give_up(TargetState& t, std::uint32_t index);
  void end();

  std::uint64_t longest_fetch_;
  Parts parts_;
};

}  // namespace hob::mpi
