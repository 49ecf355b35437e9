#include "mpi_use.hpp"

#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/programs.hpp"
#include "mpi4py.hpp"
#include "os/elf.hpp"

namespace hob::exec {
namespace {

namespace fs = std::filesystem;

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

void read_linker_config(const std::string& path, std::vector<std::string>& directories, int depth) {
  std::ifstream file(path);
  for (std::string line; depth < 8 && std::getline(file, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    std::istringstream words(line);
    std::string word;
    if (!(words >> word)) continue;
    if (word != "include") {
      directories.push_back(word);
      continue;
    }
    // Only the form that distributions use is understood: include <directory>/*.conf
    std::string pattern;
    words >> pattern;
    std::error_code error;
    std::set<std::string> files;
    for (const auto& entry : fs::directory_iterator(fs::path(pattern).parent_path(), error))
      if (entry.path().extension() == ".conf") files.insert(entry.path().string());
    for (const auto& name : files) read_linker_config(name, directories, depth + 1);
  }
}

// The names under which MPI libraries are known, by family; the first one found is taken.
const std::vector<std::string>& sonames(const std::string& family) {
  static const std::vector<std::string> mpich{"libmpi.so.12", "libmpich.so.12"};
  static const std::vector<std::string> openmpi{"libmpi.so.40"};
  static const std::vector<std::string> abi{"libmpi_abi.so.1", "libmpi_abi.so.0"};
  return family == "mpich" ? mpich : family == "openmpi" ? openmpi : abi;
}

MpiUse unserved_mpi(const std::string& program, const std::string& soname) {
  MpiUse result;
  result.refused = true;
  result.why = program + " is linked with " + soname +
               ", an MPI library that no Hob serves: there is one for MPICH 3.1 and later and what "
               "has its ABI (libmpi.so.12), for Open MPI 3.1 and later (libmpi.so.40), and for the "
               "standard ABI (libmpi_abi.so)";
  return result;
}

// Breadth first over the libraries that a program is linked with, as the dynamic linker loads them.
MpiUse linked_mpi(const std::string& program) {
  MpiUse result;
  const LibraryFinder finder;
  std::set<std::string> seen;
  std::deque<std::string> files{program};
  MpiUse unserved;
  while (!files.empty()) {
    const auto path = files.front();
    files.pop_front();
    const auto elf = os::read_elf(path);
    if (!elf) continue;
    for (const auto& soname : elf->needed) {
      if (!seen.insert(soname).second) continue;
      const auto found = finder.find(soname, elf->rpath, elf->runpath);
      if (const auto family = family_of(soname); !family.empty()) {
        result.family = family;
        result.library = found;
        result.why = program + " is linked with " + soname;
        return result;
      }
      if (!unserved.refused && (found.empty() ? soname.starts_with("libmpi.so.") : is_mpi(found)))
        unserved = unserved_mpi(program, soname);
      if (found.empty()) continue;
      if (is_pmpi_tool(found)) result.tools.push_back(found);
      files.push_back(found);
    }
  }
  return unserved;
}

// Directories in which the MPI library of a launcher or a Python may lie, given its program file.
std::vector<std::string> library_directories(const std::string& program) {
  if (program.empty()) return {};
  const auto prefix = fs::path(program).parent_path().parent_path();
  std::vector<std::string> result;
  std::error_code error;
  for (const auto* lib : {"lib", "lib64"}) {
    result.push_back((prefix / lib).string());
    if (prefix == "/usr")  // Debian: /usr/lib/x86_64-linux-gnu
      for (const auto& entry : fs::directory_iterator(prefix / lib, error))
        if (entry.path().filename().string().find("-linux-gnu") != std::string::npos)
          result.push_back(entry.path().string());
  }
  return result;
}

std::string library_in(const std::vector<std::string>& directories, const std::string& family) {
  for (const auto& directory : directories)
    for (const auto& soname : sonames(family))
      if (const auto path = directory + "/" + soname; is_file(path))
        return fs::absolute(path).string();
  return {};
}

// The parent of a process; 0 if it is not known.
int parent_of(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("PPid:")) return std::atoi(line.c_str() + 5);
  return 0;
}

// Whether a program starts the ranks of an MPI library that it belongs to.
bool starts_ranks(const std::string& program) {
  const auto name = fs::path(program).filename().string();
  for (const auto* word :
       {"hydra", "pmi_proxy", "mpiexec", "mpirun", "orted", "orterun", "prted", "prterun", "prun"})
    if (name.find(word) != std::string::npos) return true;
  return false;
}

// The launcher that started this process, which may have started a wrapper that started it; else
// what did.
std::string launcher_program() {
  std::string nearest;
  int process = getppid();
  for (int level = 0; level < 16 && process > 1; ++level, process = parent_of(process)) {
    std::error_code error;
    const auto program = fs::read_symlink("/proc/" + std::to_string(process) + "/exe", error);
    if (starts_ranks(program)) return program.string();
    if (level == 0) nearest = program.string();
  }
  return nearest;
}

// The family of the MPI library whose launcher started this process; "" if none or not clear.
std::string launcher_family() {
  const bool open_mpi = !variable("OMPI_COMM_WORLD_SIZE").empty();
  const bool hydra = !variable("PMI_RANK").empty() || !variable("PMI_FD").empty();
  if (open_mpi) return "openmpi";
  if (hydra) return "mpich";
  return {};
}

// Without a launcher: the only family whose library lies beside the program. MPICH brings a library
// of the standard ABI too, so that one counts only where it is alone.
std::string family_beside(const std::vector<std::string>& directories) {
  const bool mpich = !library_in(directories, "mpich").empty();
  const bool open_mpi = !library_in(directories, "openmpi").empty();
  if (mpich != open_mpi) return mpich ? "mpich" : "openmpi";
  return mpich || library_in(directories, "abi").empty() ? "" : "abi";
}

// The library of a family that a program would load late: that of its own mpi4py, else the
// launcher's, else one beside the program, else the dynamic linker's.
std::string late_library(const std::string& family, const std::string& program,
                         const Mpi4py& mpi4py, const std::string& launcher) {
  if (mpi4py.family == family && !mpi4py.library.empty()) return mpi4py.library;
  std::string library;
  if (!launcher.empty()) library = library_in(library_directories(launcher_program()), family);
  if (library.empty()) library = library_in(library_directories(program), family);
  for (const auto& soname : sonames(family))
    if (library.empty()) library = LibraryFinder().find(soname, {}, {});
  return library;
}

MpiUse late_mpi(const std::string& program, const std::string& wanted) {
  const auto launcher = launcher_family();
  const auto mpi4py = find_mpi4py(program);
  auto family = wanted.empty() ? launcher : wanted;
  std::string how = !wanted.empty() ? "--mpi says which it loads" : "taken from what started it";
  const auto take_mpi4py = [&] {
    family = mpi4py.family;
    how = "its mpi4py loads this library";
  };
  // One that was compiled for a library loads that one, whatever the launcher is; a wheel takes
  // what is loaded before it.
  const bool compiled = !mpi4py.family.empty() && !mpi4py.wheel;
  if (wanted.empty() && (compiled || family.empty() || family == mpi4py.family))
    if (!mpi4py.family.empty()) take_mpi4py();
  if (family.empty()) {
    family = family_beside(library_directories(program));
    how = "an MPI library lies beside it";
  }
  if (family.empty())
    return {"", "", true,
            program +
                " is not linked with an MPI library, and nothing says which one it loads "
                "while it runs; say it with --mpi mpich, openmpi or abi"};

  auto library = late_library(family, program, mpi4py, launcher);
  // Its modules ask for libmpi.so.12: Debian's MPICH, which has another name, is none for them.
  if (wanted.empty() && mpi4py.wheel && !mpi4py.family.empty() && mpi4py.family != family &&
      fs::path(library).filename() == "libmpich.so.12") {
    take_mpi4py();
    library = mpi4py.library;
  }
  if (library.empty())
    return {"", "", true,
            "no MPI library of the family " + family + " was found for " + program +
                "; say which one with --mpi /path/to/" + sonames(family)[0]};
  return {family, library, true, program + " is not linked with MPI; " + how};
}

}  // namespace

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> split(const std::string& text, const char* separators) {
  std::vector<std::string> result;
  std::size_t from = 0;
  while (from <= text.size()) {
    const auto to = text.find_first_of(separators, from);
    const auto part = text.substr(from, to == std::string::npos ? to : to - from);
    if (!part.empty()) result.push_back(part);
    if (to == std::string::npos) break;
    from = to + 1;
  }
  return result;
}

bool is_mpi(const std::string& path) { return os::defines(path, "PMPI_Init"); }

bool is_sanitizer(const std::string& name) {
  const std::string file = fs::path(name).filename().string();
  for (const auto* prefix : {"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so",
                             "libubsan.so", "libmsan.so", "libclang_rt.asan", "libclang_rt.tsan",
                             "libclang_rt.hwasan", "libclang_rt.ubsan", "libclang_rt.lsan"})
    if (file.starts_with(prefix)) return true;
  return false;
}

bool is_pmpi_tool(const std::string& path) {
  if (is_mpi(path)) return false;
  for (const auto* name : kWrappedByTools)
    if (os::defines(path, name)) return true;
  return false;
}

std::string family_of(const std::string& soname) { return std::string(mpi_family(soname)); }

LibraryFinder::LibraryFinder() : library_path_(split(variable("LD_LIBRARY_PATH"), ":;")) {
  read_linker_config("/etc/ld.so.conf", system_, 0);
  for (const auto* directory : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"})
    system_.emplace_back(directory);
}

std::string LibraryFinder::find(const std::string& soname, const std::vector<std::string>& rpath,
                                const std::vector<std::string>& runpath) const {
  if (soname.find('/') != std::string::npos) return is_file(soname) ? soname : "";
  for (const auto* directories : {&rpath, &library_path_, &runpath, &system_})
    for (const auto& directory : *directories)
      if (const auto path = directory + "/" + soname; is_file(path)) return path;
  return {};
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return is_file(name) && access(name.c_str(), X_OK) == 0 ? name : "";
  for (const auto& directory : split(variable("PATH"), ":"))
    if (const auto path = directory + "/" + name; is_file(path) && access(path.c_str(), X_OK) == 0)
      return path;
  return {};
}

namespace {

std::vector<std::string> linked_sanitizers(const std::string& program) {
  std::vector<std::string> result;
  const auto elf = os::read_elf(program);
  if (!elf) return result;
  for (const auto& soname : elf->needed)
    if (is_sanitizer(soname))
      if (auto path = LibraryFinder().find(soname, elf->rpath, elf->runpath); !path.empty())
        result.push_back(std::move(path));
  return result;
}

MpiUse find_library(const std::string& program, const std::string& wanted) {
  const auto linked = linked_mpi(program);
  const auto differs = [&](const std::string& family) -> MpiUse {
    return {"", "", false,
            "--mpi says " + family + ", but " + program + " is linked with " + linked.library +
                " (" + linked.family + ")"};
  };
  if (wanted.find('/') != std::string::npos) {
    const auto family = family_of(fs::path(wanted).filename().string());
    if (family.empty() || !is_file(wanted))
      return {"", "", true,
              "--mpi " + wanted + ": no file of this name is an MPI library known here"};
    if (!linked.family.empty() && linked.family != family) return differs(family);
    return {family, wanted, true, "--mpi names it"};
  }
  if (!wanted.empty() && wanted != "mpich" && wanted != "openmpi" && wanted != "abi")
    return {
        "", "", true,
        "'" + wanted + "' is not allowed for --mpi: mpich, openmpi, abi or the path of a libmpi"};
  if (!linked.family.empty())
    return wanted.empty() || wanted == linked.family ? linked : differs(wanted);
  const auto interpreter = find_program(os::script_interpreter(program));
  if (!interpreter.empty()) return late_mpi(interpreter, wanted);
  if (linked.refused && wanted.empty()) return linked;
  return late_mpi(program, wanted);
}

// The program that the kernel starts: a script's interpreter.
std::string started_program(const std::string& program) {
  const auto interpreter = find_program(os::script_interpreter(program));
  return interpreter.empty() ? program : interpreter;
}

// Why nothing can be loaded in front of a program that is no wrapper; "" if it can.
std::string not_dynamic(const std::string& program) {
  const auto elf = os::read_elf(program);
  if (elf && !elf->interpreted)
    return program + " is linked statically: nothing can be loaded in front of it";
  if (!elf && os::is_elf(program))
    return program +
           " is a program for another machine, or for 32 bits: no Hob can be loaded in it";
  return {};
}

// Of a program whose language has packages for MPI.
bool is_interpreter(const std::string& program) {
  const auto started = started_program(program);
  return loads_mpi_late(program) || loads_mpi_late(started) || !find_mpi4py(started).family.empty();
}

// Whether a program, or a library of its own, loads libraries while it runs.
bool loads_libraries(const std::string& program) {
  if (is_shell(program)) return false;
  const LibraryFinder finder;
  std::set<std::string> seen;
  std::deque<std::string> files{program};
  for (; !files.empty(); files.pop_front()) {
    const auto path = files.front();
    if (os::uses(path, "dlopen") || os::uses(path, "dlmopen")) return true;
    const auto elf = os::read_elf(path);
    if (!elf) continue;
    for (const auto& soname : elf->needed)
      if (!soname.starts_with("libc.so") && !soname.starts_with("ld-linux") &&
          seen.insert(soname).second)
        if (const auto found = finder.find(soname, elf->rpath, elf->runpath); !found.empty())
          files.push_back(found);
  }
  return false;
}

// The words of a command: sh -c "./app 1" has more in one of its own.
std::vector<std::string> words_of(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  for (std::size_t i = 1; i < command.size(); ++i)
    for (auto& word : split(command[i], " \t\n;&|()'\"")) words.push_back(std::move(word));
  return words;
}

// The first MPI program among the arguments of one that is none; family "" if there is none.
MpiUse find_inside(const std::vector<std::string>& command) {
  for (const auto& word : words_of(command)) {
    const auto program = find_program(word);
    if (program.empty()) continue;
    MpiUse use = linked_mpi(program);
    if (use.family.empty() && is_interpreter(program)) use = late_mpi(started_program(program), "");
    if (use.family.empty()) continue;
    use.tools.clear();
    use.wrapper = true;
    use.why = command[0] + " starts it: " + use.why;
    use.sanitizers = linked_sanitizers(program);
    return use;
  }
  return {};
}

}  // namespace

NoProgram why_no_program(const std::string& name) {
  std::error_code error;
  const auto says = [&](const std::string& path) -> std::string {
    if (fs::is_directory(path, error)) return " is a directory, and no program";
    if (!is_file(path)) return " is no file, hence no program";
    if (os::is_elf(path) || !os::script_interpreter(path).empty())
      return " is not executable (chmod +x " + path + ")";
    return " is not executable, and does not look like a program; if it is a script, name its "
           "interpreter before it";
  };
  if (name.find('/') != std::string::npos) {
    if (fs::exists(name, error)) return {name + says(name), 126};
    return {name + ": no such program", 127};
  }
  const auto here = "./" + name;
  if (name.empty() || !fs::exists(here, error)) return {name + ": no such program", 127};
  if (!find_program(here).empty())
    return {name + ": no such program in PATH; did you mean " + here + "?", 127};
  return {name + ": no such program in PATH, and " + here + says(here), 127};
}

MpiUse find_mpi(const std::vector<std::string>& command, const std::string& wanted) {
  const auto program = find_program(command[0]);
  MpiUse use = find_library(program, wanted);
  use.sanitizers = linked_sanitizers(program);
  const bool linked = !use.family.empty() && !use.late;
  if (linked || use.refused || !wanted.empty() || is_interpreter(program)) return use;
  if (MpiUse inside = find_inside(command); !inside.family.empty()) return inside;
  const auto started = started_program(program);
  if (const auto why = not_dynamic(started); !why.empty() && !is_shell(started)) {
    MpiUse none;
    none.refused = true;
    none.why = why;
    return none;
  }
  if (loads_libraries(started)) return use;
  MpiUse unknown;
  unknown.family = launcher_family();
  unknown.wrapper = true;
  unknown.why = program +
                " is not linked with an MPI library, and what it may start is not known; say which "
                "MPI it is with --mpi mpich, openmpi or abi";
  return unknown;
}

MpiUse find_mpi_again(const std::string& program, const std::string& wanted) {
  const auto linked = linked_mpi(program);
  MpiUse use = linked.family.empty() ? find_library(program, wanted) : linked;
  use.sanitizers = linked_sanitizers(program);
  return use;
}

}  // namespace hob::exec
