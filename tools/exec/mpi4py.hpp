// Which MPI library Python's mpi4py loads, read from its files: no Python is started for it.
#pragma once

#include <string>

#include "mpi_use.hpp"

namespace hob::exec {

/// What `import mpi4py.MPI` would load.
struct Mpi4py {
  std::string family;   ///< as in MpiUse; "" where there is no mpi4py, or it finds no MPI library
  std::string library;  ///< path of that library, "" where it was not found
  /// PyPI's wheel, which takes any family's library that it finds; else compiled for one of them.
  bool wheel = false;
};

/// The mpi4py of a Python interpreter: that of PYTHONPATH, of the user, or of the interpreter's
/// prefix, in this order. Empty for other programs.
Mpi4py find_mpi4py(const std::string& interpreter);

}  // namespace hob::exec
