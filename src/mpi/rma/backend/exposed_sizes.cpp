#include "mpi/rma/backend/exposed_sizes.hpp"

#include <algorithm>

#include "mpi/core/context.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/rma/backend/numbers_of_ranks.hpp"
#include "os/mapped.hpp"

namespace hob::mpi {

// Pages that were never touched are read where that costs next to nothing: a page table's entry in
// ordinary memory, and in memory that was given for the window what the program is about to use.
Readable readable_of(const void* base, std::uint64_t bytes, bool given) {
  if (bytes == 0) return kAllReadable;
  if (context().settings.readahead == "off") return kNotLookedAt;
  const bool small = bytes <= std::max(os::memory_of_machine() / tuning::gets::kSmallWindow,
                                       tuning::gets::kSmallWindowBytes);
  // The kernel need not be asked, which takes some microseconds for each window.
  if (given && small) return kAllReadable;
  const os::Untouched allowed = small ? os::Untouched::ordinary : os::Untouched::none;
  if (os::is_readable(base, bytes, allowed)) return kAllReadable;
  return reinterpret_cast<std::uintptr_t>(base) % kSmallestPage;
}

void ExposedSizes::gather(std::uint64_t own, std::uint64_t smallest, std::uint64_t largest,
                          MPI_Comm comm) {
  sizes_ = smallest == largest ? PerRank(own) : gather_numbers(own, comm);
}

void ExposedSizes::gather_readable(Readable own, Readable smallest, Readable largest,
                                   MPI_Comm comm) {
  readable_ = smallest == largest ? PerRank(own) : gather_numbers(own, comm);
}

cache::Readahead::Range ExposedSizes::around(int target, std::uint64_t displacement,
                                             std::uint64_t size, std::uint64_t unit) const {
  const std::uint64_t exposed = of(target);
  const Readable readable = readable_.of(target);
  if (readable == kAllReadable || size == 0) return {0, exposed};
  if (readable == kNotLookedAt) return {displacement, std::min(displacement + size, exposed)};
  // Counted from the start of the page in which the memory begins.
  const std::uint64_t first = displacement + readable, last = first + size - 1;
  const std::uint64_t page = first - first % kSmallestPage;
  const std::uint64_t after = last - last % kSmallestPage + kSmallestPage;
  const std::uint64_t begin = page > readable ? page - readable : 0;
  return {(begin + unit - 1) / unit * unit, std::min(after - readable, exposed)};
}

}  // namespace hob::mpi
