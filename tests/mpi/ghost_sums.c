// Every predefined datatype with every operation that MPI allows for it, from all ranks to all
// targets at once, by accumulate, get_accumulate and fetch_and_op in turn. The results do not
// depend on the order, and are computed again with MPI_Reduce_local.
#include <complex.h>
#undef I
#include <stdbool.h>
#include <stdint.h>

#include "ghost_check.h"

enum { elements = 3, rounds = 3, cell = 128 };

typedef struct {
  float value;
  int index;
} float_int;
typedef struct {
  double value;
  int index;
} double_int;
typedef struct {
  long value;
  int index;
} long_int;
typedef struct {
  int value, index;
} two_int;
typedef struct {
  short value;
  int index;
} short_int;
typedef struct {
  long double value;
  int index;
} long_double_int;

// name, C type, MPI datatype, class
#define TYPES(X)                                                 \
  X(INT8, int8_t, MPI_INT8_T, integer)                           \
  X(INT16, int16_t, MPI_INT16_T, integer)                        \
  X(INT32, int32_t, MPI_INT32_T, integer)                        \
  X(INT64, int64_t, MPI_INT64_T, integer)                        \
  X(UINT8, uint8_t, MPI_UINT8_T, integer)                        \
  X(UINT16, uint16_t, MPI_UINT16_T, integer)                     \
  X(UINT32, uint32_t, MPI_UINT32_T, integer)                     \
  X(UINT64, uint64_t, MPI_UINT64_T, integer)                     \
  X(SCHAR, signed char, MPI_SIGNED_CHAR, integer)                \
  X(UCHAR, unsigned char, MPI_UNSIGNED_CHAR, integer)            \
  X(SHORT, short, MPI_SHORT, integer)                            \
  X(USHORT, unsigned short, MPI_UNSIGNED_SHORT, integer)         \
  X(INT, int, MPI_INT, integer)                                  \
  X(UNSIGNED, unsigned, MPI_UNSIGNED, integer)                   \
  X(LONG, long, MPI_LONG, integer)                               \
  X(ULONG, unsigned long, MPI_UNSIGNED_LONG, integer)            \
  X(LLONG, long long, MPI_LONG_LONG, integer)                    \
  X(ULLONG, unsigned long long, MPI_UNSIGNED_LONG_LONG, integer) \
  X(AINT, MPI_Aint, MPI_AINT, integer)                           \
  X(OFFSET, MPI_Offset, MPI_OFFSET, integer)                     \
  X(COUNT, MPI_Count, MPI_COUNT, integer)                        \
  X(FLOAT, float, MPI_FLOAT, real)                               \
  X(DOUBLE, double, MPI_DOUBLE, real)                            \
  X(LDOUBLE, long double, MPI_LONG_DOUBLE, real)                 \
  X(CFLOAT, float _Complex, MPI_C_FLOAT_COMPLEX, many)           \
  X(CDOUBLE, double _Complex, MPI_C_DOUBLE_COMPLEX, many)        \
  X(BOOL, bool, MPI_C_BOOL, logical)                             \
  X(BYTE, unsigned char, MPI_BYTE, bytes)                        \
  X(FLOAT_INT, float_int, MPI_FLOAT_INT, pair)                   \
  X(DOUBLE_INT, double_int, MPI_DOUBLE_INT, pair)                \
  X(LONG_INT, long_int, MPI_LONG_INT, pair)                      \
  X(TWO_INT, two_int, MPI_2INT, pair)                            \
  X(SHORT_INT, short_int, MPI_SHORT_INT, pair)                   \
  X(LDOUBLE_INT, long_double_int, MPI_LONG_DOUBLE_INT, pair)

enum { CLASS_integer, CLASS_real, CLASS_many, CLASS_logical, CLASS_bytes, CLASS_pair };

typedef struct {
  const char* name;
  MPI_Datatype type;
  int class;
  size_t size;
  void (*make)(void* place, int v, int r);
  int (*equal)(const void* a, const void* b);
} Type;

#define MAKE_integer(T) *(T*)place = (T)v
#define MAKE_real(T) *(T*)place = (T)v
#define MAKE_many(T) *(T*)place = (T)(v + (r % 2) * _Complex_I)
#define MAKE_logical(T) *(T*)place = v % 2 != 0
#define MAKE_bytes(T) *(T*)place = (T)(v * 37 + r)
#define MAKE_pair(T) ((T*)place)->value = v, ((T*)place)->index = r
#define EQUAL_integer(T) *(const T*)a == *(const T*)b
#define EQUAL_real(T) *(const T*)a == *(const T*)b
#define EQUAL_many(T) *(const T*)a == *(const T*)b
#define EQUAL_logical(T) *(const T*)a == *(const T*)b
#define EQUAL_bytes(T) *(const T*)a == *(const T*)b
#define EQUAL_pair(T) \
  ((const T*)a)->value == ((const T*)b)->value && ((const T*)a)->index == ((const T*)b)->index

