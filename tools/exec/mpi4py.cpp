#include "mpi4py.hpp"

#include <filesystem>
#include <fstream>
#include <set>

#include "os/elf.hpp"

namespace hob::exec {
namespace {

namespace fs = std::filesystem;

// A virtual environment's settings; of any other prefix, nothing.
struct Environment {
  bool is_virtual = false;
  bool sees_base = false;  // include-system-site-packages
  fs::path base;           // the prefix of the Python that it was made from
};

Environment environment_of(const fs::path& prefix) {
  Environment result;
  std::ifstream file(prefix / "pyvenv.cfg");
  result.is_virtual = file.is_open();
  for (std::string line; std::getline(file, line);) {
    const auto value = line.substr(std::min(line.find('=') + 1, line.size()));
    if (line.starts_with("home")) {
      const auto from = value.find_first_not_of(' ');
      if (from != std::string::npos) result.base = fs::path(value.substr(from)).parent_path();
    }
    if (line.starts_with("include-system-site-packages"))
      result.sees_base = value.find("true") != std::string::npos;
  }
  return result;
}

// "python3.11" of .../bin/python3, "" where the file's name does not say.
std::string versioned_name(const std::string& interpreter) {
  std::error_code error;
  const auto name = fs::canonical(interpreter, error).filename().string();
  return name.starts_with("python") && name.find('.') != std::string::npos ? name : "";
}

// The directories of packages below a prefix, those of this version where it is known.
void add_packages(const fs::path& prefix, const std::string& version,
                  std::vector<fs::path>& directories) {
  std::error_code error;
  for (const auto* lib : {"lib", "lib64"}) {
    std::set<fs::path> pythons;
    for (const auto& entry : fs::directory_iterator(prefix / lib, error)) {
      const auto name = entry.path().filename().string();
      const bool fits = version.empty() ? name.starts_with("python") : name == version;
      if (fits || name == "python3") pythons.insert(entry.path());
    }
    for (const auto& python : pythons)
      for (const auto* packages : {"site-packages", "dist-packages"})
        directories.push_back(python / packages);
  }
}

std::vector<fs::path> package_directories(const fs::path& prefix, const Environment& environment,
                                          const std::string& version) {
  std::vector<fs::path> result;
  for (const auto& directory : split(variable("PYTHONPATH"), ":")) result.emplace_back(directory);
  const auto home = variable("HOME");
  const bool sees_user = !environment.is_virtual || environment.sees_base;
  if (sees_user && !home.empty() && variable("PYTHONNOUSERSITE").empty())
    add_packages(fs::path(home) / ".local", version, result);
  add_packages(prefix, version, result);
  if (prefix == "/usr") add_packages("/usr/local", version, result);
  if (environment.sees_base) add_packages(environment.base, version, result);
  return result;
}

// The extension modules of the first mpi4py: one, or the wheel's for each family.
std::vector<fs::path> extensions(const std::vector<fs::path>& directories) {
  std::vector<fs::path> result;
  std::error_code error;
  for (const auto& directory : directories) {
    for (const auto& entry : fs::directory_iterator(directory / "mpi4py", error)) {
      const auto name = entry.path().filename().string();
      if (name.starts_with("MPI.") && name.ends_with(".so")) result.push_back(entry.path());
    }
    if (!result.empty() || fs::exists(directory / "mpi4py" / "__init__.py", error)) break;
  }
  return result;
}

// The family of a file that may be named libmpi.so, by the wheel's name.
std::string family_of_file(const fs::path& library) {
  std::error_code error;
  const auto real = fs::canonical(library, error);
  if (error) return {};
  if (const auto family = family_of(real.filename().string()); !family.empty()) return family;
  if (!is_mpi(real.string())) return {};
  return os::defines(real.string(), "ompi_mpi_comm_self") ? "openmpi" : "mpich";
}

// The file name that the wheel's extension module of a family asks for; "" where it has none.
std::string asked_for(const std::string& family) {
  for (const auto* soname : {"libmpi.so.12", "libmpi.so.40"})
    if (family_of(soname) == family) return soname;
  return {};
}

Mpi4py use_of(const fs::path& library) {
  const auto family = family_of_file(library);
  if (family.empty()) return {};
  const auto soname = asked_for(family);
  if (!soname.empty() && fs::exists(library.parent_path() / soname))
    return {family, (library.parent_path() / soname).string(), true};
  return {family, library.string(), true};
}

// Where the wheel looks for a library: mpi4py/_mpiabi.py of mpi4py 4.1.
Mpi4py of_wheel(const fs::path& prefix, const Environment& environment) {
  static const std::vector<std::string> names{"libmpi.so", "libmpi.so.12", "libmpi.so.40"};
  std::vector<fs::path> places;
  for (const auto& place : split(variable("MPI4PY_LIBMPI"), ":")) places.emplace_back(place);
  if (places.empty()) {
    if (environment.is_virtual) places.push_back(prefix / "lib");
    if (const auto home = variable("HOME"); !environment.is_virtual && !home.empty())
      places.push_back(fs::path(home) / ".local" / "lib");
    const auto base = environment.is_virtual ? environment.base : prefix;
    if (!base.empty() && base != "/usr") places.push_back(base / "lib");
  }
  std::error_code error;
  for (const auto& place : places) {
    if (!fs::is_directory(place, error)) {
      if (auto use = use_of(place); !use.family.empty()) return use;
      continue;
    }
    for (const auto& name : names)
      if (auto use = use_of(place / name); !use.family.empty()) return use;
  }
  const LibraryFinder finder;
  for (const auto& name : names) {
    const auto use = use_of(finder.find(name, {}, {}));
    if (use.family.empty()) continue;
    const auto soname = asked_for(use.family);
    const auto own = soname.empty() ? "" : finder.find(soname, {}, {});
    return own.empty() ? use : Mpi4py{use.family, own, true};
  }
  return {"", "", true};
}

}  // namespace

Mpi4py find_mpi4py(const std::string& interpreter) {
  if (fs::path(interpreter).filename().string().find("python") == std::string::npos) return {};
  std::error_code error;
  const auto prefix = fs::absolute(interpreter, error).parent_path().parent_path();
  const auto environment = environment_of(prefix);
  const auto modules =
      extensions(package_directories(prefix, environment, versioned_name(interpreter)));
  if (modules.empty()) return {};
  if (modules.size() > 1) return of_wheel(prefix, environment);
  const auto elf = os::read_elf(modules[0].string());
  if (!elf) return {};
  for (const auto& soname : elf->needed)
    if (const auto family = family_of(soname); !family.empty())
      return {family,
              fs::path(LibraryFinder().find(soname, elf->rpath, elf->runpath))
                  .lexically_normal()
                  .string(),
              false};
  return {};
}

}  // namespace hob::exec
