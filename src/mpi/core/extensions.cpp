#include "mpi/core/extensions.hpp"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/resolve.hpp"

namespace hob::mpi {

bool belongs_to_threads([[maybe_unused]] MPI_Comm comm) {
#if HOB_HAS_X_COMM_GET_STREAM && HOB_HAS_X_COMM_TEST_THREADCOMM
  static const bool has_streams = real::find("PMPIX_Comm_get_stream") != nullptr;
  static const bool has_threads = real::find("PMPIX_Comm_test_threadcomm") != nullptr;
  MPIX_Stream stream = MPIX_STREAM_NULL;
  int flag = 0;
  if (has_streams) real::X_Comm_get_stream(comm, 0, &stream);
  if (has_threads) real::X_Comm_test_threadcomm(comm, &flag);
  return stream != MPIX_STREAM_NULL || flag != 0;
#else
  return false;
#endif
}

bool survives_failures() {
  static const bool yes = [] {
    const char* set = std::getenv("OMPI_MCA_mpi_ft_enable");
    return set && (std::strcmp(set, "1") == 0 || std::strcmp(set, "true") == 0);
  }();
  return yes;
}

namespace {

struct Search {
  const char* part;
  bool found;
};

/// An address in an object's dynamic section, which not every loader has relocated.
template <class T>
const T* at(const dl_phdr_info& info, ElfW(Addr) address) {
  return reinterpret_cast<const T*>(address < info.dlpi_addr ? address + info.dlpi_addr : address);
}

/// What an object lacks comes first in its table of symbols, before what the hash table finds.
bool lacks(const dl_phdr_info& info, const ElfW(Dyn) * entry, const char* part) {
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  std::uint32_t count = 0;
  for (; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SYMTAB) symbols = at<ElfW(Sym)>(info, entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) names = at<char>(info, entry->d_un.d_ptr);
    if (entry->d_tag == DT_GNU_HASH) count = at<std::uint32_t>(info, entry->d_un.d_ptr)[1];
    if (entry->d_tag == DT_HASH && count == 0)
      count = at<std::uint32_t>(info, entry->d_un.d_ptr)[1];
  }
  if (!symbols || !names) return false;
  for (std::uint32_t i = 1; i < count; ++i)
    if (symbols[i].st_shndx == SHN_UNDEF && strcasestr(names + symbols[i].st_name, part))
      return true;
  return false;
}

int look_into(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const char* name = info->dlpi_name ? info->dlpi_name : "";
  if (std::strstr(name, "libmpi") || std::strstr(name, "libhob_") || std::strstr(name, "vdso"))
    return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      search.found |= lacks(*info, at<ElfW(Dyn)>(*info, info->dlpi_phdr[i].p_vaddr), search.part);
  return search.found;
}

}  // namespace

bool program_refers_to(const char* part) {
  Search search{part, false};
  dl_iterate_phdr(look_into, &search);
  return search.found;
}

}  // namespace hob::mpi
