// The fake library's control variables (MPI_T).
#include <map>
#include <string>
#include <vector>

#include "fake_mpi.hpp"

namespace fake {
namespace {

std::vector<std::string> names;
std::map<std::string, int> values;
int users = 0;
int handles = 0;

int init_thread(int, int* provided) {
  ++users;
  *provided = MPI_THREAD_MULTIPLE;
  return MPI_SUCCESS;
}
int finalize() {
  --users;
  return MPI_SUCCESS;
}
int get_index(const char* name, int* index) {
  for (*index = 0; *index < static_cast<int>(names.size()); ++*index)
    if (names[static_cast<std::size_t>(*index)] == name) return MPI_SUCCESS;
  return MPI_T_ERR_INVALID_NAME;
}
int handle_alloc(int index, void*, MPI_T_cvar_handle* handle, int* count) {
  *handle =
      reinterpret_cast<MPI_T_cvar_handle>(&values.at(names.at(static_cast<std::size_t>(index))));
  *count = 1;
  ++handles;
  return MPI_SUCCESS;
}
int handle_free(MPI_T_cvar_handle* handle) {
  *handle = nullptr;
  --handles;
  return MPI_SUCCESS;
}
int read(MPI_T_cvar_handle handle, void* value) {
  *static_cast<int*>(value) = *reinterpret_cast<int*>(handle);
  return MPI_SUCCESS;
}
int write(MPI_T_cvar_handle handle, const void* value) {
  *reinterpret_cast<int*>(handle) = *static_cast<const int*>(value);
  return MPI_SUCCESS;
}

template <class Function>
detail::Function entry(const char* name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

const detail::Function entries[] = {entry("PMPI_T_init_thread", init_thread),
                                    entry("PMPI_T_finalize", finalize),
                                    entry("PMPI_T_cvar_get_index", get_index),
                                    entry("PMPI_T_cvar_handle_alloc", handle_alloc),
                                    entry("PMPI_T_cvar_handle_free", handle_free),
                                    entry("PMPI_T_cvar_read", read),
                                    entry("PMPI_T_cvar_write", write)};

}  // namespace

void control_variable(const std::string& name, int value) {
  if (values.count(name) == 0) names.push_back(name);
  values[name] = value;
}

int control_variable(const std::string& name) { return values.at(name); }

int open_tools() { return users + handles; }

}  // namespace fake
