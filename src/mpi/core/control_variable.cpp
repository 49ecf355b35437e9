#include "mpi/core/control_variable.hpp"

#include "mpi/pmpi/resolve.hpp"

namespace hob::mpi {
namespace {

template <class Function>
Function* function(const char* name) {
  return reinterpret_cast<Function*>(real::find(name));
}

}  // namespace

ControlVariable::ControlVariable(const char* name) {
  const auto start = function<int(int, int*)>("PMPI_T_init_thread");
  const auto find = function<int(const char*, int*)>("PMPI_T_cvar_get_index");
  const auto open = function<int(int, void*, MPI_T_cvar_handle*, int*)>("PMPI_T_cvar_handle_alloc");
  int provided = 0;
  int index = 0;
  int count = 0;
  if (!start || !find || !open || start(MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) return;
  started_ = true;
  if (find(name, &index) != MPI_SUCCESS) return;
  if (open(index, nullptr, &handle_, &count) != MPI_SUCCESS) return;
  open_ = count == 1;
}

ControlVariable::~ControlVariable() {
  const auto close = function<int(MPI_T_cvar_handle*)>("PMPI_T_cvar_handle_free");
  const auto finish = function<int()>("PMPI_T_finalize");
  if (open_ && close) close(&handle_);
  if (started_ && finish) finish();
}

std::optional<int> ControlVariable::value() const {
  const auto read = function<int(MPI_T_cvar_handle, void*)>("PMPI_T_cvar_read");
  int value = 0;
  if (!open_ || !read || read(handle_, &value) != MPI_SUCCESS) return std::nullopt;
  return value;
}

void ControlVariable::set(int value) {
  const auto write = function<int(MPI_T_cvar_handle, const void*)>("PMPI_T_cvar_write");
  if (open_ && write) write(handle_, &value);
}

}  // namespace hob::mpi
