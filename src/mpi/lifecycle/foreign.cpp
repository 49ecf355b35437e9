// A program that a rank starts inherits LD_PRELOAD, and may run on an MPI library of another
// family, whose handles are of another size. It starts again without Hob, before anything of it has
// run.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/launch.hpp"
#include "mpi/lifecycle/lifecycle.hpp"

namespace hob::mpi {
namespace {

/// Family of the MPI library that the program is linked with; "" for none, or one of no known name.
std::string_view linked_family() {
  Dl_info about{};
  void* init = ::dlsym(RTLD_NEXT, "PMPI_Init");
  if (!init || ::dladdr(init, &about) == 0 || !about.dli_fname) return "";
  std::string_view path = about.dli_fname;
  path.remove_prefix(path.rfind('/') == path.npos ? 0 : path.rfind('/') + 1);
  if (path.starts_with("libmpi_abi.so")) return "abi";
  if (path.starts_with("libmpi.so.40")) return "openmpi";
  if (path.starts_with("libmpi.so.12") || path.starts_with("libmpich.so.12")) return "mpich";
  return "";
}

/// LD_PRELOAD without any of Hob's libraries.
std::string others_preloaded() {
  const char* value = std::getenv("LD_PRELOAD");
  std::string_view rest = value ? value : "";
  std::string kept;
  while (!rest.empty()) {
    const auto end = std::min(rest.find_first_of(": "), rest.size());
    const std::string_view name = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (name.empty() || name.find("libhob_") != name.npos) continue;
    kept += kept.empty() ? "" : ":";
    kept += name;
  }
  return kept;
}

/// As the kernel was asked to start it.
std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

[[gnu::constructor]] void leave_foreign_program() {
  const bool inherited = is_in_another_job() || !is_named_launch();
  const std::string_view family = inherited ? linked_family() : "";
  if (family.empty() || family == HOB_FAMILY) return;
  const std::string kept = others_preloaded();
  const char* before = std::getenv("LD_PRELOAD");
  if (!before || kept == before) return;  // it would come back here
  if (kept.empty())
    ::unsetenv("LD_PRELOAD");
  else
    ::setenv("LD_PRELOAD", kept.c_str(), 1);
  std::vector<std::string> words = command_line();
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (!words.empty()) ::execv("/proc/self/exe", arguments.data());
}

}  // namespace
}  // namespace hob::mpi
