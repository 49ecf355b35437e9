/* A flood: rank 0 sends many small messages that rank 1 has no receives for, while rank 1 waits in
 * a receive and in barriers. The messages are received in an order of their own, or in that in
 * which they were sent, right in every byte. Memory: a flood grows the process by no more than a
 * limit per message, and a second flood of the same size by little more than the first left behind.
 */
#include "p2p_check.h"

enum { kLast = 3, kMostRounds = 3 };

static long resident(void) {
  long pages = 0, all = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &all, &pages) != 2) pages = 0;
  if (file) fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

int main(int argc, char** argv) {
  const int messages = argc > 1 ? atoi(argv[1]) : 1000000;
  const long limit = argc > 2 ? atol(argv[2]) : 1500; /* bytes of memory per message */
  const int rounds = argc > 3 ? atoi(argv[3]) : kMostRounds;
  const int in_order = argc > 4 && strcmp(argv[4], "in-order") == 0;
  long grown[kMostRounds] = {0}, peak[kMostRounds] = {0}, mine[2], total[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  signal(SIGALRM, on_deadline);
  alarm(2 * kHangSeconds);
  for (int round = 0; round < rounds && round < kMostRounds; round++) {
    case_name = round == 0 ? "first" : "again";
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) {
      for (int i = 0; i < messages; i++) MPI_Send(&i, 1, MPI_INT, 1, 10 + i % 1000, MPI_COMM_WORLD);
      MPI_Send(NULL, 0, MPI_INT, 1, kLast, MPI_COMM_WORLD);
      MPI_Barrier(MPI_COMM_WORLD);
    } else if (world_rank == 1) {
      long before = resident();
      int bad = 0;
      MPI_Recv(NULL, 0, MPI_INT, 0, kLast, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Barrier(MPI_COMM_WORLD);
      peak[round] = resident();
      grown[round] = peak[round] - before;
      for (int i = 0; in_order && i < messages; i++) {
        int got = -1;
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 10 + i % 1000, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        bad += got != i;
      }
      /* Else the tags backwards; within a tag, as they were sent. */
      for (int tag = in_order ? -1 : 999; tag >= 0; tag--) {
        for (int i = tag; i < messages; i += 1000) {
          int got = -1;
          MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 10 + tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          bad += got != i;
        }
      }
      CHECK_EQ(bad, 0);
      CHECK(grown[round] <= limit * messages + (16l << 20));
      if (round > 1) CHECK(peak[round] <= peak[1] + grown[0] / 4 + (16l << 20));
    } else {
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  if (world_rank == 1)
    printf("%d messages: %ld, %ld, %ld bytes each\n", messages, grown[0] / messages,
           grown[1] / messages, grown[2] / messages);
  mine[0] = failures;
  mine[1] = checks;
  MPI_Allreduce(mine, total, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  fflush(stdout);
  MPI_Finalize();
  return total[0] != 0 || total[1] == 0;
}
