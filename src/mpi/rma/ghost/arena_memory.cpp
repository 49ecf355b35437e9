#include "mpi/rma/ghost/arena_memory.hpp"

#include <sys/mman.h>

#include <utility>

#include "mpi/core/tuning.hpp"
#include "mpi/rma/ghost/client.hpp"
#include "os/memory.hpp"

namespace hob::mpi {
namespace {

constexpr std::uint64_t kLine = 64;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) & ~(to - 1);
}

}  // namespace

ArenaMemory::ArenaMemory(std::uint64_t bytes, bool whole_pages) {
  const std::uint64_t page = os::page_bytes();
  const std::uint64_t alignment = whole_pages || bytes >= 4 * page ? page : kLine;
  const std::uint64_t whole = round_up(bytes, alignment);
  const GhostHold hold;
  if (const auto offset = ghost_client->world.slices->allocate(whole, alignment)) {
    offset_ = *offset;
    bytes_ = whole;
  }
}

ArenaMemory::ArenaMemory(ArenaMemory&& other) noexcept
    : offset_(other.offset_), bytes_(std::exchange(other.bytes_, 0)) {}

ArenaMemory& ArenaMemory::operator=(ArenaMemory&& other) noexcept {
  std::swap(offset_, other.offset_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

ArenaMemory::~ArenaMemory() {
  if (empty()) return;
  const std::uint64_t begin = round_up(offset_, os::page_bytes());
  const std::uint64_t end = (offset_ + bytes_) & ~(os::page_bytes() - 1);
  const GhostHold hold;
  if (end > begin && end - begin >= tuning::ghost::kWorthGivingBack)
    ::madvise(ghost_client->world.arena + begin, end - begin, MADV_REMOVE);
  ghost_client->world.slices->free(offset_, bytes_);
}

std::byte* ArenaMemory::address() const { return ghost_client->world.arena + offset_; }

}  // namespace hob::mpi
