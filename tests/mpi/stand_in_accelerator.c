/* Stands in for the runtime of an accelerator and for an MPI library that was built for it,
 * preloaded behind Hob: "device memory" is mapped without access, so that whoever touches it with
 * the CPU ends with SIGSEGV. It answers the questions of CUDA, HIP and Level Zero; the environment
 * variable STAND_IN says which of them knows the memory. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BYTES = 1 << 20 };
static char* device;

static int in_device(const void* address) {
  const char* at = address;
  return device && at >= device && at < device + BYTES;
}

/* The library's get, which copies with the accelerator's own means. */
int PMPI_Get(void* buffer, int count, MPI_Datatype type, int target, MPI_Aint disp,
             int target_count, MPI_Datatype target_type, MPI_Win win) {
  static int (*next)(void*, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win);
  static int (*flush)(int, MPI_Win);
  if (!next) {
    *(void**)&next = dlsym(RTLD_NEXT, "PMPI_Get");
    *(void**)&flush = dlsym(RTLD_NEXT, "PMPI_Win_flush");
  }
  if (!in_device(buffer))
    return next(buffer, count, type, target, disp, target_count, target_type, win);
  static char staging[BYTES];
  int size = 0;
  MPI_Type_size(type, &size);
  int error = next(staging, count, type, target, disp, target_count, target_type, win);
  if (error == MPI_SUCCESS) error = flush(target, win);
  mprotect(device, BYTES, PROT_READ | PROT_WRITE);
  memcpy(buffer, staging, (size_t)count * (size_t)size);
  mprotect(device, BYTES, PROT_NONE);
  return error;
}

/* Its copy between device and host memory. */
int PMPI_Sendrecv(const void* from, int count, MPI_Datatype type, int to, int tag, void* into,
                  int into_count, MPI_Datatype into_type, int source, int into_tag, MPI_Comm comm,
                  MPI_Status* status) {
  static int (*next)(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int,
                     MPI_Comm, MPI_Status*);
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "PMPI_Sendrecv");
  const int opens = in_device(from) || in_device(into);
  if (opens) mprotect(device, BYTES, PROT_READ | PROT_WRITE);
  const int error =
      next(from, count, type, to, tag, into, into_count, into_type, source, into_tag, comm, status);
  if (opens) mprotect(device, BYTES, PROT_NONE);
  return error;
}

/* For the test program. */
void* stand_in_allocate(void) {
  if (!device) {
    device = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (device == MAP_FAILED) abort();
  }
  return device;
}

/* What the program would copy to the host to look at it, and back. */
int stand_in_word(int i) {
  int word = 0;
  mprotect(device, BYTES, PROT_READ);
  memcpy(&word, device + sizeof(int) * (size_t)i, sizeof word);
  mprotect(device, BYTES, PROT_NONE);
  return word;
}
void stand_in_set_word(int i, int word) {
  mprotect(device, BYTES, PROT_READ | PROT_WRITE);
  memcpy(device + sizeof(int) * (size_t)i, &word, sizeof word);
  mprotect(device, BYTES, PROT_NONE);
}

static int mine(const void* address, const char* runtime) {
  const char* chosen = getenv("STAND_IN");
  return chosen && strcmp(chosen, runtime) == 0 && in_device(address);
}

int cuPointerGetAttribute(void* data, int attribute, unsigned long long address) {
  if (attribute != 2 || !mine((void*)(uintptr_t)address, "cuda")) return 1;
  *(unsigned*)data = 2;
  return 0;
}

struct hip_attributes {
  int type, device;
  void *device_address, *host_address;
  int managed;
  unsigned flags;
};

int hipPointerGetAttributes(struct hip_attributes* attributes, const void* address) {
  if (!mine(address, "hip")) return 1;
  memset(attributes, 0, sizeof *attributes);
  attributes->type = 2;
  attributes->device_address = (void*)address;
  return 0;
}

int zeDriverGet(uint32_t* count, void** drivers) {
  if (*count > 1) *count = 1;
  if (drivers) drivers[0] = &device;
  return 0;
}

int zeContextCreate(void* driver, const void* description, void** context) {
  (void)description;
  *context = driver;
  return 0;
}

struct ze_properties {
  int structure;
  void* next;
  int type;
  uint64_t id, page;
};

int zeMemGetAllocProperties(void* context, const void* address, struct ze_properties* properties,
                            void** where) {
  (void)where;
  if (context != &device) return 1;
  properties->type = mine(address, "level_zero") ? 2 : 0;
  return 0;
}
