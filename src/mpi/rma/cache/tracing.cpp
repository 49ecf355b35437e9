#include "mpi/rma/cache/tracing.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/lasting.hpp"
#include "mpi/core/context.hpp"
#include "mpi/pmpi/spin.hpp"

namespace hob::mpi {
namespace {

/// Never destroyed: gets are recorded until MPI ends, which may be in a destructor.
struct Tracer {
  Spin lock;  ///< threads record at once
  report::TraceWriter writer;
};
Tracer& tracer() { return lasting<Tracer>(); }

}  // namespace

void start_tracing() {
  const Context& process = context();
  const std::string directory = output_path(process.settings.trace);
  if (directory.empty()) return;
  const std::string path = fmt::format("{}/rank-{}.trace", directory, process.rank);
  const bool exists = mkdir(directory.c_str(), 0777) == 0 || errno == EEXIST;
  tracing = exists && tracer().writer.open(path.c_str(), static_cast<std::uint32_t>(process.rank),
                                           static_cast<std::uint32_t>(process.size));
  if (!tracing)
    note(
        fmt::format("no trace: cannot write '{}' (setting trace): {}", path, std::strerror(errno)));
}

void trace(const report::TraceRecord& record) {
  const std::lock_guard guard(tracer().lock);
  tracer().writer.add(record);
}

void stop_tracing() {
  if (!tracing) return;
  tracing = false;
  if (!tracer().writer.close())
    note(fmt::format("the trace of rank {} is incomplete: the disk may be full", context().rank));
}

}  // namespace hob::mpi
