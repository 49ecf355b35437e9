// What the windows of a program hold, and who may read or write which bytes so that MPI determines
// the outcome. Kept per block of 8 bytes; a rule that is too strict only costs a rejected
// operation.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "layout.hpp"
#include "mappings.hpp"

namespace fuzz {

using Ranks = std::uint32_t;  ///< a set of ranks

enum class WindowKind { kCreate, kAllocate, kShared, kDynamic };
enum class Regime { kNone, kLock, kLockAll, kFence, kPscw };

constexpr int kBlock = 8;

/// The memory of one rank that a window, or several, show.
struct Memory {
  std::vector<std::uint8_t> bytes;
  int regions = 1;           ///< dynamic windows: equal parts, attached one by one
  std::vector<Ranks> known;  ///< per block: ranks ordered after the last write, which is complete
  std::vector<Ranks>
      readers;  ///< per block: ranks that read it since the last global synchronisation
  std::vector<Ranks> writers;          ///< per block: ranks that wrote it since then
  std::vector<Ranks> before;           ///< per block: `known` before the current accumulates
  std::vector<std::uint16_t> pending;  ///< per block: writes not complete at the target
  std::vector<std::uint16_t>
      sum;  ///< per block: which (operation, type, window) is being accumulated; 0: none

  void resize(std::size_t size, Ranks everybody);
  std::vector<Page> pages;  ///< of memory that is mapped
  Tail tail = Tail::kNone;

  int size() const { return static_cast<int>(bytes.size()); }
};

/// What a window shows of one rank's memory.
struct Shown {
  int unit = 1;   ///< displacement unit
  int first = 0;  ///< byte of the memory
  int size = 0;   ///< bytes
};

/// The blocks that an operation touches, ascending.
using Blocks = std::vector<int>;
Blocks blocks_of(const std::vector<std::int64_t>& places, std::int64_t start, int element);
bool overlap(const Blocks& a, const Blocks& b);

struct Window {
  int id = 0;
  int root = 0;     ///< id of the first window over this memory
  int alias = 0;    ///< the how manyth further window over it; 0: the first
  int aliases = 0;  ///< of the first: further ones made so far
  WindowKind kind = WindowKind::kCreate;
  Regime regime = Regime::kNone;
  /// Per rank; one for all windows that show the same memory.
  std::shared_ptr<std::vector<Memory>> memories = std::make_shared<std::vector<Memory>>();
  std::vector<Shown> shown;  ///< per rank
  bool used = false;         ///< fence: some operation was issued since the last fence
  bool stored = false;       ///< somebody stored into own memory since the last synchronisation
  bool read_only = false;    ///< promised for the epoch that is open (NOPUT)
  bool shared_only = false;  ///< no exclusive lock of it, ever: shared locks may say NOCHECK
  bool opened = false;       ///< fence, PSCW: an epoch is open
  bool big = false;
  std::vector<Ranks> access;  ///< PSCW: per origin, its targets

  Memory& memory(int rank) const { return (*memories)[static_cast<std::size_t>(rank)]; }
  const Shown& part(int rank) const { return shown[static_cast<std::size_t>(rank)]; }
  /// Bytes that are contiguous at a rank; at least 1.
  int region_bytes(int rank) const { return std::max(1, part(rank).size / memory(rank).regions); }
};

/// A read by `rank` has one outcome.
bool may_read(const Memory& memory, const Blocks& blocks, int rank);
/// A write by `rank` disturbs nobody and follows every earlier write.
bool may_write(const Memory& memory, const Blocks& blocks, int rank);
/// An accumulate of kind `sum` by `rank` is determined: alone, or concurrent only with its like.
bool may_accumulate(const Memory& memory, const Blocks& blocks, int rank, std::uint16_t sum);
/// Reading by get_accumulate while only the reader's own accumulates of this type, through the same
/// window, are under way.
bool may_read_own_sums(const Memory& memory, const Blocks& blocks, int rank, Base base, int alias);

void note_read(Memory& memory, const Blocks& blocks, int rank);
void begin_write(Memory& memory, const Blocks& blocks, int rank, std::uint16_t sum);
/// One write of `rank` is complete; if it was the only one, `knower` is ordered after it.
void complete_write(Memory& memory, const Blocks& blocks, int rank, int knower);

/// `to` comes to know all that `from` knows.
void inform(Memory& memory, Ranks from, Ranks to);
/// The second of each pair come to know what any of the first knew before.
void inform_at_once(Memory& memory, const std::vector<std::pair<Ranks, Ranks>>& told);
/// Everybody knows everything that is complete.
void synchronise(Memory& memory, Ranks everybody);

enum class Op { kReplace, kSum, kProd, kXor, kAnd, kOr, kMax, kMin, kNoOp };
MPI_Op mpi_op(Op op);
/// Accumulates through different windows are not atomic to each other, so of different kinds.
std::uint16_t sum_of(Op op, Base base, int alias);
/// target = target op value, for one element of an integer type (or any type where op is kReplace).
void combine(Op op, Base base, std::uint8_t* target, const std::uint8_t* value);

}  // namespace fuzz
