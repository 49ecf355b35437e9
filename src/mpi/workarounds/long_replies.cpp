#include "mpi/workarounds/long_replies.hpp"

#include <limits>

#include "mpi/core/control_variable.hpp"
#include "mpi/pmpi/library/library.hpp"

namespace hob::mpi {
namespace {

/// 16 KiB without two headers, which have taken 40 bytes in MPICH 5.0 and may take more in others.
constexpr std::uint64_t kOnePiece = 16000;

}  // namespace

std::uint64_t longest_unbroken_get() {
  // -1, the default: as the network can, and all networks that MPICH knows by name can.
  if (library::kTraits.may_split_answers &&
      ControlVariable("MPIR_CVAR_CH4_OFI_ENABLE_RMA").value() == 0)
    return kOnePiece;
  return std::numeric_limits<std::uint64_t>::max();
}

}  // namespace hob::mpi
