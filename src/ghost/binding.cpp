#include "ghost/binding.hpp"

#include <algorithm>
#include <array>

namespace hob::ghost {

namespace {
constexpr std::array<std::string_view, 5> kNames{"rank", "segment", "random", "operations",
                                                 "bytes"};
}

std::optional<Binding> binding_from(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Binding>(found - kNames.begin());
}

std::string_view name_of(Binding binding) { return kNames[static_cast<std::size_t>(binding)]; }

unsigned choose(Binding binding, const Load& load, unsigned& turn) {
  const auto ghosts = static_cast<unsigned>(load.operations.size());
  if (binding == Binding::operations || binding == Binding::bytes) {
    const auto& counts = binding == Binding::bytes ? load.bytes : load.operations;
    return static_cast<unsigned>(std::min_element(counts.begin(), counts.end()) - counts.begin());
  }
  return turn++ % ghosts;
}

Segments::Segments(const std::vector<std::uint64_t>& sizes, unsigned ghosts)
    : pieces_(sizes.size()) {
  std::uint64_t total = 0;
  for (const std::uint64_t size : sizes) total += size;
  const std::uint64_t share = std::max<std::uint64_t>(total / ghosts, kGrain);
  std::uint64_t before = 0;  // bytes of the targets before this one
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::uint64_t begin = 0;
    do {
      const auto ghost =
          static_cast<unsigned>(std::min<std::uint64_t>((before + begin) / share, ghosts - 1));
      std::uint64_t end = sizes[i];
      if (ghost + 1 < ghosts) {
        // Up to the border, rounded up so that this piece ends on the grain (and is not empty).
        const std::uint64_t border = (ghost + 1) * share - before;
        end = std::min(end, std::max((border + kGrain - 1) / kGrain, begin / kGrain + 1) * kGrain);
      }
      auto& pieces = pieces_[i];
      if (!pieces.empty() && pieces.back().ghost == ghost) {
        pieces.back().end = end;
      } else {
        pieces.push_back({begin, end, ghost});
      }
      begin = end;
    } while (begin < sizes[i]);
    before += sizes[i];
  }
}

std::vector<Share> split(const std::vector<Segments::Piece>& pieces, std::span<const Block> target,
                         std::uint64_t element) {
  std::vector<Share> shares;
  std::uint64_t at = 0;
  for (Block block : target) {
    while (block.length > 0) {
      const auto first = static_cast<std::uint64_t>(std::max<std::int64_t>(block.offset, 0));
      auto piece = std::upper_bound(pieces.begin(), pieces.end(), first,
                                    [](std::uint64_t byte, const auto& p) { return byte < p.end; });
      if (piece == pieces.end()) --piece;  // outside the window: some ghost will say so
      std::uint64_t take = block.length;
      if (piece + 1 != pieces.end() && piece->end > first) {
        const std::uint64_t whole = (piece->end - first + element - 1) / element * element;
        take = std::min(take, whole);
      }
      if (shares.empty() || shares.back().ghost != piece->ghost)
        shares.push_back({piece->ghost, at, {}});
      append_block(shares.back().target, {block.offset, take});
      block.offset += static_cast<std::int64_t>(take);
      block.length -= take;
      at += take;
    }
  }
  return shares;
}

}  // namespace hob::ghost
