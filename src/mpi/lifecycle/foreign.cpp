// A program inherits LD_PRELOAD of what started it, which may have been chosen for another one.
//
// A program that a rank starts may run on an MPI library of another family, whose handles are of
// another size: it starts again without Hob. A program that a wrapper starts (taskset, a script),
// of which `hob exec` knew no more than the wrapper, starts again through `hob exec` where another
// Hob fits it, or an MPI library was loaded beside its own. Both before anything of it has run.
#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/launch.hpp"
#include "base/programs.hpp"
#include "mpi/lifecycle/lifecycle.hpp"

namespace hob::mpi {
namespace {

std::string_view inherited_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// The first MPI library that a loaded object is linked with: its family; "" for none. One that was
/// preloaded alone is no such library.
std::string_view needed_family() {
  for (const link_map* object = _r_debug.r_map; object; object = object->l_next) {
    const char* names = nullptr;
    for (const ElfW(Dyn)* entry = object->l_ld; entry && entry->d_tag != DT_NULL; ++entry) {
      ElfW(Addr) address = entry->d_un.d_ptr;
      if (address < object->l_addr) address += object->l_addr;
      if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(address);
    }
    for (const ElfW(Dyn)* entry = object->l_ld; names && entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == DT_NEEDED)
        if (const auto family = mpi_family(names + entry->d_un.d_val); !family.empty())
          return family;
  }
  return {};
}

/// The object behind Hob that has a function; null for none.
void* object_with(const char* function) {
  Dl_info about{};
  void* found = ::dlsym(RTLD_NEXT, function);
  return found && ::dladdr(found, &about) != 0 ? about.dli_fbase : nullptr;
}

/// Family of the MPI library behind Hob; "" for none, or one of no known name.
std::string_view loaded_family() {
  Dl_info about{};
  void* init = ::dlsym(RTLD_NEXT, "PMPI_Init");
  if (!init || ::dladdr(init, &about) == 0 || !about.dli_fname) return "";
  return mpi_family(file_name(about.dli_fname));
}

/// A PMPI tool of the program's belongs in front of Hob.
bool has_tool_behind() {
  const void* library = object_with("PMPI_Init");
  return library &&
         std::any_of(kWrappedByTools.begin(), kWrappedByTools.end(), [&](const char* name) {
           const void* object = object_with(name);
           return object && object != library;
         });
}

/// LD_PRELOAD without what `hob exec` put there.
std::string others_preloaded() {
  std::string_view rest = inherited_variable("LD_PRELOAD");
  const std::string_view late = inherited_variable(kLateVariable);
  std::string kept;
  while (!rest.empty()) {
    const auto end = std::min(rest.find_first_of(": "), rest.size());
    const std::string_view name = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (name.empty() || name.find("libhob_") != name.npos || name == late) continue;
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

std::string own_program() {
  char path[PATH_MAX];
  const auto length = ::readlink("/proc/self/exe", path, sizeof path);
  return length > 0 && length < PATH_MAX ? std::string(path, static_cast<std::size_t>(length)) : "";
}

bool is_own_program(const std::string& path) {
  struct stat there {
  }, own{};
  return path.find('/') != path.npos && ::stat(path.c_str(), &there) == 0 &&
         ::stat("/proc/self/exe", &own) == 0 && there.st_dev == own.st_dev &&
         there.st_ino == own.st_ino;
}

/// The name by which it was started: a Python finds its packages by it. Of a script's interpreter
/// the first word of the command.
std::string name_of_program(const std::vector<std::string>& words) {
  const auto* executed = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  if (executed && is_own_program(executed)) return executed;
  return is_own_program(words[0]) ? words[0] : own_program();
}

void execute(const std::string& path, std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(path.c_str(), arguments.data());
}

void start_without_hob() {
  const std::string kept = others_preloaded();
  const char* before = std::getenv("LD_PRELOAD");
  const std::vector<std::string> words = command_line();
  if (!before || kept == before || words.empty()) return;  // it would come back here
  if (kept.empty())
    ::unsetenv("LD_PRELOAD");
  else
    ::setenv("LD_PRELOAD", kept.c_str(), 1);
  execute("/proc/self/exe", words);
}

void start_through(std::string_view starter) {
  const std::vector<std::string> words = command_line();
  if (words.empty()) return;
  std::vector<std::string> command{std::string(starter), "--again", name_of_program(words)};
  command.insert(command.end(), words.begin(), words.end());
  execute(command[0], command);
}

/// Whether an MPI library was preloaded for another program.
bool has_late_library() {
  const std::string_view late = inherited_variable(kLateVariable);
  return !late.empty() && inherited_variable("LD_PRELOAD").find(late) != late.npos;
}

/// Whether Hob, and the library loaded with it, is what `hob exec` would choose for this program.
bool fits_this_program(std::string_view needed) {
  if (!needed.empty()) return needed == HOB_FAMILY && !has_late_library() && !has_tool_behind();
  if (object_with("PMPI_Init")) return !loaded_family().empty();  // else no Hob serves it
  return !loads_mpi_late(own_program());
}

[[gnu::constructor]] void leave_foreign_program() {
  const std::string_view starter = inherited_variable(kStarterVariable);
  const bool inherited = is_in_another_job() || !is_named_launch();
  if (starter.empty() && !inherited) return;
  const std::string_view needed = needed_family();
  if (inherited) {
    const std::string_view family = needed.empty() ? loaded_family() : needed;
    if (!family.empty() && family != HOB_FAMILY) return start_without_hob();
  }
  if (starter.empty() || fits_this_program(needed)) return;
  const std::string chosen = std::to_string(::getpid()) + " " + own_program();
  if (inherited_variable(kChosenVariable) != chosen) start_through(starter);
}

}  // namespace
}  // namespace hob::mpi
