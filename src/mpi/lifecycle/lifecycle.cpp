#include "mpi/lifecycle/lifecycle.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/long_replies.hpp"
#include "mpi/core/node.hpp"
#include "mpi/ghost/departure.hpp"
#include "mpi/ghost/divide.hpp"
#include "mpi/heat/heating.hpp"
#include "mpi/lifecycle/launcher.hpp"
#include "mpi/p2p/p2p.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/resolve.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/report/interim.hpp"
#include "mpi/report/report.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/rma/cache/tracing.hpp"
#include "mpi/rma/ghost/client.hpp"
#include "mpi/rma/ghost/host_image.hpp"

namespace hob::mpi {

void read_settings() {
  const auto errors = context().settings.load(environ);
  if (launcher_rank() <= 0)
    for (const auto& warning : context().settings.warnings())
      std::fprintf(stderr, "hob: %s\n", warning.c_str());
  if (errors.empty()) return;
  if (launcher_rank() <= 0)
    for (const auto& error : errors) std::fprintf(stderr, "hob: %s\n", error.c_str());
  std::fflush(stderr);
  _exit(2);
}

void check_family() {
  Dl_info where{};
  void* init = real::find("PMPI_Init");
  if (!init || dladdr(init, &where) == 0 || !where.dli_fname) return;
  // The library may be of another family, with longer strings.
  char version[std::max(MPI_MAX_LIBRARY_VERSION_STRING, 8192)] = {};
  int length = 0;
  real::Get_library_version(version, &length);
  const std::string_view text(version);
  const auto says = [&](std::string_view word) { return text.find(word) != text.npos; };
  std::string_view family;
  if (std::string_view(where.dli_fname).find("libmpi_abi") != std::string_view::npos)
    family = "abi";
  else if (says("Open MPI"))
    family = "openmpi";
  else if (says("MPICH") || says("Intel") || says("MVAPICH"))
    family = "mpich";
  if (family == HOB_FAMILY) return;
  if (launcher_rank() <= 0)
    std::fprintf(stderr,
                 "hob: this Hob serves MPI libraries of the family %s, but the program runs on %s "
                 "(%.*s). %s%.*s%s\n",
                 HOB_FAMILY, where.dli_fname,
                 static_cast<int>(text.find('\n') == text.npos ? 60 : text.find('\n')), version,
                 family.empty() ? "There is no Hob for it." : "Use libhob_",
                 static_cast<int>(family.size()), family.data(), family.empty() ? "" : ".so.");
  std::fflush(stderr);
  _exit(2);
}

/// The world that the program is to see. Ghosts do not return from here.
static MPI_Comm without_ghosts(int thread_level) {
  const MPI_Comm application_comm = divide_world();
  if (application_comm == MPI_COMM_NULL) return MPI_COMM_WORLD;
  program_world = application_comm;
  world_is_smaller = true;
  start_ghost_client(thread_level == MPI_THREAD_MULTIPLE);
  return application_comm;
}

/// Inherited by all that this process begins. No setting, hence no name of one.
constexpr const char* kJobVariable = "_HOB_JOB";

/// Whether another job that Hob serves began this one.
static bool is_child() {
  MPI_Comm parent = MPI_COMM_NULL;
  if (context().world) real::Comm_get_parent(&parent);
  const std::string own = std::to_string(getpid());
  const char* job = std::getenv(kJobVariable);
  const bool inside = job && job != own;
  if (!job) setenv(kJobVariable, own.c_str(), 0);
  return inside || parent != MPI_COMM_NULL;
}

/// Files of a child are told apart by the process id of its first rank.
static std::string suffix_of_files() {
  int child = is_child() ? getpid() : 0;
  if (context().world) real::Bcast(&child, 1, MPI_INT, 0, context().comm);
  return child == 0 ? std::string() : fmt::format(".child-{}", child);
}

void start(int thread_level, bool world, bool any_thread) {
  Context& process = context();
  many_threads = thread_level == MPI_THREAD_MULTIPLE;
  process.world = world;
  if (!process.settings.off)
    prepare_progress(many_threads && any_thread, process.settings.match_progress != "hand-over");
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  process.host = host;
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  real::Get_library_version(version, &length);
  process.mpi_version.assign(version, std::find(version, version + length, '\n'));
  process.started = seconds_since_epoch();
  if (world) {
    MPI_Comm all = MPI_COMM_WORLD;
    int world_size = 0;
    real::Comm_size(all, &world_size);
    warn_of_singletons(world_size);
    if (!process.settings.off) all = without_ghosts(thread_level);
    real::Comm_rank(all, &process.rank);
    real::Comm_size(all, &process.size);
    real::Comm_dup(all, &process.comm);
    real::Comm_set_errhandler(process.comm, MPI_ERRORS_RETURN);
    process.one_node = Node(process.comm).size() == process.size;
  } else {
    process.rank = std::max(launcher_rank(), 0);
  }
  if (!process.settings.off) process.suffix = suffix_of_files();
  if (!process.settings.off) process.longest_get = longest_unbroken_get();
  if (!process.settings.off) heating::start();
  if (!process.settings.off) p2p::start();
  log::set_rank(process.rank);
  if (const auto level = log::parse_level(process.settings.log)) log::limit = *level;
  active = !process.settings.off;
  if (active) start_tracing();
  if (active) begin_interim_reports();
  // With several threads inside MPI, one may learn something in a call that began before another
  // one's first get.
  if (active && (many_threads || tracing || world_is_smaller)) stay_awake();
}

void finish() {
  Context& process = context();
  end_interim_reports();
  p2p::finish();
  stop_tracing();
  dismiss_ghosts();
  end_callbacks();
  if (active) write_reports();
  heating::finish();
  active = false;
  requests::release_handles();
  if (process.comm != MPI_COMM_NULL) real::Comm_free(&process.comm);
  release_host_images();
  leave_ghosts();
}

}  // namespace hob::mpi
