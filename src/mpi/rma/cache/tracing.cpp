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
  static auto* the = new report::TraceWriter;
  return *the;
}

}  // namespace

void start_tracing() {
  const Context& the = context();
  const std::string directory = output_path(the.settings.trace);
  if (directory.empty()) return;
  const std::string path = fmt::format("{}/rank-{}.trace", directory, the.rank);
  const bool made = mkdir(directory.c_str(), 0777) == 0 || errno == EEXIST;
  tracing = made && writer().open(path.c_str(), static_cast<std::uint32_t>(the.rank),
                                  static_cast<std::uint32_t>(the.size));
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
