#include "mpi/rma/cache/tracing.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "mpi/core/context.hpp"
#include "mpi/pmpi/spin.hpp"

namespace hob::mpi {
namespace {

Spin lock;

report::TraceWriter& writer() {
  static auto* writer = new report::TraceWriter;
  return *writer;
}

}  // namespace

void start_tracing() {
  const Context& process = context();
  const std::string directory = output_path(process.settings.trace);
  if (directory.empty()) return;
  const std::string path = fmt::format("{}/rank-{}.trace", directory, process.rank);
  const bool exists = mkdir(directory.c_str(), 0777) == 0 || errno == EEXIST;
  tracing = exists && writer().open(path.c_str(), static_cast<std::uint32_t>(process.rank),
                                    static_cast<std::uint32_t>(process.size));
  if (!tracing)
    note(
        fmt::format("no trace: cannot write '{}' (setting trace): {}", path, std::strerror(errno)));
}

void trace(const report::TraceRecord& record) {
  const std::lock_guard guard(lock);
  writer().add(record);
}

void stop_tracing() {
  if (!tracing) return;
  tracing = false;
  if (!writer().close())
    note(fmt::format("the trace of rank {} is incomplete: the disk may be full", context().rank));
}

}  // namespace hob::mpi
