// The bytes of a window on pages that it shares with other data (docs/consistency.md, "Pages that
// are shared with other data").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "validation/stored_pages.hpp"

namespace hob::validation {

/// No more than so many of the first bytes of a window, and of its last ones, are compared.
inline constexpr std::uint64_t kEdgeBytes = 4096;

/// Whether a range of a window of so many bytes has some of these. 0 bytes: not known.
inline bool touches_edges(std::uint64_t window_bytes, std::uint64_t first, std::uint64_t bytes) {
  return first < kEdgeBytes || window_bytes < kEdgeBytes ||
         first + bytes > window_bytes - kEdgeBytes;
}

/// What a target shows the other members of a window: its edges at its last report.
struct ShownEdges {
  std::uint64_t window = 0;  ///< the number that its members know it by; 0: nothing is shown
  std::uint64_t bytes = 0;   ///< that the target exposes
  std::int32_t rank = 0;     ///< in the window
  std::uint32_t head = 0, tail = 0;  ///< bytes of each
  std::array<std::byte, 2 * kEdgeBytes> data;

  const std::byte* tail_data() const { return data.data() + head; }
};

/// The bytes of some memory on its first and its last page, where these hold other data as well,
/// and a copy of them. Stores to such pages say nothing, so the bytes are compared. Not thread
/// safe, but others may store meanwhile.
class Edges {
 public:
  Edges(const void* base, std::uint64_t bytes);

  /// The pages of the memory.
  const PageRange& pages() const { return pages_; }

  /// Whether there are any, and none is too long to be compared.
  bool any() const { return head_ + tail_ != 0 && head_ <= kEdgeBytes && tail_ <= kEdgeBytes; }

  /// Copies them. False if they cannot be read, or there is no memory: then nothing equals the
  /// copy.
  bool take();

  /// Whether they equal the copy.
  bool same();

  /// False if there is no copy.
  bool show(ShownEdges& to) const;

 private:
  bool read(std::vector<std::byte>& to) const;

  std::uintptr_t begin_, end_;
  PageRange pages_;
  std::uint64_t head_ = 0, tail_ = 0;
  std::vector<std::byte> copy_, now_;
};

}  // namespace hob::validation
