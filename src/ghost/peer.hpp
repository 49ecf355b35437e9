// What an origin knows of one target of one window, and of the ghosts that serve it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ghost/binding.hpp"
#include "ghost/block.hpp"
#include "ghost/target.hpp"

namespace hob::ghost {

/// Messages under way for whose end a thread waits.
struct Completion {
  std::uint32_t pending = 0;  ///< messages whose reply or data are missing
  std::uint32_t local = 0;    ///< those of them that still use the program's buffers
  bool failed = false;        ///< some operation was not carried out: memory was out of reach
};

/// The ghosts of one node as one origin knows them.
struct GhostNode {
  std::vector<int> ghosts;  ///< their ranks on the transport
  Load load;
};

/// One target of one window as one origin knows it. Must outlive its operations.
struct Peer {
  Target* direct = nullptr;   ///< same node: its header; else null
  std::uint64_t target = 0;   ///< other node: where its header is in that node's arena
  std::uint64_t size = 0;     ///< bytes exposed
  GhostNode* node = nullptr;  ///< other node: who serves it
  unsigned home = 0;          ///< its statically bound ghost, an index into node->ghosts
  const std::vector<Segments::Piece>* pieces = nullptr;  ///< segment binding; else null

  LockMode mode = LockMode::none;  ///< the epoch's lock
  bool fenced = false;             ///< instead of a lock: that the owner has entered a fence,
  std::uint32_t fence = 0;         ///< the one of this number
  enum class Lock : std::uint8_t { none, wanted, asked, held } lock = Lock::none;
  unsigned lock_ghost = 0;     ///< asked: the ghost that takes it
  std::uint64_t used = 0;      ///< bit g: ghost g has operations that are not known complete
  std::uint64_t released = 0;  ///< bit g: a release to ghost g has not been seen to arrive
  unsigned turn = 0;           ///< of the random binding
  /// The epoch ends by a message to the target's owner, which waits for as many operations as that
  /// says. So the last ones need no answer: they are collected, and sent when the epoch ends.
  bool counts = false;
  std::uint32_t counted =
      0;  ///< sent without wanting an answer, of which the owner is to be notified
  Completion completion;

  /// No lock is needed, or it is known to be held.
  bool lock_is_certain() const { return lock == Lock::none || lock == Lock::held; }
  /// While a lock is asked of one ghost, only that one may work under it.
  bool may_use(unsigned ghost) const { return lock != Lock::asked || lock_ghost == ghost; }
};

/// The packed data of an operation: blocks of the program's memory.
struct Local {
  std::byte* base = nullptr;
  std::span<const Block> blocks;
};

}  // namespace hob::ghost
