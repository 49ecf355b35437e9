#include "mpi/progress/throttle.hpp"

#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/resolve.hpp"

namespace hob::mpi {
namespace {

/// The library's variable, if it has one and the user set it.
class Variable {
 public:
  Variable() {
    int provided = 0;
    int index = 0;
    int count = 0;
    int value = 0;
    const auto init = function<int(int, int*)>("PMPI_T_init_thread");
    const auto find = function<int(const char*, int*)>("PMPI_T_cvar_get_index");
    const auto open =
        function<int(int, void*, MPI_T_cvar_handle*, int*)>("PMPI_T_cvar_handle_alloc");
    const auto read = function<int(MPI_T_cvar_handle, void*)>("PMPI_T_cvar_read");
    const auto write = function<int(MPI_T_cvar_handle, const void*)>("PMPI_T_cvar_write");
    if (!init || !find || !open || !read || !write) return;
    if (init(MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) return;
    if (find("MPIR_CVAR_CH4_PROGRESS_THROTTLE", &index) != MPI_SUCCESS) return;
    if (open(index, nullptr, &handle_, &count) != MPI_SUCCESS || count != 1) return;
    if (read(handle_, &value) == MPI_SUCCESS && value != 0) write_ = write;
  }
  bool set(int value) {
    if (write_) write_(handle_, &value);
    return write_ != nullptr;
  }

 private:
  template <class Function>
  static Function* function(const char* name) {
    return reinterpret_cast<Function*>(real::find(name));
  }

  MPI_T_cvar_handle handle_{};
  int (*write_)(MPI_T_cvar_handle, const void*) = nullptr;
};

}  // namespace

bool throttle(bool on) {
  static Variable variable;
  return variable.set(on ? 1 : 0);
}

}  // namespace hob::mpi
