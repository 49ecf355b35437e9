#include "base/launch.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace hob {
namespace {

/// Between a launcher and a rank, or between `hob exec` and the program.
constexpr int kMostScripts = 8;

int number_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? std::atoi(value) : -1;
}

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

bool has_variable(pid_t process, std::string_view variable) {
  std::string text(1, '\0');
  text += text_of(process, "environ");
  std::string wanted(1, '\0');
  wanted.append(variable).append(1, '\0');
  return text.find(wanted) != std::string::npos;
}

/// Hydra's process that started the ranks of this node: a script that wraps a rank has the rank's
/// variables. 0 where it is not seen: in a container, the first process has no parent.
pid_t hydra_proxy() {
  const char* descriptor = std::getenv("PMI_FD");
  if (!descriptor) return 0;
  const std::string own = std::string("PMI_FD=") + descriptor;
  pid_t process = ::getppid();
  for (int i = 0; i < kMostScripts && process > 1 && has_variable(process, own); ++i)
    process = parent_of(process);
  return process > 1 ? process : 0;
}

std::string process_name(pid_t process) { return "process " + std::to_string(process); }

}  // namespace

Launch Launch::here() {
  const std::string user = std::to_string(::getuid()) + ".";
  if (const char* name_space = std::getenv("PMIX_NAMESPACE"))
    return {user + name_space, number_in("OMPI_COMM_WORLD_LOCAL_RANK"),
            number_in("OMPI_COMM_WORLD_LOCAL_SIZE")};
  if (const pid_t proxy = hydra_proxy(); proxy != 0) {
    const std::string job = user + "hydra." + std::to_string(proxy);
    // MPICH 5 starts the ranks of MPI_Comm_spawn by the proxy of their parents, numbered from 0
    // again.
    if (std::getenv("PMI_SPAWNED")) return {job, -1, 0};
    return {job, number_in("MPI_LOCALRANKID"), number_in("MPI_LOCALNRANKS")};
  }
  return {};
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
