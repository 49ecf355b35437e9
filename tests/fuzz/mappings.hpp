// Window memory that is no ordinary memory: mapped, from files, with holes, and never touched
// beyond what the program uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace fuzz {

constexpr int kPage = 4096;

/// What a page is; `kHole`: reserved address space.
enum class Page : std::uint8_t { kHole, kPrivate, kShared, kFile, kPrivateFile };

/// What lies behind the part that a program uses, in the window too.
enum class Tail : std::uint8_t { kNone, kReserved, kUntouched };

struct Mapping {
  std::size_t bytes = 0;  ///< that the program uses, but for the hole
  std::size_t tail = 0;
  Tail kind = Tail::kNone;
  int file = -1;
};

/// The mappings of one process, by their first address.
using Mappings = std::map<std::uint8_t*, Mapping>;

/// Pages of one kind with a hole, and what lies behind.
std::uint8_t* map_pages(Mappings& all, Page kind, std::size_t bytes, std::size_t hole,
                        std::size_t hole_bytes, Tail tail);

/// Bytes of the tail. Those beyond the used part have no owner in the program.
std::size_t tail_bytes(Tail tail);

/// Gives memory back, which map_pages() or std::aligned_alloc() gave. Returns how many pages of the
/// tail somebody has touched.
int release_memory(Mappings& all, std::uint8_t* memory);

/// How bytes of whole pages change without a store to them.
enum class Change : std::uint8_t {
  kMoved,     ///< other pages are moved there, with these bytes
  kMapped,    ///< other memory is mapped over them, and stored to
  kShared,    ///< the same, with memory that children would share
  kDropped,   ///< MADV_DONTNEED: zeros
  kPunched,   ///< a hole in the file: zeros
  kWritten,   ///< written to the file
  kRead,      ///< read from a file into them
  kProtected  ///< protected, and stored to
};
constexpr bool makes_zeros(Change change) {
  return change == Change::kDropped || change == Change::kPunched;
}

/// Changes `bytes` bytes, whole pages, `offset` bytes into the mapping. `data`: what they are to
/// be.
void change_pages(const Mappings& all, std::uint8_t* memory, std::size_t offset, std::size_t bytes,
                  const std::uint8_t* data, Change change);

/// What the pages are afterwards.
Page after(Change change, Page before);

}  // namespace fuzz
