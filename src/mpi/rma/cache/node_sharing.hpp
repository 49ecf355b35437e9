// One window's share in what the ranks of a node fetched (docs/developers/cache.md, "Sharing on a
// node").
#pragma once

#include <cstdint>
#include <memory>

#include "cache/cache.hpp"
#include "mpi/rma/cache/cacheable_get.hpp"
#include "mpi/rma/cache/node_log.hpp"
#include "mpi/rma/cache/terms.hpp"

namespace hob::mpi {

/// What this process reads of its node's log and writes to it, and when a record is true for it
/// (docs/consistency.md: floors). Off until start(). Not thread safe.
class NodeSharing {
 public:
  explicit NodeSharing(const Coherence& coherence) : coherence_(coherence) {}

  /// From now on. Before the first get.
  void start(std::unique_ptr<NodeLog> log) { log_ = std::move(log); }
  bool on() const { return log_ != nullptr; }
  bool near(int rank) const { return log_->near(rank); }

  /// Whether a get is one of those that ranks of a node share: of contiguous bytes on another node,
  /// into contiguous ones.
  bool covers(const Get& get, const CacheableGet& wanted, const TargetState& target) const {
    const auto mode = [&] { return coherence_.mode(); };
    return HOB_UNLIKELY(on()) && mode() != Mode::strict && mode() != Mode::off && !target.near &&
           wanted.contiguous && !get.is_atomic() && wanted.contiguous_at_origin(get);
  }

  /// The node's clock, for a get that is about to be issued.
  std::uint64_t now() const { return log_->log.now(); }

  /// Looks for a get that `covers` says may be there, the `number`-th of the window; in `blocks`
  /// too, if so. On success the program's buffer has the bytes.
  bool find(const Get& get, const CacheableGet& wanted, const TargetState& target,
            std::uint64_t number, bool blocks, cache::Lookup& found, std::uint64_t now);

  /// A get, of blocks too, is complete that ranks of this node may use. True if it was added.
  bool add(TargetState& target, const PendingGet& get);

 private:
  const Coherence& coherence_;
  std::unique_ptr<NodeLog> log_;
  cache::Key last_{};           ///< the key found last,
  std::uint64_t last_get_ = 0;  ///< by this get,
  std::uint32_t in_a_row_ = 0;  ///< so often one after the other
};

}  // namespace hob::mpi
