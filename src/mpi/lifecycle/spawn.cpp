// Programs that MPI_Comm_spawn starts get Hob as this one did: the launcher gives them its own
// environment, in which it is not where `hob exec` loaded it.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/core/context.hpp"
#include "mpi/pmpi/hooks.hpp"
#include "mpi/pmpi/library/library.hpp"
#include "mpi/pmpi/real.hpp"

extern char** environ;

namespace hob::mpi {
namespace {

/// What a child needs to run Hob with the same settings: "NAME=VALUE".
std::vector<std::string> variables() {
  const char* preloaded = std::getenv("LD_PRELOAD");
  if (!preloaded || !std::strstr(preloaded, "libhob_")) return {};
  std::vector<std::string> all{std::string("LD_PRELOAD=") + preloaded};
  for (char** each = environ; *each; ++each)
    if (std::string_view(*each).starts_with("HOB_") && !std::strchr(*each, '\n'))
      all.emplace_back(*each);
  return all;
}

/// The key under which the launcher takes variables, one a line. Open MPI 5 warns of the old one.
const char* key_of_variables() {
  return context().mpi_version.find("Open MPI v4") != std::string::npos ? "env" : "PMIX_ENVAR";
}

/// The program's info with the variables; to be freed. What it says of its own keeps its value.
class ChildInfo {
 public:
  ChildInfo(MPI_Info program, const std::vector<std::string>& all) : info_(program) {
    if (all.empty() || has_own(program)) return;
    std::string text;
    for (const std::string& each : all)
      if (text.size() + each.size() + 1 < MPI_MAX_INFO_VAL)
        text += (text.empty() ? "" : "\n") + each;
    if (program == MPI_INFO_NULL)
      made_ = real::Info_create(&info_) == MPI_SUCCESS;
    else
      made_ = real::Info_dup(program, &info_) == MPI_SUCCESS;
    if (made_)
      real::Info_set(info_, key_of_variables(), text.c_str());
    else
      info_ = program;
  }
  ~ChildInfo() {
    if (made_) real::Info_free(&info_);
  }
  ChildInfo(const ChildInfo&) = delete;
  ChildInfo& operator=(const ChildInfo&) = delete;

  MPI_Info get() const { return info_; }

 private:
  static bool has_own(MPI_Info info) {
    if (info == MPI_INFO_NULL) return false;
    for (const char* key : {"env", "PMIX_ENVAR"}) {
      int length = 0, found = 0;
      real::Info_get_valuelen(info, key, &length, &found);
      if (found) return true;
    }
    return false;
  }

  MPI_Info info_;
  bool made_ = false;
};

/// Hydra takes no variables for children: env(1) sets them, and then is the program.
constexpr const char* kEnv = "/usr/bin/env";

/// What a child is started with: the program's own command, or env's.
class ChildCommand {
 public:
  ChildCommand(const char* command, char** argv, MPI_Info info, const std::vector<std::string>& all)
      : command_(command), argv_(argv) {
    if (all.empty() || !command || ::access(kEnv, X_OK) != 0 || is_searched(info)) return;
    // What does not start should fail as it does without Hob.
    if (std::strchr(command, '/') && ::access(command, X_OK) != 0) return;
    for (const std::string& each : all) words_.push_back(const_cast<char*>(each.c_str()));
    words_.push_back(const_cast<char*>(command));
    for (char** each = argv; each && *each; ++each) words_.push_back(*each);
    words_.push_back(nullptr);
    command_ = kEnv;
    argv_ = words_.data();
  }

  bool has_variables() const { return !words_.empty(); }
  char* command() const { return const_cast<char*>(command_); }
  char** argv() const { return argv_; }

 private:
  /// The launcher is to look for the program itself, or to start it elsewhere.
  static bool is_searched(MPI_Info info) {
    if (info == MPI_INFO_NULL) return false;
    for (const char* key : {"path", "wdir", "file"}) {
      int length = 0, found = 0;
      real::Info_get_valuelen(info, key, &length, &found);
      if (found) return true;
    }
    return false;
  }

  const char* command_;
  char** argv_;
  std::vector<char*> words_;
};

}  // namespace

// The arguments of spawning count in the root alone.

int on_Comm_spawn(const char* command, char* argv[], int maxprocs, MPI_Info info, int root,
                  MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[]) {
  int rank = 0;
  real::Comm_rank(comm, &rank);
  if (rank != root)
    return real::Comm_spawn(command, argv, maxprocs, info, root, comm, intercomm,
                            array_of_errcodes);
  const std::vector<std::string> all = variables();
  if (library::kTraits.spawns_with_variables) {
    const ChildInfo child(info, all);
    return real::Comm_spawn(command, argv, maxprocs, child.get(), root, comm, intercomm,
                            array_of_errcodes);
  }
  const ChildCommand child(command, argv, info, all);
  return real::Comm_spawn(child.command(), child.argv(), maxprocs, info, root, comm, intercomm,
                          array_of_errcodes);
}

int on_Comm_spawn_multiple(int count, char* array_of_commands[], char** array_of_argv[],
                           const int array_of_maxprocs[], const MPI_Info array_of_info[], int root,
                           MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[]) {
  int rank = 0;
  real::Comm_rank(comm, &rank);
  const std::vector<std::string> all = variables();
  if (rank != root || all.empty() || count < 1)
    return real::Comm_spawn_multiple(count, array_of_commands, array_of_argv, array_of_maxprocs,
                                     array_of_info, root, comm, intercomm, array_of_errcodes);
  const auto number = static_cast<std::size_t>(count);
  if (library::kTraits.spawns_with_variables) {
    std::deque<ChildInfo> children;
    std::vector<MPI_Info> infos;
    for (std::size_t i = 0; i < number; ++i) {
      children.emplace_back(array_of_info[i], all);
      infos.push_back(children.back().get());
    }
    return real::Comm_spawn_multiple(count, array_of_commands, array_of_argv, array_of_maxprocs,
                                     infos.data(), root, comm, intercomm, array_of_errcodes);
  }
  std::vector<char*> commands;
  std::vector<char**> arguments;
  std::deque<ChildCommand> children;
  for (std::size_t i = 0; i < number; ++i) {
    char** own = array_of_argv == MPI_ARGVS_NULL ? MPI_ARGV_NULL : array_of_argv[i];
    children.emplace_back(array_of_commands[i], own, array_of_info[i], all);
    commands.push_back(children.back().command());
    arguments.push_back(children.back().argv());
  }
  // Where one of a world's programs cannot have Hob, none may: they would wait for it.
  const bool all_have = std::ranges::all_of(children, &ChildCommand::has_variables);
  return real::Comm_spawn_multiple(count, all_have ? commands.data() : array_of_commands,
                                   all_have ? arguments.data() : array_of_argv, array_of_maxprocs,
                                   array_of_info, root, comm, intercomm, array_of_errcodes);
}

}  // namespace hob::mpi
