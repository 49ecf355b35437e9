#include "base/launch.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

namespace hob {
namespace {

/// Between a launcher and a rank, or between `hob exec` and the program.
constexpr int kMostScripts = 8;

std::string text_of(pid_t process, const char* file) {
  std::ifstream stream("/proc/" + std::to_string(process) + "/" + file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// 0 where it cannot be seen.
pid_t parent_of(pid_t process) {
  const std::string status = text_of(process, "stat");
  const auto after_name = status.rfind(')');
  if (after_name == std::string::npos || after_name + 4 >= status.size()) return 0;
  return std::atoi(status.c_str() + after_name + 4);
}

/// What a process was started with, or what this one has by now.
class Environment {
 public:
  Environment() : own_(true) {}
  explicit Environment(pid_t process) : text_(1, '\0') { text_ += text_of(process, "environ"); }

  std::optional<std::string> find(const char* variable) const {
    if (own_) {
      const char* value = std::getenv(variable);
      return value ? std::optional<std::string>(value) : std::nullopt;
    }
    const std::string wanted = std::string(1, '\0') + variable + '=';
    const auto at = text_.find(wanted);
    if (at == std::string::npos) return std::nullopt;
    return std::string(text_.c_str() + at + wanted.size());
  }
  int number(const char* variable) const {
    const auto value = find(variable);
    return value ? std::atoi(value->c_str()) : -1;
  }

 private:
  bool own_ = false;
  std::string text_;
};

/// Hydra's process that started the ranks of this node: a script that wraps a rank has the rank's
/// variables. 0 where it is not seen: in a container, the first process has no parent.
pid_t hydra_proxy(const Environment& rank, pid_t parent) {
  const auto descriptor = rank.find("PMI_FD");
  if (!descriptor) return 0;
  pid_t process = parent;
  for (int i = 0; i < kMostScripts && process > 1; ++i, process = parent_of(process))
    if (Environment(process).find("PMI_FD") != descriptor) break;
  return process > 1 ? process : 0;
}

Launch launch_of(const Environment& process, uid_t user_number, pid_t parent) {
  const std::string user = std::to_string(user_number) + ".";
  if (const auto name_space = process.find("PMIX_NAMESPACE"))
    return {user + *name_space, process.number("OMPI_COMM_WORLD_LOCAL_RANK"),
            process.number("OMPI_COMM_WORLD_LOCAL_SIZE")};
  if (const pid_t proxy = hydra_proxy(process, parent); proxy != 0) {
    const std::string job = user + "hydra." + std::to_string(proxy);
    // MPICH 5 starts the ranks of MPI_Comm_spawn by the proxy of their parents, numbered from 0
    // again.
    if (process.find("PMI_SPAWNED")) return {job, -1, 0};
    return {job, process.number("MPI_LOCALRANKID"), process.number("MPI_LOCALNRANKS")};
  }
  return {};
}

/// Of which network namespace a process is; "" if this one may not know.
std::string network_of(const std::string& process) {
  char name[64];
  const auto length = ::readlink(("/proc/" + process + "/ns/net").c_str(), name, sizeof name);
  return length > 0 ? std::string(name, static_cast<std::size_t>(length)) : "";
}

std::string process_name(pid_t process) { return "process " + std::to_string(process); }

}  // namespace

Launch Launch::here() { return launch_of(Environment(), ::getuid(), ::getppid()); }

bool sees_all_of_launch(const Launch& launch) {
  const std::string own = network_of("self");
  DIR* const processes = ::opendir("/proc");
  if (!processes || own.empty()) {
    if (processes) ::closedir(processes);
    return false;
  }
  std::vector<bool> seen(static_cast<std::size_t>(std::max(launch.ranks, 0)));
  bool together = true;
  while (const dirent* entry = together ? ::readdir(processes) : nullptr) {
    const pid_t process = std::atoi(entry->d_name);
    struct stat owner {};
    if (process <= 0 || ::fstatat(::dirfd(processes), entry->d_name, &owner, 0) != 0 ||
        owner.st_uid != ::geteuid())
      continue;
    const Launch its = launch_of(Environment(process), ::getuid(), parent_of(process));
    if (its.job != launch.job || its.rank < 0 || its.rank >= launch.ranks) continue;
    seen[static_cast<std::size_t>(its.rank)] = true;
    together = network_of(entry->d_name) == own;
  }
  ::closedir(processes);
  return together && std::find(seen.begin(), seen.end(), false) == seen.end();
}

void name_launch() {
  const std::string job = Launch::here().job;
  ::setenv(kLaunchVariable, job.empty() ? process_name(::getpid()).c_str() : job.c_str(), 1);
}

bool is_named_launch() {
  const char* named = std::getenv(kLaunchVariable);
  if (!named) return true;
  if (const std::string job = Launch::here().job; !job.empty()) return job == named;
  pid_t process = ::getpid();
  for (int i = 0; i < kMostScripts && process > 1; ++i, process = parent_of(process))
    if (process_name(process) == named) return true;
  return std::strncmp(named, "process ", 8) != 0 && ::getppid() <= 1;
}

}  // namespace hob
