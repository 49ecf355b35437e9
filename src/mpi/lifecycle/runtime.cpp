#include "mpi/core/runtime.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "mpi/rma/ghost/ghost_route.hpp"
#include "mpi/ghost/world.hpp"
#include "mpi/heat/heating.hpp"
#include "mpi/p2p/p2p.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/pmpi/resolve.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/rma/cache/tracing.hpp"
#include "mpi/pmpi/wrapper.hpp"

namespace hob::mpi {

Runtime& runtime() {
  static auto* the = new Runtime;  // never destroyed: programs may use MPI in their own destructors
  return *the;
}

int launcher_rank() {
  for (auto name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return -1;
}

void read_settings() {
  const auto errors = runtime().settings.load(environ);
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
  const MPI_Comm users = divide_world();
  if (users == MPI_COMM_NULL) return MPI_COMM_WORLD;
  program_world = users;
  world_is_smaller = true;
  start_ghost_origin(thread_level == MPI_THREAD_MULTIPLE);
  return users;
}

void start(int thread_level, bool world, bool any_thread) {
  Runtime& the = runtime();
  many_threads = thread_level == MPI_THREAD_MULTIPLE;
  the.world = world;
  if (!the.settings.off)
    prepare_progress(many_threads && any_thread, the.settings.match_progress != "hand-over");
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  the.host = host;
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  real::Get_library_version(version, &length);
  the.mpi_version.assign(version, std::find(version, version + length, '\n'));
  the.started =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  if (world) {
    MPI_Comm all = MPI_COMM_WORLD;
    if (!the.settings.off) all = without_ghosts(thread_level);
    real::Comm_rank(all, &the.rank);
    real::Comm_size(all, &the.size);
    real::Comm_dup(all, &the.comm);
    real::Comm_set_errhandler(the.comm, MPI_ERRORS_RETURN);
    MPI_Comm node = MPI_COMM_NULL;
    if (real::Comm_split_type(the.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) ==
        MPI_SUCCESS) {
      int near = 0;
      real::Comm_size(node, &near);
      the.one_node = near == the.size;
      real::Comm_free(&node);
    }
  } else {
    the.rank = std::max(launcher_rank(), 0);
  }
  if (!the.settings.off) heating::start();
  if (!the.settings.off) p2p::start();
  active = !the.settings.off;
  if (active) start_tracing();
  // With several threads inside MPI, one may learn something in a call that began before another
  // one's first get.
  if (active && (many_threads || tracing || world_is_smaller)) stay_awake();
}

void finish() {
  Runtime& the = runtime();
  p2p::finish();
  stop_tracing();
  dismiss_ghosts();
  end_callbacks();
  if (active) write_reports();
  heating::finish();
  active = false;
  requests::release_handles();
  if (the.comm != MPI_COMM_NULL) real::Comm_free(&the.comm);
  leave_ghosts();
}

void note(std::string sentence) {
  static std::mutex lock;
  const std::lock_guard guard(lock);
  auto& notes = runtime().notes;
  if (std::find(notes.begin(), notes.end(), sentence) == notes.end())
    notes.push_back(std::move(sentence));
}

}  // namespace hob::mpi
