// The fake library's start and end, communicators, collectives, infos and datatypes.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "fake_mpi.hpp"
#include "fake_types.hpp"
#include "mpi/pmpi/real.hpp"

namespace fake {
namespace {

int next_handle = 1;
bool running = false;
std::map<int, int> comm_sizes;
std::map<MPI_Group, std::vector<int>> groups;
int node_ranks = 1;
std::map<int, Type> types;
std::map<int, std::map<std::string, std::string>> infos;

/// A key of attributes: only MPI_COMM_SELF has any, and only Hob sets them.
struct Keyval {
  MPI_Comm_delete_attr_function* remove = nullptr;
  void* state = nullptr;
};
std::map<int, Keyval> keyvals;
std::map<int, void*> self_attributes;
std::function<void(void*)> others;
std::uint64_t not_aligned = 0;

/// Handles that MPICH does not use for what is predefined.
int new_handle(int kind) { return kind | next_handle++; }

int size_of(MPI_Comm comm) {
  const auto it = comm_sizes.find(comm);
  return it != comm_sizes.end() ? it->second : comm == MPI_COMM_SELF ? 1 : kWorldSize;
}

/// As if everybody had said the same.
void copy_all(const void* from, void* to, int copies, std::size_t bytes) {
  if (from == MPI_IN_PLACE) from = to;
  for (int i = 0; i < copies; ++i) {
    char* place = static_cast<char*>(to) + static_cast<std::size_t>(i) * bytes;
    if (place != from) std::memcpy(place, from, bytes);
  }
}

std::size_t bytes_of(int count, MPI_Datatype type) {
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(type_of(type).size);
}

}  // namespace

std::uint64_t misaligned() { return not_aligned; }

void others_say(std::function<void(void* result)> change) { others = std::move(change); }
void ranks_of_node(int ranks) { node_ranks = ranks; }
MPI_Group group_of(std::vector<int> ranks) {
  const MPI_Group group = new_handle(0x48000000);
  groups[group] = std::move(ranks);
  return group;
}

const Type& type_of(MPI_Datatype handle) {
  if (const auto it = types.find(handle); it != types.end()) return it->second;
  // MPICH's handles of predefined types contain the size.
  const int size = (handle & 0xff00) >> 8;
  return types[handle] = Type{size, size, MPI_COMBINER_NAMED, {}, {}, {{0, size}}};
}

MPI_Datatype vector_type(int count, int length, int stride, MPI_Datatype inner) {
  const Type element = type_of(inner);
  Type type;
  type.size = count * length * element.size;
  type.extent = ((count - 1) * stride + length) * element.extent;
  type.combiner = MPI_COMBINER_VECTOR;
  type.integers = {count, length, stride};
  type.inner = {inner};
  for (int i = 0; i < count; ++i)
    type.blocks.emplace_back(i * stride * element.extent, length * element.size);
  const int handle = new_handle(static_cast<int>(0x8c000000));
  types[handle] = type;
  return handle;
}

namespace {

/// Nobody asks how it was made.
MPI_Datatype indexed_type(const std::vector<int>& lengths, const MPI_Aint places[],
                          MPI_Datatype inner) {
  const Type element = type_of(inner);
  Type type;
  type.combiner = MPI_COMBINER_HINDEXED;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const int bytes = lengths[i] * element.size;
    type.blocks.emplace_back(static_cast<int>(places[i]), bytes);
    type.size += bytes;
    type.extent = std::max(type.extent, static_cast<int>(places[i]) + bytes);
  }
  const int handle = new_handle(static_cast<int>(0x8c000000));
  types[handle] = type;
  return handle;
}

FAKE(Init_thread, int*, char***, int required, int* provided) {
  running = true;
  *provided = required;
  return MPI_SUCCESS;
}
FAKE(Init, int*, char***) {
  running = true;
  return MPI_SUCCESS;
}
FAKE(Initialized, int* flag) {
  *flag = running;
  return MPI_SUCCESS;
}
FAKE(Finalize) {
  for (const auto& [key, value] : self_attributes)
    keyvals[key].remove(MPI_COMM_SELF, key, value, keyvals[key].state);
  self_attributes.clear();
  running = false;
  return MPI_SUCCESS;
}
FAKE(Query_thread, int* level) {
  *level = MPI_THREAD_SINGLE;
  return MPI_SUCCESS;
}
FAKE(Get_library_version, char* version, int* length) {
  *length = std::snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "MPICH Version: 4.3 (fake)");
  return MPI_SUCCESS;
}
FAKE(Abort, MPI_Comm, int status) {
  std::fprintf(stderr, "MPI_Abort(%d)\n", status);
  std::_Exit(status);
}

