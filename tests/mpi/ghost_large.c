// The calls with large counts: the same as the others, names aside. All ranks to their right
// neighbour.
#include "ghost_check.h"

enum { n = 3000 };

static int rank, size, right, left;

static void operations(MPI_Win win, long* base) {
  long out[n], in[n], result[n];
  for (int i = 0; i < n; ++i) out[i] = 10000L * rank + i, base[i] = -1;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  MPI_Put_c(out, n, MPI_LONG, right, 0, n, MPI_LONG, win);
  MPI_Win_flush(right, win);
  memset(in, 0, sizeof in);
  MPI_Get_c(in, n, MPI_LONG, right, 0, n, MPI_LONG, win);
  MPI_Win_flush(right, win);
  CHECK(memcmp(in, out, sizeof in) == 0);
  MPI_Accumulate_c(out, n, MPI_LONG, right, 0, n, MPI_LONG, MPI_SUM, win);
  MPI_Get_accumulate_c(out, n, MPI_LONG, result, n, MPI_LONG, right, 0, n, MPI_LONG, MPI_SUM, win);
  MPI_Win_flush(right, win);
  for (int i = 0; i < n; ++i) CHECK(result[i] == 2 * out[i]);
  MPI_Request requests[4];
  MPI_Rget_c(in, n, MPI_LONG, right, 0, n, MPI_LONG, win, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  for (int i = 0; i < n; ++i) CHECK(in[i] == 3 * out[i]);
  MPI_Rput_c(out, n, MPI_LONG, right, 0, n, MPI_LONG, win, &requests[0]);
  MPI_Rput_c(out, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Win_flush(right, win);
  MPI_Raccumulate_c(out, n, MPI_LONG, right, 0, n, MPI_LONG, MPI_SUM, win, &requests[0]);
  MPI_Rget_accumulate_c(out, n, MPI_LONG, result, n, MPI_LONG, right, 0, n, MPI_LONG, MPI_NO_OP,
                        win, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < n; ++i) CHECK(result[i] == 2 * out[i]);
  // Noncontiguous, described with large counts.
  MPI_Datatype third;
  MPI_Type_vector_c(n / 3, 1, 3, MPI_LONG, &third);
  MPI_Type_commit(&third);
  memset(in, 0, sizeof in);
  MPI_Win_flush(right, win);
  MPI_Get_c(in, n / 3, MPI_LONG, right, 0, 1, third, win);
  MPI_Win_flush(right, win);
  for (int i = 0; i < n / 3; ++i) CHECK(in[i] == 2 * out[3 * i]);
  MPI_Type_free(&third);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  for (int i = 0; i < n; ++i) CHECK(base[i] == 2 * (10000L * left + i));
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  // Ranks are the program's, in two-sided calls, too.
  long token = rank, got = -1;
  MPI_Request request;
  MPI_Irecv_c(&got, 1, MPI_LONG, left, 4, MPI_COMM_WORLD, &request);
  MPI_Send_c(&token, 1, MPI_LONG, right, 4, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(got == left);
  long sum = 0;
  MPI_Allreduce_c(&token, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == (long)size * (size - 1) / 2);

  long* base;
  MPI_Win win;
  MPI_Win_allocate_c(n * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  operations(win, base);
  MPI_Aint bytes, unit;
  void* mine;
  MPI_Win_shared_query_c(win, rank, &bytes, &unit, &mine);
  CHECK(bytes == n * (MPI_Aint)sizeof(long) && unit == sizeof(long) && mine == (void*)base);
  MPI_Win_free(&win);
  base = malloc(n * sizeof(long));
  MPI_Win_create_c(base, n * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  operations(win, base);
  MPI_Win_free(&win);
  free(base);
  return check_finish();
}
