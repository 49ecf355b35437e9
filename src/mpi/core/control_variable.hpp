// One of the MPI library's own settings, which MPI calls control variables.
#pragma once

#include <optional>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// A control variable of one int, by its name; it may not exist. Only after MPI was initialised.
class ControlVariable {
 public:
  explicit ControlVariable(const char* name);
  ~ControlVariable();
  ControlVariable(const ControlVariable&) = delete;
  ControlVariable& operator=(const ControlVariable&) = delete;

  /// Nothing: this library has no such variable.
  std::optional<int> value() const;
  /// Several threads may call it. Does nothing where there is no such variable.
  void set(int value);

 private:
  bool started_ = false;  ///< MPI's interface to tools, which counts its users
  bool open_ = false;
  MPI_T_cvar_handle handle_{};
};

}  // namespace hob::mpi
