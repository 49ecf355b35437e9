/* The calls with large counts, and datatypes made with them: the same gets as with the others. */
#include "rma_check.h"

enum { CELLS = 4096 };

static int last;
static int got[CELLS];

static void expect_cell(int place, int cell, const char* what) {
  expect(got[place] == last * 10000 + cell, "%s: element %d is %d, not cell %d", what, place,
         got[place], cell);
}

static void clear(void) { memset(got, 0xff, sizeof got); }

static void plain(MPI_Win win) {
  for (int round = 0; round < 3; ++round) {
    clear();
    MPI_Get_c(got, 100, MPI_INT, last, 7, 100, MPI_INT, win);
    MPI_Get_c(got + 200, 10, MPI_INT, last, 50, 10, MPI_INT, win); /* inside the first */
    MPI_Get(got + 300, 100, MPI_INT, last, 7, 100, MPI_INT, win);
    MPI_Win_flush(last, win);
    for (int i = 0; i < 100; ++i) expect_cell(i, 7 + i, "get_c");
    for (int i = 0; i < 10; ++i) expect_cell(200 + i, 50 + i, "get_c, inside");
    for (int i = 0; i < 100; ++i) expect_cell(300 + i, 7 + i, "get after get_c");
    MPI_Get_c(got, 150, MPI_INT, last, 7, 150, MPI_INT, win); /* longer */
    MPI_Win_flush(last, win);
    for (int i = 0; i < 150; ++i) expect_cell(i, 7 + i, "get_c, longer");
  }
}

static void with_requests(MPI_Win win) {
  for (int round = 0; round < 3; ++round) {
    MPI_Request requests[3];
    clear();
    MPI_Rget_c(got, 64, MPI_INT, last, 1000, 64, MPI_INT, win, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < 64; ++i) expect_cell(i, 1000 + i, "rget_c");
    clear();
    for (int i = 0; i < 3; ++i)
      MPI_Rget_c(got + 64 * i, 64, MPI_INT, last, 1000 + 64 * i, 64, MPI_INT, win, &requests[i]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 192; ++i) expect_cell(i, 1000 + i, "rget_c, several");
  }
}

static void atomically(MPI_Win win) {
  for (int round = 0; round < 3; ++round) {
    MPI_Request request;
    clear();
    MPI_Get_accumulate_c(NULL, 0, MPI_INT, got, 32, MPI_INT, last, 2000, 32, MPI_INT, MPI_NO_OP,
                         win);
    MPI_Win_flush(last, win);
    for (int i = 0; i < 32; ++i) expect_cell(i, 2000 + i, "get_accumulate_c");
    MPI_Rget_accumulate_c(NULL, 0, MPI_INT, got + 32, 32, MPI_INT, last, 2032, 32, MPI_INT,
                          MPI_NO_OP, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 32; ++i) expect_cell(32 + i, 2032 + i, "rget_accumulate_c");
  }
}

