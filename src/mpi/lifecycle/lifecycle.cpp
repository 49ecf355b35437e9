#include "mpi/lifecycle/lifecycle.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/clock.hpp"
#include "base/launch.hpp"
#include "base/log.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/core/broadcast.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/end_job.hpp"
#include "mpi/core/node.hpp"
#include "mpi/core/program_world.hpp"
#include "mpi/ghost/divide.hpp"
#include "mpi/ghost/job/world.hpp"
#include "mpi/lifecycle/parts.hpp"
#include "mpi/lifecycle/presence.hpp"
#include "mpi/p2p/p2p.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/resolve.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/report/report.hpp"
#include "mpi/rma/cache/tracing.hpp"
#include "mpi/rma/ghost/client.hpp"
#include "mpi/workarounds/long_replies.hpp"
#include "os/scheduling.hpp"
#include "report/report.hpp"

namespace hob::mpi {

namespace {

int number_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? std::atoi(value) : 0;
}

// The tasks that the launcher started; 0 if it does not say. An mpiexec inside a Slurm job starts
// its own ranks from one task on each node, so Slurm is asked last.
int launched_tasks() {
  for (const char* variable : {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE"})
    if (const int tasks = number_in(variable); tasks > 0) return tasks;
  if (std::getenv("PMI_FD") || std::getenv("PMIX_NAMESPACE") || std::getenv("HYDI_CONTROL_FD"))
    return 0;
  return std::getenv("SLURM_PROCID") ? number_in("SLURM_STEP_NUM_TASKS") : 0;
}

/// Says so on standard error, once for the job, where the launcher started several tasks and MPI
/// made a job of one rank of each: then launcher and library do not speak the same protocol.
void warn_of_singletons(int world_size) {
  const int tasks = launched_tasks();
  if (world_size > 1 || tasks <= 1 || launcher_rank() > 0) return;
  std::fprintf(
      stderr,
      "hob: the launcher started %d tasks, and each is an MPI job of its own with one rank. "
      "Take the mpiexec of this MPI library; under Slurm, srun --mpi=pmi2 (MPICH) or --mpi=pmix "
      "(Open MPI).\n",
      tasks);
}

}  // namespace

/// Ghosts belong to the launch that asked for them: what a rank starts inherits its environment,
/// and asks for ghosts only where it says so anew.
static void keep_ghosts_to_this_launch() {
  if (!is_named_launch()) context().settings.ghosts = 0;
  unsetenv("HOB_GHOSTS");
}

/// Looked at before the program has run for hours. Rank 0 writes the one file; folders are made
/// here.
static std::vector<std::string> what_cannot_be_written() {
  Context& process = context();
  const settings::Settings& s = process.settings;
  if (s.off || launcher_rank() > 0) return {};
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  process.host = host;
  process.first_pid = getpid();
  std::vector<std::string> errors;
  const auto check = [&](const char* key, const std::string& path, const std::string& why) {
    if (!why.empty())
      errors.push_back(fmt::format("cannot write '{}' (setting {}): {}", path, key, why));
  };
  if (const std::string path = output_path(s.json); !path.empty())
    check("json", path, report::why_not_writable(path));
  if (const std::string path = output_path(s.trace); !path.empty()) {
    const bool there = mkdir(path.c_str(), 0777) == 0 || errno == EEXIST;
    check("trace", path,
          there ? report::why_not_writable(path + "/rank-0.trace") : std::strerror(errno));
  }
  return errors;
}

void read_settings() {
  // Whoever starts a program with more rights than his own must not say what it writes, and where.
  const bool trusted = getauxval(AT_SECURE) == 0;
  auto errors = trusted ? context().settings.load(environ) : std::vector<std::string>{};
  keep_ghosts_to_this_launch();
  if (launcher_rank() <= 0)
    for (const auto& warning : context().settings.warnings())
      std::fprintf(stderr, "hob: %s\n", warning.c_str());
  if (errors.empty()) return;
  if (launcher_rank() <= 0)
    for (const auto& error : errors) std::fprintf(stderr, "hob: %s\n", error.c_str());
  end_at_start();
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
  end_at_start();
}

/// The world that the program is to see. Ghosts do not return from here.
static MPI_Comm without_ghosts(int thread_level) {
  const MPI_Comm application_comm = divide_world();
  if (application_comm == MPI_COMM_NULL) return MPI_COMM_WORLD;
  program_world.comm = application_comm;
  program_world.is_smaller = true;
  start_ghost_client(thread_level == MPI_THREAD_MULTIPLE);
  return application_comm;
}

/// Inherited by all that this process begins. No setting, hence no name of one.
constexpr const char* kJobVariable = "_HOB_JOB";

bool is_in_another_job() {
  const char* job = std::getenv(kJobVariable);
  return job && job != std::to_string(getpid());
}

/// Whether another job that Hob serves began this one.
static bool is_child() {
  MPI_Comm parent = MPI_COMM_NULL;
  if (context().world) real::Comm_get_parent(&parent);
  const bool inside = is_in_another_job();
  setenv(kJobVariable, std::to_string(getpid()).c_str(), 0);
  return inside || parent != MPI_COMM_NULL;
}

/// Files of a child are distinguished by the process id of its first rank. Without Hob, rank 0
/// alone writes one.
static void name_files() {
  Context& process = context();
  int first[] = {getpid(), is_child() ? 1 : 0};
  if (process.world && !process.settings.off) broadcast(first, sizeof first, process.comm);
  process.first_pid = first[0];
  if (first[1] != 0) process.suffix = fmt::format(".child-{}", first[0]);
}

/// Where not all ranks run Hob, none may call what needs the others to: Hob is off, where all
/// ranks see that, and ends the job, with one line, where they do not. After MPI_Init, in which all
/// ranks meet.
static void look_for_others() {
  Context& process = context();
  const Presence node = presence_on_node();
  if (process.settings.off || !node.partial()) return;
  int size = node.ranks;
  real::Comm_size(MPI_COMM_WORLD, &size);
  const bool ends = size > node.ranks || process.settings.ghosts > 0;
  if (node.first)
    std::fprintf(
        stderr, "hob: %d of the %d ranks of this node run Hob, and the others do not: %s\n",
        node.with_hob, node.ranks,
        ends ? "the job ends here (start all ranks with it, or none)" : "it does nothing here");
  if (ends) end_job(MPI_COMM_WORLD, 2);
  process.settings.off = true;
}

/// The one rank that looks ends the job for all, once it is in MPI: the others may be waiting for
/// it there, and launchers do not end a job whose rank is gone before.
static void end_where_nothing_can_be_written(bool world) {
  const auto errors = what_cannot_be_written();
  if (errors.empty()) return;
  for (const auto& error : errors) std::fprintf(stderr, "hob: %s\n", error.c_str());
  if (world) end_job(MPI_COMM_WORLD, 2);
  std::fflush(stderr);
  _exit(2);
}

/// With ghosts, known from the division of the world. Else collective.
static void look_at_nodes() {
  Context& process = context();
  int here = 0;
  if (const GhostWorld* divided = ghost_world(); divided && !divided->cliques) {
    here = static_cast<int>(divided->pids.size());
    process.first_on_node = divided->pids.front() == getpid();
  } else {
    const Node node(process.comm);
    if (node.known()) here = node.size();
    process.first_on_node = node.rank() == 0;
    if (here > 1 && here < process.size) process.node_ranks = node.ranks_in(process.comm);
  }
  process.one_node = here == process.size || process.size == 1;
  process.alone_on_node = here == 1;
  const long processors = ::sysconf(_SC_NPROCESSORS_ONLN);
  process.crowded = processors > 0 && here > processors;
}

/// The program's threads may be inside MPI together (pmpi/state.hpp, Concerns).
static void expect_them_together() {
  track_for_good();
  const bool alone = !tracing && !program_world.is_smaller && ignores_acquires();
  concerns.threads_alone.store(alone, std::memory_order_relaxed);
}

void start(int thread_level, bool world, bool any_thread) {
  Context& process = context();
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  process.host = host;
  if (world) look_for_others();
  end_where_nothing_can_be_written(world);
  many_threads = thread_level == MPI_THREAD_MULTIPLE;
  process.world = world;
  if (!process.settings.off) {
    const bool parts = process.settings.ghosts > 0 || p2p::may_dequeue_with_threads();
    prepare_progress(many_threads && any_thread && parts,
                     process.settings.match_progress != "hand-over");
  }
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  real::Get_library_version(version, &length);
  process.mpi_version.assign(version, std::find(version, version + length, '\n'));
  process.started = seconds_since_epoch();
  process.core_waits = os::waited_for_core(::getpid());
  if (world) {
    MPI_Comm all = MPI_COMM_WORLD;
    int world_size = 0;
    real::Comm_size(all, &world_size);
    warn_of_singletons(world_size);
    if (!process.settings.off) all = without_ghosts(thread_level);
    real::Comm_rank(all, &process.rank);
    real::Comm_size(all, &process.size);
    if (!process.settings.off) {  // else others may have no Hob, and would not make these calls
      real::Comm_dup(all, &process.comm);
      real::Comm_set_errhandler(process.comm, MPI_ERRORS_RETURN);
      look_at_nodes();
    }
  } else {
    process.rank = std::max(launcher_rank(), 0);
  }
  if (!process.settings.off || !process.settings.json.empty()) name_files();
  if (!process.settings.off) process.longest_get = longest_unbroken_get();
  log::set_rank(process.rank);
  if (const auto level = log::parse_level(process.settings.log)) log::output.limit = *level;
  if (process.settings.off) return;
  at(&Part::start);
  active = true;
  at(&Part::serve);
  // With several threads inside MPI, one may learn something in a call that began before another
  // one's first get.
  if (many_threads)
    expect_them_together();
  else if (tracing || program_world.is_smaller)
    track_for_good();
}

void expect_threads() {
  if (many_threads) return;
  backwards_at(&Part::expect_threads);
  many_threads = true;
  if (active) expect_them_together();
}

void finish() {
  Context& process = context();
  at(&Part::stop);
  at(&Part::finish);
  correct_clock();
  if (active) write_reports();
  concerns.threads_alone.store(false, std::memory_order_relaxed);
  active = false;
  if (process.comm != MPI_COMM_NULL) real::Comm_free(&process.comm);
  backwards_at(&Part::end);
}

}  // namespace hob::mpi