FAKE(Comm_rank, MPI_Comm, int* rank) {
  *rank = 0;
  return MPI_SUCCESS;
}
FAKE(Comm_size, MPI_Comm comm, int* size) {
  *size = size_of(comm);
  return MPI_SUCCESS;
}
FAKE(Comm_remote_size, MPI_Comm comm, int* size) {
  *size = size_of(comm);
  return MPI_SUCCESS;
}
FAKE(Comm_test_inter, MPI_Comm, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}
FAKE(Comm_dup, MPI_Comm comm, MPI_Comm* copy) {
  *copy = new_handle(static_cast<int>(0x84000000));
  comm_sizes[*copy] = size_of(comm);
  return MPI_SUCCESS;
}
FAKE(Comm_split, MPI_Comm comm, int, int, MPI_Comm* part) { return body_Comm_dup(comm, part); }
FAKE(Comm_split_type, MPI_Comm, int, int, MPI_Info, MPI_Comm* part) {
  body_Comm_dup(MPI_COMM_SELF, part);
  comm_sizes[*part] = node_ranks;
  return MPI_SUCCESS;
}
FAKE(Comm_free, MPI_Comm* comm) {
  comm_sizes.erase(*comm);
  *comm = MPI_COMM_NULL;
  return MPI_SUCCESS;
}
FAKE(Comm_disconnect, MPI_Comm* comm) { return body_Comm_free(comm); }
/// A group is the number of its members, in the order of the world, or one of group_of(): those
/// with one number are the same.
FAKE(Comm_group, MPI_Comm comm, MPI_Group* group) {
  *group = size_of(comm);
  return MPI_SUCCESS;
}
FAKE(Group_compare, MPI_Group one, MPI_Group other, int* result) {
  *result = one == other ? MPI_IDENT : MPI_UNEQUAL;
  return MPI_SUCCESS;
}
FAKE(Group_size, MPI_Group group, int* size) {
  const auto it = groups.find(group);
  *size = it != groups.end() ? static_cast<int>(it->second.size()) : group;
  return MPI_SUCCESS;
}
/// To groups of the world's order alone.
FAKE(Group_translate_ranks, MPI_Group from, int count, const int* ranks, MPI_Group to, int* found) {
  const auto it = groups.find(from);
  for (int i = 0; i < count; ++i) {
    const int rank = it != groups.end() ? it->second[static_cast<std::size_t>(ranks[i])] : ranks[i];
    found[i] = rank < to ? rank : MPI_UNDEFINED;
  }
  return MPI_SUCCESS;
}
FAKE(Group_free, MPI_Group* group) {
  groups.erase(*group);
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}
std::map<MPI_Comm, MPI_Errhandler> error_handlers;
FAKE(Comm_set_errhandler, MPI_Comm comm, MPI_Errhandler handler) {
  error_handlers[comm] = handler;
  return MPI_SUCCESS;
}
FAKE(Comm_get_errhandler, MPI_Comm comm, MPI_Errhandler* handler) {
  const auto set = error_handlers.find(comm);
  *handler = set == error_handlers.end() ? MPI_ERRORS_ARE_FATAL : set->second;
  return MPI_SUCCESS;
}
FAKE(Comm_create_errhandler, MPI_Comm_errhandler_function*, MPI_Errhandler* handler) {
  *handler = new_handle(static_cast<int>(0x94000000));
  return MPI_SUCCESS;
}
FAKE(Errhandler_free, MPI_Errhandler* handler) {
  *handler = MPI_ERRHANDLER_NULL;
  return MPI_SUCCESS;
}
FAKE(Comm_set_name, MPI_Comm, const char*) { return MPI_SUCCESS; }
FAKE(Comm_get_name, MPI_Comm, char* name, int* length) {
  *name = '\0';
  *length = 0;
  return MPI_SUCCESS;
}
FAKE(Comm_get_info, MPI_Comm, MPI_Info* info) {
  *info = new_handle(static_cast<int>(0x9c000000));
  return MPI_SUCCESS;
}
FAKE(Comm_get_parent, MPI_Comm* parent) {
  *parent = MPI_COMM_NULL;
  return MPI_SUCCESS;
}
FAKE(Comm_call_errhandler, MPI_Comm, int error) { return error; }
FAKE(Comm_get_attr, MPI_Comm, int, void* value, int* flag) {
  static int upper = 0x7fffffff;  // MPI_TAG_UB
  *static_cast<int**>(value) = &upper;
  *flag = 1;
  return MPI_SUCCESS;
}

FAKE(Comm_create_keyval, MPI_Comm_copy_attr_function*, MPI_Comm_delete_attr_function* remove,
     int* key, void* state) {
  *key = new_handle(static_cast<int>(0x64000000));
  keyvals[*key] = {remove, state};
  return MPI_SUCCESS;
}
FAKE(Comm_set_attr, MPI_Comm, int key, void* value) {
  self_attributes[key] = value;
  return MPI_SUCCESS;
}
/// What is set stays valid.
FAKE(Comm_free_keyval, int* key) {
  *key = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}