#define DEFINE(name, T, mpi, kind)                     \
  static void make_##name(void* place, int v, int r) { \
    (void)r;                                           \
    MAKE_##kind(T);                                    \
  }                                                    \
  static int equal_##name(const void* a, const void* b) { return EQUAL_##kind(T); }
TYPES(DEFINE)

typedef struct {
  const char* name;
  MPI_Op op;
  unsigned classes;
} Operation;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
#define ROW(name, T, mpi, kind) {#name, mpi, CLASS_##kind, sizeof(T), make_##name, equal_##name},
  const Type types[] = {TYPES(ROW)};
  enum { I = 1 << CLASS_integer, R = 1 << CLASS_real, C = 1 << CLASS_many };
  enum { L = 1 << CLASS_logical, B = 1 << CLASS_bytes, P = 1 << CLASS_pair };
  const Operation operations[] = {
      {"sum", MPI_SUM, I | R | C}, {"prod", MPI_PROD, I | R | C}, {"min", MPI_MIN, I | R},
      {"max", MPI_MAX, I | R},     {"land", MPI_LAND, I | L},     {"lor", MPI_LOR, I | L},
      {"lxor", MPI_LXOR, I | L},   {"band", MPI_BAND, I | B},     {"bor", MPI_BOR, I | B},
      {"bxor", MPI_BXOR, I | B},   {"minloc", MPI_MINLOC, P},     {"maxloc", MPI_MAXLOC, P}};
  const int type_count = sizeof types / sizeof types[0];
  const int operation_count = sizeof operations / sizeof operations[0];

  char* base;
  MPI_Win win;
  const MPI_Aint total = (MPI_Aint)type_count * operation_count * cell;
  MPI_Win_allocate(total, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  memset(base, 0, (size_t)total);
  for (int t = 0; t < type_count; ++t)
    for (int o = 0; o < operation_count; ++o)
      for (int e = 0; e < elements; ++e)
        types[t].make(base + (t * operation_count + o) * cell + e * (int)types[t].size, 2 + e, 99);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);

  _Alignas(16) char mine[elements * 32], old[elements * 32];
  MPI_Win_lock_all(0, win);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < type_count; ++i) {
      const int t = (i + rank * 5) % type_count;  // not all in step
      for (int o = 0; o < operation_count; ++o) {
        if ((operations[o].classes & 1U << types[t].class) == 0) continue;
        memset(mine, 0, sizeof mine);
        for (int e = 0; e < elements; ++e)
          types[t].make(mine + e * (int)types[t].size, 1 + (rank + round + e) % 2, rank);
        const MPI_Aint at = (t * operation_count + o) * cell;
        for (int target = 0; target < size; ++target) {
          switch ((round + o) % 3) {
            case 0:
              MPI_Accumulate(mine, elements, types[t].type, target, at, elements, types[t].type,
                             operations[o].op, win);
              break;
            case 1:
              MPI_Get_accumulate(mine, elements, types[t].type, old, elements, types[t].type,
                                 target, at, elements, types[t].type, operations[o].op, win);
              break;
            default:
              for (int e = 0; e < elements; ++e)
                MPI_Fetch_and_op(mine + e * (int)types[t].size, old + e * (int)types[t].size,
                                 types[t].type, target, at + e * (MPI_Aint)types[t].size,
                                 operations[o].op, win);
          }
          MPI_Win_flush_local(target, win);
        }
      }
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);

  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  for (int t = 0; t < type_count; ++t) {
    for (int o = 0; o < operation_count; ++o) {
      if ((operations[o].classes & 1U << types[t].class) == 0) continue;
      for (int e = 0; e < elements; ++e) {
        _Alignas(16) char wanted[32] = {0}, one[32] = {0};
        types[t].make(wanted, 2 + e, 99);
        for (int r = 0; r < size; ++r) {
          for (int round = 0; round < rounds; ++round) {
            types[t].make(one, 1 + (r + round + e) % 2, r);
            MPI_Reduce_local(one, wanted, 1, types[t].type, operations[o].op);
          }
        }
        const char* got = base + (t * operation_count + o) * cell + e * (int)types[t].size;
        if (!types[t].equal(got, wanted)) {
          fprintf(stderr, "rank %d: %s of %s, element %d\n", rank, operations[o].name,
                  types[t].name, e);
          CHECK(!"the result is another");
        }
      }
    }
  }
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
  return check_finish();
}
