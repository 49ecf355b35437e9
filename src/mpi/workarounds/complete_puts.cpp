#include "mpi/workarounds/complete_puts.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>

#include "mpi/core/context.hpp"
#include "mpi/core/control_variable.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/datatype/layouts.hpp"
#include "mpi/pmpi/call.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/resolve.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/libfabric.hpp"

namespace hob::mpi {
namespace {

/// libfabric's default for what its tcp provider injects, bytes.
constexpr MPI_Count kShort = 128;

/// The library's own functions, once real::Put is another one, and how many puts were made
/// otherwise.
struct Replaced {
  std::atomic<std::uint32_t> made{0};
  decltype(real::Put) put = nullptr;
#if HOB_HAS_LARGE_COUNT
  decltype(real::Put_c) put_c = nullptr;
#endif
};
constinit Replaced replaced;

bool is_one_block(MPI_Count count, const Layout& layout) {
  return layout.usable && !layout.blocks.empty() && layout::one_block(layout, count);
}

/// The library writes one block of few bytes at once, and packs or describes all others.
bool is_short(MPI_Count count, MPI_Datatype type, MPI_Count target_count,
              MPI_Datatype target_type) {
  if (count <= 0 || count > kShort || target_count <= 0 || target_count > kShort) return false;
  try {
    const Layout& layout = layout_worth_reading(type);
    return is_one_block(count, layout) && static_cast<MPI_Count>(layout.size) * count <= kShort &&
           (type == target_type || is_one_block(target_count, layout_worth_reading(target_type)));
  } catch (const std::bad_alloc&) {
    return false;
  }
}

/// No caller waits for the request; the flush does.
int leave(int error, MPI_Request request) {
  const std::uint32_t number = replaced.made.load(std::memory_order_relaxed) + 1;
  replaced.made.store(number, std::memory_order_relaxed);
  if (error != MPI_SUCCESS || request == MPI_REQUEST_NULL) return error;
  if (number % tuning::kOnePutWaitedFor == 0) return real::Wait(&request, MPI_STATUS_IGNORE);
  return real::Request_free(&request);
}

int put(const void* from, int count, MPI_Datatype type, int target, MPI_Aint displacement,
        int target_count, MPI_Datatype target_type, MPI_Win win) {
  if (!is_short(count, type, target_count, target_type))
    return replaced.put(from, count, type, target, displacement, target_count, target_type, win);
  MPI_Request request = MPI_REQUEST_NULL;
  const int error =
      real::Rput(from, count, type, target, displacement, target_count, target_type, win, &request);
  return leave(error, request);
}

#if HOB_HAS_LARGE_COUNT
int put_c(const void* from, MPI_Count count, MPI_Datatype type, int target, MPI_Aint displacement,
          MPI_Count target_count, MPI_Datatype target_type, MPI_Win win) {
  if (!is_short(count, type, target_count, target_type))
    return replaced.put_c(from, count, type, target, displacement, target_count, target_type, win);
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = real::Rput_c(from, count, type, target, displacement, target_count, target_type,
                                 win, &request);
  return leave(error, request);
}
#endif

bool injects() {
  const char* longest = std::getenv("FI_TCP_MAX_INJECT");
  return !longest || std::string_view(longest) != "0";
}

bool sent_counts_as_complete() {
  return libfabric_uses_tcp() && injects() &&
         ControlVariable("MPIR_CVAR_CH4_OFI_ENABLE_RMA").value().value_or(0) != 0;
}

bool wanted() {
  const Context& process = context();
  return process.settings.complete_puts && !process.one_node &&
         (!process.world || process.size > 2) && sent_counts_as_complete();
}

}  // namespace

void complete_puts() {
  if (replaced.put || !wanted()) return;
  replaced.put = reinterpret_cast<decltype(replaced.put)>(real::find("PMPI_Put"));
  if (!replaced.put || !real::find("PMPI_Rput")) return;
  real::Put = put;
#if HOB_HAS_LARGE_COUNT
  replaced.put_c = reinterpret_cast<decltype(replaced.put_c)>(real::find("PMPI_Put_c"));
  if (replaced.put_c && real::find("PMPI_Rput_c")) real::Put_c = put_c;
#endif
}

int put_at_target(const void* from, MPI_Count count, MPI_Datatype type, int target,
                  MPI_Aint displacement, MPI_Count target_count, MPI_Datatype target_type,
                  MPI_Win win) {
  static const bool needed = sent_counts_as_complete();
  if (!needed || replaced.put || !is_short(count, type, target_count, target_type))
    return call::Put(from, count, type, target, displacement, target_count, target_type, win);
  MPI_Request request = MPI_REQUEST_NULL;
  const int error =
      call::Rput(from, count, type, target, displacement, target_count, target_type, win, &request);
  return leave(error, request);
}

void note_complete_puts() {
  if (replaced.made.load(std::memory_order_relaxed) != 0)
    note(
        "Short puts waited until they were at their target (setting complete_puts): over "
        "libfabric's tcp, MPICH returns from a flush before.");
}

}  // namespace hob::mpi
