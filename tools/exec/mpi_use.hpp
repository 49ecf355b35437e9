// Which MPI library a program uses, so that the build of Hob that fits it is loaded.
#pragma once

#include <string>
#include <vector>

namespace hob::exec {

/// How a program comes to its MPI library.
struct MpiUse {
  std::string family;   ///< "mpich", "openmpi" or "abi": which build of Hob fits; "" if unknown
  std::string library;  ///< path of the MPI library, "" where it was not found
  bool late = false;    ///< loaded while the program runs (Python), not linked
  std::string why;      ///< one sentence: how this was found, or why it was not
  /// The program starts others, of which one may be an MPI program: family and library are that
  /// one's where it is known, else the family of what started this process, or "".
  bool wrapper = false;
  /// Nothing can be loaded in front of it: it is linked statically, is for another machine, or has
  /// an MPI library that no Hob serves.
  bool refused = false;
  /// Paths of PMPI tools that the program is linked with in front of its MPI library, in order.
  std::vector<std::string> tools{};
  /// Paths of sanitizers' runtimes that the program is linked with.
  std::vector<std::string> sanitizers{};
};

/// The family that a library's name gives away: "libmpi.so.40" -> "openmpi". "" for any other.
std::string family_of(const std::string& soname);

/// A variable of the environment; "" if it is not set.
std::string variable(const char* name);

/// The parts of a text between any of these characters; empty ones are left out.
std::vector<std::string> split(const std::string& text, const char* separators);

/// Where the dynamic linker finds shared libraries.
class LibraryFinder {
 public:
  LibraryFinder();

  /// The path of `soname` as needed by a file with these search paths; "" if it is nowhere.
  std::string find(const std::string& soname, const std::vector<std::string>& rpath,
                   const std::vector<std::string>& runpath) const;

 private:
  std::vector<std::string> library_path_;  // LD_LIBRARY_PATH
  std::vector<std::string> system_;        // ld.so.conf's and the built-in directories
};

/// Whether a shared library is a PMPI tool: it defines MPI_ functions, and not the PMPI_ functions
/// that they call.
bool is_pmpi_tool(const std::string& path);

/// Whether a library of this name is the runtime of a compiler's sanitizer (-fsanitize=address).
bool is_sanitizer(const std::string& name);

/// Whether a shared library is an MPI library, or serves as one: it defines PMPI_ functions.
bool is_mpi(const std::string& path);

/// The path that execvp would start; "" if there is none.
std::string find_program(const std::string& name);

/// Why there is none, in one sentence, with what may have been meant; and the status with which a
/// shell would end.
struct NoProgram {
  std::string why;
  int status = 127;
};
NoProgram why_no_program(const std::string& name);

/// Finds the MPI library of a command, a program and its arguments: by the libraries that the
/// program and they are linked with, else (scripts, Python) by its mpi4py and by what started this
/// process; of a program that starts another one (taskset, a shell), by the first MPI program among
/// the arguments. `wanted` overrides: a family or the path of an MPI library, "" for none.
MpiUse find_mpi(const std::vector<std::string>& command, const std::string& wanted);

/// The same for a program that a wrapper has started.
MpiUse find_mpi_again(const std::string& program, const std::string& wanted);

}  // namespace hob::exec
