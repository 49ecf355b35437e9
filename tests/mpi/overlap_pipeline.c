/* Something is under way all the time: the next exchange is started before the program waits for
 * the last one, and the computing is between a wait and the next start. Two ranks.
 * Argument: how many milliseconds. With overlap=auto several phases have been seen in that time. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "overlap_check.h"

enum { COUNT = 1 << 17 };
extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));

int main(int argc, char** argv) {
  const double end = now() + 1e-3 * (argc > 1 ? atoi(argv[1]) : 3000);
  static double out[2][COUNT], in[2][COUNT];
  MPI_Request requests[2][2];
  MPI_Status statuses[2];
  int wrong = 0, round = 0, goes_on = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (; goes_on; round++) {
    const int now_at = round % 2, last = 1 - now_at;
    for (int i = 0; i < COUNT; i++) out[now_at][i] = round + rank + i;
    MPI_Irecv(in[now_at], COUNT, MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD, &requests[now_at][0]);
    MPI_Isend(out[now_at], COUNT, MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD, &requests[now_at][1]);
    if (round > 0) {
      MPI_Waitall(2, requests[last], statuses);
      for (int i = 0; i < COUNT; i++) wrong += in[last][i] != round - 1 + 1 - rank + i;
    }
    usleep(3000);
    goes_on = now() < end;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Waitall(2, requests[(round - 1) % 2], statuses);
  unsigned long long helped = 0, alone = 0;
  if (HOB_Counter) {
    HOB_Counter("overlap_helped", &helped);
    HOB_Counter("overlap_alone", &alone);
  }
  printf("rank %d: %d rounds, %llu phases helped, %llu left alone, %d wrong\n", rank, round, helped,
         alone, wrong);
  if (wrong || (HOB_Counter && helped + alone < 5)) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  return 0;
}
