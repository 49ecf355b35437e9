// What a program may ask of MPI_COMM_WORLD and only the library's own can answer.
#include "mpi/pmpi/hooks.hpp"

#include <strings.h>

#include <string>
#include <vector>

#include "mpi/core/context.hpp"
#include "mpi/core/program_world.hpp"
#include "mpi/ghost/job/world.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/workarounds/sessions.hpp"

namespace hob::mpi {
namespace {

bool is_predefined(int keyval) {
  for (const int each :
       {MPI_TAG_UB, MPI_IO, MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE, MPI_APPNUM, MPI_LASTUSEDCODE}) {
    if (keyval == each) return true;
  }
  return keyval == MPI_HOST;
}

// The ranks that a program could have in all do not count those that work for it.
void without_ghosts(void* value) {
  static int universe = 0;
  int ghosts = 0;
  for (const auto& list : launched_world()->ghosts) ghosts += static_cast<int>(list.size());
  universe = **static_cast<int**>(value) - ghosts;
  *static_cast<int**>(value) = &universe;
}

// The group of a process set, as the library made it, less the ghosts among its members.
int without_ghosts(MPI_Session session, const char* name, MPI_Group& group) {
  const GhostWorld& world = *launched_world();
  int size = 0;
  real::Group_size(group, &size);
  std::vector<int> members(static_cast<std::size_t>(size));
  std::vector<int> internal(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) internal[i] = members[i] = static_cast<int>(i);
  // The set of all processes is in their order; others are smaller ones.
  if (::strcasecmp(name, "mpi://WORLD") != 0) {
    MPI_Group all = MPI_GROUP_NULL;
    const int result = real::Group_from_session_pset(session, "mpi://WORLD", &all);
    if (result != MPI_SUCCESS) return result;
    real::Group_translate_ranks(group, size, members.data(), all, internal.data());
    real::Group_free(&all);
  }
  std::vector<int> ghosts;
  for (std::size_t i = 0; i < internal.size(); ++i) {
    const auto rank = static_cast<std::size_t>(internal[i]);
    if (internal[i] >= 0 && rank < world.ranks.size() && world.ranks[rank].ghost >= 0)
      ghosts.push_back(members[i]);
  }
  if (ghosts.empty()) return MPI_SUCCESS;
  MPI_Group application = MPI_GROUP_NULL;
  const int result =
      real::Group_excl(group, static_cast<int>(ghosts.size()), ghosts.data(), &application);
  real::Group_free(&group);
  group = application;
  return result;
}

}  // namespace

int on_Group_from_session_pset(MPI_Session session, const char* name, MPI_Group* group) {
  const int result = real::Group_from_session_pset(session, name, group);
  return result == MPI_SUCCESS && program_world.is_smaller ? without_ghosts(session, name, *group)
                                                           : result;
}

int on_Session_get_pset_info(MPI_Session session, const char* name, MPI_Info* info) {
  const int result = real::Session_get_pset_info(session, name, info);
  MPI_Group group = MPI_GROUP_NULL;
  if (result != MPI_SUCCESS || !program_world.is_smaller ||
      on_Group_from_session_pset(session, name, &group) != MPI_SUCCESS)
    return result;
  int size = 0;
  real::Group_size(group, &size);
  real::Group_free(&group);
  return real::Info_set(*info, "mpi_size", std::to_string(size).c_str());
}

int on_Comm_create_from_group(MPI_Group group, const char* stringtag, MPI_Info info,
                              MPI_Errhandler errhandler, MPI_Comm* newcomm) {
  open_again();
  return real::Comm_create_from_group(group, stringtag, info, errhandler, newcomm);
}

int on_Intercomm_create_from_groups(MPI_Group local_group, int local_leader, MPI_Group remote_group,
                                    int remote_leader, const char* stringtag, MPI_Info info,
                                    MPI_Errhandler errhandler, MPI_Comm* newintercomm) {
  open_again();
  return real::Intercomm_create_from_groups(local_group, local_leader, remote_group, remote_leader,
                                            stringtag, info, errhandler, newintercomm);
}

int on_Comm_get_attr(MPI_Comm comm, int comm_keyval, void* attribute_val, int* flag) {
  // Open MPI has the predefined attributes on MPI_COMM_WORLD alone.
  if (!program_world.is_smaller || comm != program_world.comm || !is_predefined(comm_keyval)) {
    return real::Comm_get_attr(comm, comm_keyval, attribute_val, flag);
  }
  const int result = real::Comm_get_attr(MPI_COMM_WORLD, comm_keyval, attribute_val, flag);
  if (result == MPI_SUCCESS && *flag && comm_keyval == MPI_UNIVERSE_SIZE)
    without_ghosts(attribute_val);
  return result;
}

int on_Attr_get(MPI_Comm comm, int keyval, void* attribute_val, int* flag) {
  return on_Comm_get_attr(comm, keyval, attribute_val, flag);
}

int on_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler) {
  context().note_error_handler(errhandler);
  // Errors that belong to no communicator go to the library's own MPI_COMM_WORLD.
  if (program_world.is_smaller && comm == program_world.comm)
    real::Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
  return real::Comm_set_errhandler(comm, errhandler);
}

}  // namespace hob::mpi
