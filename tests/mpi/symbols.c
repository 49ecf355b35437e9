/* What the MPI library has and what it lacks looks the same to a program that asks, with Hob or
 * without: by dlsym, as here, or by weak references in what is loaded later. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  static const char* const names[] = {
      "MPI_Send",
      "MPI_Get",
      "MPI_Barrier_init",
      "MPI_Bcast_init",
      "MPI_Isendrecv",
      "MPI_Psend_init",
      "MPI_Session_init",
      "MPI_Send_c",
      "MPI_Get_c",
      "MPI_Comm_create_from_group",
      "MPI_Request_get_status_all",
      "MPI_Info_create_env",
      "PMPI_Send",
      "PMPI_Barrier_init",
      "PMPI_Isendrecv_replace_c",
      "MPI_Comm_attach_buffer",
  };
  Dl_info info;
  void* library = NULL;
  int rank, bad = 0, present = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  /* Hob has no function of this name. */
  void* known = dlsym(RTLD_DEFAULT, "MPI_Get_processor_name");
  if (known && dladdr(known, &info)) library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) {
    fprintf(stderr, "the MPI library is not found\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
    const int seen = dlsym(RTLD_DEFAULT, names[i]) != NULL;
    const int there = dlsym(library, names[i]) != NULL;
    present += there;
    if (seen != there) {
      bad++;
      fprintf(stderr, "%s: %s\n", names[i], there ? "hidden" : "seems to be there");
    }
  }
  if (present < 3) bad++;
  if (rank == 0) printf("%d functions of these, %d differ\n", present, bad);
  MPI_Finalize();
  return bad != 0;
}
