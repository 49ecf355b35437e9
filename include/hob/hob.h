/**
 * @file
 * The few calls that a program may make to Hob. A program needs none of them: Hob works on programs
 * that know nothing of it. Those that promise something (mode "user") end the promise here.
 *
 * Programs that must also run without Hob can declare the functions weak and test their address:
 *
 *     #define HOB_WEAK
 *     #include <hob/hob.h>
 *     if (HOB_Invalidate) HOB_Invalidate(win);
 *
 * Info keys, given when a window is made or with MPI_Win_set_info:
 *   "hob_cache"    auto, strict, always, user or off: overrides the setting `cache` for this
 * window. "CLAMPI_MODE"  as in the paper's public code: CLAMPI_TRANSPARENT or 1 (strict),
 *                  CLAMPI_ALWAYS_CACHE or 2 (always), CLAMPI_USER_DEFINED or 3 (user); in lower
 *                  case as well.
 *
 * All functions are thread safe at the thread level that the program asked MPI for.
 */
#ifndef HOB_HOB_H
#define HOB_HOB_H

#include <mpi.h>

#ifdef HOB_WEAK
#define HOB_API __attribute__((weak))
#else
#define HOB_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Ends the life of everything cached of a window: gets issued after the call read the targets'
 * memory again. Constant time. Local: other processes keep what they cached.
 *
 * Mode user needs it wherever the window's memory may have changed (paper, III-A); in the other
 * modes it is never needed and always allowed.
 *
 * @param win a window of the program
 * @return MPI_SUCCESS, also where the window is not cached
 */
HOB_API int HOB_Invalidate(MPI_Win win);

/**
 * The same for the copies from one target. Constant time.
 *
 * @param target rank in the window's group
 * @return MPI_SUCCESS, or MPI_ERR_RANK if the group has no such rank
 */
HOB_API int HOB_Invalidate_target(int target, MPI_Win win);

/** HOB_Invalidate under the names of the paper and of its public code. */
HOB_API int CLAMPI_Invalidate(MPI_Win win);
HOB_API int CMPI_Win_invalidate(MPI_Win win);

/**
 * Reads one counter of this process, summed over its windows (docs/report.md says where they are
 * listed).
 *
 * @param name  e.g. "hits_full"
 * @param value where the value goes; unchanged if there is no such counter
 * @return MPI_SUCCESS, or MPI_ERR_ARG if there is no such counter
 */
HOB_API int HOB_Counter(const char* name, unsigned long long* value);

/**
 * Stops the heating of this process (setting `heat`) until HOB_Heat_resume, for a part of the
 * program that needs all of the shared cache. Calls do not add up. Never waits. Without a heater
 * they do nothing. Hob stops by itself while the program computes, where its phases are regular
 * enough to foresee their end.
 *
 * @return MPI_SUCCESS
 */
HOB_API int HOB_Heat_pause(void);
HOB_API int HOB_Heat_resume(void);

#ifdef __cplusplus
}
#endif

#endif
