// Which ghost of a node serves which operation (section III-B of the ghost paper).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ghost/block.hpp"

namespace hob::ghost {

/// rank, segment: static. The others choose anew for each put and get where no lock can be broken
/// and fall back to rank for everything else.
enum class Binding { rank, segment, random, operations, bytes };

std::optional<Binding> binding_from(std::string_view name);
std::string_view name_of(Binding binding);
constexpr bool is_dynamic(Binding binding) {
  return binding != Binding::rank && binding != Binding::segment;
}

/// What one origin has asked of each ghost of one node.
struct Load {
  std::vector<std::uint64_t> operations;
  std::vector<std::uint64_t> bytes;

  explicit Load(unsigned ghosts = 0) : operations(ghosts), bytes(ghosts) {}
  void add(unsigned ghost, std::uint64_t moved) {
    ++operations[ghost];
    bytes[ghost] += moved;
  }
};

/// Dynamic choice among the ghosts of one node. `random` goes round them in order, as the paper
/// does; `turn` is the caller's, one for each target, so that every target is spread evenly.
unsigned choose(Binding binding, const Load& load, unsigned& turn);

/// The memory that one window exposes on one node, cut into one segment for each ghost. Cuts are
/// multiples of 16 bytes, the largest basic datatype, from the start of the target's memory.
class Segments {
 public:
  static constexpr std::uint64_t kGrain = 16;

  /// A piece of a target's memory [begin, end) and its ghost.
  struct Piece {
    std::uint64_t begin;
    std::uint64_t end;
    unsigned ghost;
  };

  /// `sizes`: bytes exposed by each target of the node, in order. ghosts >= 1.
  Segments(const std::vector<std::uint64_t>& sizes, unsigned ghosts);

  /// The pieces of one target, in order, covering [0, its size) without gap.
  const std::vector<Piece>& pieces(std::size_t target) const { return pieces_[target]; }

 private:
  std::vector<std::vector<Piece>> pieces_;
};

/// One ghost's share of an operation: `target` blocks, which are bytes [at, at + their sum) of the
/// packed data.
struct Share {
  unsigned ghost;
  std::uint64_t at;
  std::vector<Block> target;
};

/// Splits an operation at segment borders. Elements of `element` bytes stay whole: each goes to
/// the ghost that owns its first byte. Shares are in the order of the packed data; two neighbours
/// have different ghosts.
std::vector<Share> split(const std::vector<Segments::Piece>& pieces, std::span<const Block> target,
                         std::uint64_t element);

}  // namespace hob::ghost
