#include "mpi/pmpi/library/library.hpp"

#include <cstdlib>
#include <string>

#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/resolve.hpp"

namespace hob::mpi::library {

namespace {

/// The major version of MPICH itself; 0: it is none, or a relative's.
int mpich_version(std::string_view version) {
  constexpr std::string_view kBegin = "MPICH Version:";
  if (!version.starts_with(kBegin)) return 0;
  return std::atoi(std::string(version.substr(kBegin.size())).c_str());
}

}  // namespace

bool waits_sooner(std::string_view version) {
  if (kTraits.has_progress_callbacks) return true;
  // The waits of MPICH 5 do more between looks, unless it is libfabric that is looked at, twice for
  // each message: the channel says that (asks_source).
  const int major = mpich_version(version);
  return major > 0 && major < 5;
}

bool indexed_operations_are_right(std::string_view version) { return mpich_version(version) >= 5; }

bool has_prebuilt_requests(std::string_view version) { return mpich_version(version) >= 4; }

bool serialized_is_right() {
  static const bool is = [] {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    return real::Get_library_version(version, &length) == MPI_SUCCESS &&
           !std::string_view(version).starts_with("Open MPI v4");
  }();
  return is;
}

bool is_complete(MPI_Request request) {
  if constexpr (kTraits.status_is_a_look) {
    int complete = 0;
    return real::Request_get_status(request, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
           complete;
  } else {
    // Of MPICH 4.1 and later, but not in its library with the ABI of MPI 5.
    using Function = int (*)(MPI_Request);
    static const auto function =
        reinterpret_cast<Function>(real::find("PMPIX_Request_is_complete"));
    return function && function(request);
  }
}

AsyncStart async_start() { return reinterpret_cast<AsyncStart>(real::find("MPIX_Async_start")); }

}  // namespace hob::mpi::library
