// What the names of programs and libraries say about MPI.
#pragma once

#include <array>
#include <string_view>

namespace hob {

/// The family that a library's name gives away: "libmpi.so.40" -> "openmpi". "" for any other.
constexpr std::string_view mpi_family(std::string_view soname) {
  if (soname.starts_with("libmpi_abi.so")) return "abi";
  if (soname.starts_with("libmpi.so.12") || soname.starts_with("libmpich.so.12")) return "mpich";
  // Cray MPICH has one for each compiler: libmpi_cray.so.12, libmpi_gnu_123.so.12, ...
  if (soname.starts_with("libmpi_") && soname.find(".so.12") != soname.npos) return "mpich";
  if (soname.starts_with("libmpi.so.40")) return "openmpi";
  return {};
}

constexpr std::string_view file_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);  // npos + 1 is 0
}

/// Whether a program interprets a language whose packages load an MPI library while they run.
constexpr bool loads_mpi_late(std::string_view program) {
  const std::string_view name = file_name(program);
  for (const std::string_view prefix : {"python", "pypy", "julia", "octave", "matlab"})
    if (name.starts_with(prefix)) return true;
  for (const std::string_view word : {"R", "Rscript", "java", "node", "ruby"})
    if (name == word) return true;
  return false;
}

/// Whether a program does little but start others.
constexpr bool is_shell(std::string_view program) {
  const std::string_view name = file_name(program);
  for (const std::string_view word : {"sh", "bash", "dash", "ksh", "zsh", "csh", "tcsh", "fish",
                                      "rbash", "mksh", "busybox", "make"})
    if (name == word) return true;
  return false;
}

/// A PMPI tool has wrappers of some of these.
inline constexpr std::array kWrappedByTools = {
    "MPI_Init",  "MPI_Init_thread", "MPI_Finalize", "MPI_Send",      "MPI_Isend", "MPI_Recv",
    "MPI_Irecv", "MPI_Wait",        "MPI_Barrier",  "MPI_Allreduce", "MPI_Get",   "MPI_Put"};

// Set by `hob exec` for what a program that is no MPI program starts, wrappers and scripts: Hob's
// library looks, where it is loaded, whether it was the right choice (mpi/lifecycle/foreign.cpp).
// No settings, hence no names of one.

/// Path of hob-exec.
inline constexpr const char* kStarterVariable = "_HOB_EXEC";
/// "PID PATH" of the last process and program for which it chose.
inline constexpr const char* kChosenVariable = "_HOB_CHOSEN";
/// Path of the MPI library that it preloads for a program that loads one while it runs.
inline constexpr const char* kLateVariable = "_HOB_LATE";
/// The value of --mpi.
inline constexpr const char* kWantedVariable = "_HOB_MPI";

}  // namespace hob
