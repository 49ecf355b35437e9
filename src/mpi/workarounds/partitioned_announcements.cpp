#include "mpi/workarounds/partitioned_announcements.hpp"

#include "mpi/core/extensions.hpp"
#include "mpi/pmpi/library/library.hpp"
#include "mpi/pmpi/resolve.hpp"

namespace hob::mpi {

bool may_see_announcements() {
  return library::kTraits.announces_partitioned && real::find("PMPI_Psend_init") &&
         (program_refers_to("psend_init") || program_refers_to("precv_init") ||
          !program_refers_to("mpi_init"));
}

bool looks_like_announcement(const MPI_Status& status) {
  constexpr MPI_Count kAnnouncement = 40;  // bytes
  return library::message_bytes(status) == kAnnouncement;
}

}  // namespace hob::mpi
