// The calls of Hob's mode "user": the program tells Hob when a window is read-only. They do nothing
// where Hob is not loaded, so that the same binary runs with and without.
#pragma once

#include <mpi.h>

#define HOB_WEAK
#include <hob/hob.h>

namespace apps {

// The info object for a window that is read-only until invalidate(); MPI_INFO_NULL when off.
inline MPI_Info user_mode_info(bool on) {
  MPI_Info info = MPI_INFO_NULL;
  if (on) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "hob_cache", "user");
  }
  return info;
}

// Ends a sequence of read-only epochs of a window made with user_mode_info(true).
inline void invalidate(MPI_Win win) {
  if (HOB_Invalidate) HOB_Invalidate(win);
}

}  // namespace apps