static void own_writes(MPI_Win win) {
  for (int round = 0; round < 3; ++round) {
    int value[4] = {0, -1, -2, -3};
    const int one[4] = {1, 1, 1, 1};
    MPI_Request request;
    value[0] = -10 * round;
    MPI_Get_c(got, 4, MPI_INT, last, 3000, 4, MPI_INT, win);
    MPI_Win_flush(last, win);
    MPI_Put_c(value, 4, MPI_INT, last, 3000, 4, MPI_INT, win);
    MPI_Win_flush(last, win);
    MPI_Get_c(got, 4, MPI_INT, last, 3000, 4, MPI_INT, win);
    MPI_Win_flush(last, win);
    for (int i = 0; i < 4; ++i) expect(got[i] == value[i], "put_c: %d, not %d", got[i], value[i]);
    MPI_Accumulate_c(one, 4, MPI_INT, last, 3000, 4, MPI_INT, MPI_SUM, win);
    MPI_Win_flush(last, win);
    MPI_Get_c(got, 4, MPI_INT, last, 3000, 4, MPI_INT, win);
    MPI_Win_flush(last, win);
    for (int i = 0; i < 4; ++i)
      expect(got[i] == value[i] + 1, "accumulate_c: %d, not %d", got[i], value[i] + 1);
    MPI_Rput_c(value, 4, MPI_INT, last, 3000, 4, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush(last, win);
    MPI_Get_c(got, 4, MPI_INT, last, 3000, 4, MPI_INT, win);
    MPI_Win_flush(last, win);
    for (int i = 0; i < 4; ++i) expect(got[i] == value[i], "rput_c: %d, not %d", got[i], value[i]);
    MPI_Raccumulate_c(one, 4, MPI_INT, last, 3000, 4, MPI_INT, MPI_SUM, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush(last, win);
    MPI_Get_c(got, 4, MPI_INT, last, 3000, 4, MPI_INT, win);
    MPI_Win_flush(last, win);
    for (int i = 0; i < 4; ++i)
      expect(got[i] == value[i] + 1, "raccumulate_c: %d, not %d", got[i], value[i] + 1);
  }
}

/* Cell `place[i]` is the i-th of the datatype. Got contiguously, spread, and after the handle was
 * freed and made anew; then again, from what was kept. */
static void typed(MPI_Win win, MPI_Datatype type, const int* place, int cells, const char* what) {
  MPI_Type_commit(&type);
  for (int round = 0; round < 2; ++round) {
    clear();
    MPI_Get_c(got, cells, MPI_INT, last, 300, 1, type, win);
    MPI_Win_flush(last, win);
    for (int i = 0; i < cells; ++i) expect_cell(i, 300 + place[i], what);
    clear();
    MPI_Get_c(got, 1, type, last, 500, cells, MPI_INT, win);
    MPI_Win_flush(last, win);
    for (int i = 0; i < cells; ++i) expect_cell(place[i], 500 + i, what);
    int holes = 0;
    for (int i = 0; i < CELLS; ++i) holes += got[i] == -1;
    expect(holes == CELLS - cells, "%s: %d elements were written, not %d", what, CELLS - holes,
           cells);
  }
  MPI_Type_free(&type);
}

static void datatypes(MPI_Win win) {
  MPI_Datatype type, inner;
  const int in_row[6] = {0, 1, 2, 3, 4, 5};
  MPI_Type_contiguous_c(6, MPI_INT, &type);
  typed(win, type, in_row, 6, "contiguous_c");
  const int vector[6] = {0, 1, 4, 5, 8, 9};
  MPI_Type_vector_c(3, 2, 4, MPI_INT, &type);
  typed(win, type, vector, 6, "vector_c");
  MPI_Type_create_hvector_c(3, 2, 16, MPI_INT, &type);
  typed(win, type, vector, 6, "hvector_c");
  const MPI_Count lengths[3] = {1, 3, 2}, places[3] = {9, 0, 5}, bytes[3] = {36, 0, 20};
  const int indexed[6] = {9, 0, 1, 2, 5, 6};
  MPI_Type_indexed_c(3, lengths, places, MPI_INT, &type);
  typed(win, type, indexed, 6, "indexed_c");
  MPI_Type_create_hindexed_c(3, lengths, bytes, MPI_INT, &type);
  typed(win, type, indexed, 6, "hindexed_c");
  const int blocks[6] = {9, 10, 0, 1, 5, 6};
  MPI_Type_create_indexed_block_c(3, 2, places, MPI_INT, &type);
  typed(win, type, blocks, 6, "indexed_block_c");
  MPI_Type_create_hindexed_block_c(3, 2, bytes, MPI_INT, &type);
  typed(win, type, blocks, 6, "hindexed_block_c");
  const MPI_Datatype members[3] = {MPI_INT, MPI_INT, MPI_INT};
  MPI_Type_create_struct_c(3, lengths, bytes, members, &type);
  typed(win, type, indexed, 6, "struct_c");
  const MPI_Count sizes[2] = {4, 5}, subsizes[2] = {2, 3}, starts[2] = {1, 2};
  const int rows[6] = {7, 8, 9, 12, 13, 14}, columns[6] = {9, 10, 13, 14, 17, 18};
  MPI_Type_create_subarray_c(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type);
  typed(win, type, rows, 6, "subarray_c");
  MPI_Type_create_subarray_c(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, &type);
  typed(win, type, columns, 6, "subarray_c, Fortran's order");
  MPI_Type_create_resized_c(MPI_INT, 0, 12, &inner);
  MPI_Type_contiguous_c(4, inner, &type);
  MPI_Type_free(&inner);
  const int thirds[4] = {0, 3, 6, 9};
  typed(win, type, thirds, 4, "resized_c");
}

/* More bytes than an int counts, in few blocks: the memory is never touched elsewhere. */
static void beyond_int(void) {
  const MPI_Aint bytes = (MPI_Aint)5 << 30;
  char* memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int have = memory != MAP_FAILED;
  MPI_Allreduce(MPI_IN_PLACE, &have, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!have) return;
  const MPI_Aint far = (MPI_Aint)1 << 30;
  memory[0] = (char)(my_rank + 1);
  memory[4 * far] = (char)(my_rank + 11);
  MPI_Win win;
  MPI_Win_create_c(memory, bytes, far, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Datatype both;
  MPI_Type_vector_c(2, 1, 4 * far, MPI_CHAR, &both);
  MPI_Type_commit(&both);
  MPI_Win_lock_all(0, win);
  for (int round = 0; round < 3 && my_rank == 0; ++round) {
    char pair[2] = {0, 0}, one = 0, two = 0;
    MPI_Get_c(&one, 1, MPI_CHAR, last, 0, 1, MPI_CHAR, win);
    MPI_Get_c(&two, 1, MPI_CHAR, last, 4, 1, MPI_CHAR, win);
    MPI_Get_c(pair, 2, MPI_CHAR, last, 0, 1, both, win);
    MPI_Win_flush(last, win);
    expect(one == last + 1 && two == last + 11, "unit of 1 GiB: %d and %d", one, two);
    expect(pair[0] == last + 1 && pair[1] == last + 11, "stride of 4 GiB: %d and %d", pair[0],
           pair[1]);
  }
  MPI_Win_unlock_all(win);
  MPI_Type_free(&both);
  MPI_Win_free(&win);
  munmap(memory, (size_t)bytes);
}

static void everything(MPI_Win win, int* memory) {
  for (int i = 0; i < CELLS; ++i) memory[i] = my_rank * 10000 + i;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, win);
  MPI_Win_unlock(my_rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (my_rank == 0) {
    MPI_Win_lock_all(0, win);
    plain(win);
    with_requests(win);
    atomically(win);
    datatypes(win);
    own_writes(win);
    MPI_Win_unlock_all(win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  last = ranks - 1;
  static int memory[CELLS];
  int* base;
  MPI_Win win;
  MPI_Win_create_c(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  everything(win, memory);
  MPI_Win_free(&win);
  MPI_Win_allocate_c(sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  everything(win, base);
  MPI_Win_free(&win);
  if (argc < 2 || strcmp(argv[1], "--small") != 0) beyond_int();
  return finish();
}
