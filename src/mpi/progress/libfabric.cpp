#include "mpi/progress/libfabric.hpp"

#include <cstdlib>
#include <string>
#include <string_view>

#include "mpi/pmpi/library/library.hpp"
#include "mpi/progress/ucx.hpp"
#include "validation/devices.hpp"

namespace hob::mpi {
namespace {

constexpr const char* kSaved = "FI_TCP_MAX_SAVED";
constexpr long kEnough = 1'000'000;
constexpr unsigned long kByDefault = 64;

}  // namespace

bool libfabric_uses_tcp() {
  if (!library::kTraits.may_run_over_libfabric || ucx::serves()) return false;
  if (const char* netmod = std::getenv("MPIR_CVAR_CH4_NETMOD");
      netmod && std::string_view(netmod) != "ofi")
    return false;
  // Where no variable says it, MPICH takes tcp on machines without an adapter.
  const char* provider = std::getenv("FI_PROVIDER");
  return provider ? std::string_view(provider).starts_with("tcp")
                  : !validation::has_device_that_writes();
}

void keep_unexpected_messages() { setenv(kSaved, std::to_string(kEnough).c_str(), 0); }

unsigned long unexpected_messages_kept() {
  const char* saved = std::getenv(kSaved);
  const long number = saved ? std::atol(saved) : 0;
  return number > 0 ? static_cast<unsigned long>(number) : kByDefault;
}

}  // namespace hob::mpi