FAKE(Barrier, MPI_Comm) { return MPI_SUCCESS; }
/// Not Hob's to call (mpi/core/broadcast.hpp).
FAKE(Bcast, void*, int, MPI_Datatype, int, MPI_Comm) { return MPI_ERR_OTHER; }
/// Right for MPI_MAX, MPI_MIN, unions and logical operations, which are what Hob uses.
FAKE(Allreduce, const void* from, void* to, int count, MPI_Datatype type, MPI_Op, MPI_Comm) {
  copy_all(from, to, 1, bytes_of(count, type));
  if (others) others(to);
  return MPI_SUCCESS;
}
FAKE(Reduce, const void* from, void* to, int count, MPI_Datatype type, MPI_Op, int, MPI_Comm) {
  copy_all(from, to, 1, bytes_of(count, type));
  return MPI_SUCCESS;
}
FAKE(Allgather, const void* from, int count, MPI_Datatype type, void* to, int, MPI_Datatype,
     MPI_Comm comm) {
  copy_all(from, to, size_of(comm), bytes_of(count, type));
  return MPI_SUCCESS;
}
FAKE(Gather, const void* from, int count, MPI_Datatype type, void* to, int, MPI_Datatype, int,
     MPI_Comm comm) {
  copy_all(from, to, size_of(comm), bytes_of(count, type));
  return MPI_SUCCESS;
}
FAKE(Gatherv, const void* from, int count, MPI_Datatype type, void* to, const int*,
     const int places[], MPI_Datatype, int, MPI_Comm comm) {
  for (int i = 0; i < size_of(comm); ++i)
    std::memcpy(static_cast<char*>(to) + bytes_of(places[i], type), from, bytes_of(count, type));
  return MPI_SUCCESS;
}

FAKE(Info_get, MPI_Info info, const char* key, int length, char* value, int* flag) {
  const auto& pairs = infos[info];
  const auto it = pairs.find(key);
  *flag = it != pairs.end();
  if (*flag) std::snprintf(value, static_cast<std::size_t>(length) + 1, "%s", it->second.c_str());
  return MPI_SUCCESS;
}
FAKE(Info_set, MPI_Info info, const char* key, const char* value) {
  infos[info][key] = value;
  return MPI_SUCCESS;
}
FAKE(Info_free, MPI_Info* info) {
  infos.erase(*info);
  *info = MPI_INFO_NULL;
  return MPI_SUCCESS;
}

FAKE(Type_size, MPI_Datatype type, int* size) {
  *size = type_of(type).size;
  return MPI_SUCCESS;
}
FAKE(Type_get_extent, MPI_Datatype type, MPI_Aint* lower, MPI_Aint* extent) {
  *lower = 0;
  *extent = type_of(type).extent;
  return MPI_SUCCESS;
}
FAKE(Type_get_true_extent, MPI_Datatype type, MPI_Aint* lower, MPI_Aint* extent) {
  *lower = 0;
  *extent = type_of(type).extent;
  return MPI_SUCCESS;
}
FAKE(Type_get_envelope, MPI_Datatype type, int* integers, int* addresses, int* inner,
     int* combiner) {
  const Type& known = type_of(type);
  *integers = static_cast<int>(known.integers.size());
  *addresses = 0;
  *inner = static_cast<int>(known.inner.size());
  *combiner = known.combiner;
  return MPI_SUCCESS;
}
FAKE(Type_get_contents, MPI_Datatype type, int, int, int, int integers[], MPI_Aint[],
     MPI_Datatype inner[]) {
  const Type known = type_of(type);
  std::copy(known.integers.begin(), known.integers.end(), integers);
  std::copy(known.inner.begin(), known.inner.end(), inner);
  return MPI_SUCCESS;
}
/// Sums of long double alone.
FAKE(Reduce_local, const void* from, void* to, int count, MPI_Datatype, MPI_Op) {
  if (reinterpret_cast<std::uintptr_t>(from) % 16 != 0) ++not_aligned;
  for (int i = 0; i < count; ++i)
    static_cast<long double*>(to)[i] += static_cast<const long double*>(from)[i];
  return MPI_SUCCESS;
}
FAKE(Pack, const void*, int, MPI_Datatype, void*, int, int*, MPI_Comm) { return MPI_SUCCESS; }

FAKE(Type_create_hindexed_block, int count, int length, const MPI_Aint places[], MPI_Datatype inner,
     MPI_Datatype* made) {
  const std::vector<int> lengths(static_cast<std::size_t>(count), length);
  *made = indexed_type(lengths, places, inner);
  return MPI_SUCCESS;
}
FAKE(Type_create_hindexed, int count, const int lengths[], const MPI_Aint places[],
     MPI_Datatype inner, MPI_Datatype* made) {
  *made = indexed_type({lengths, lengths + count}, places, inner);
  return MPI_SUCCESS;
}
FAKE(Type_contiguous, int count, MPI_Datatype inner, MPI_Datatype* made) {
  *made = vector_type(1, count, count, inner);
  return MPI_SUCCESS;
}
FAKE(Op_create, MPI_User_function*, int, MPI_Op* op) {
  *op = new_handle(static_cast<int>(0x98000000));
  return MPI_SUCCESS;
}
FAKE(Op_free, MPI_Op* op) {
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}
FAKE(Type_commit, MPI_Datatype*) { return MPI_SUCCESS; }
FAKE(Type_free, MPI_Datatype* type) {
  types.erase(*type);
  *type = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace fake
