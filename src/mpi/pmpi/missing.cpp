// What the MPI library of this program lacks must look missing. Hob is built for the newest library
// of its family and has every function of it; programs that run with older ones ask by weak
// references or dlsym whether a function is there (mpi4py's wheel does), and must not find Hob's.
// So, before the program starts, the symbols of such functions are taken out of Hob's table of
// symbols.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "mpi/pmpi/resolve.hpp"
#include "os/memory.hpp"

namespace hob::mpi {
namespace {

struct Symbols {
  ElfW(Sym) * table = nullptr;
  const char* names = nullptr;
  std::size_t count = 0;
  int protection = PROT_NONE;  // of the memory that the table is in
};

/// Of the segment that an address of this library is in.
int protection_of(const void* library, const void* address) {
  const auto* base = static_cast<const char*>(library);
  const auto* header = static_cast<const ElfW(Ehdr)*>(library);
  const auto* segment = reinterpret_cast<const ElfW(Phdr)*>(base + header->e_phoff);
  const auto offset = static_cast<ElfW(Addr)>(static_cast<const char*>(address) - base);
  for (int i = 0; i < header->e_phnum; ++i, ++segment) {
    if (segment->p_type != PT_LOAD || offset - segment->p_vaddr >= segment->p_memsz) continue;
    return ((segment->p_flags & PF_R) != 0 ? PROT_READ : 0) |
           ((segment->p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
           ((segment->p_flags & PF_X) != 0 ? PROT_EXEC : 0);
  }
  return PROT_NONE;
}

/// How many symbols the table has: one more than the highest in the chains of the hash table.
std::size_t count_in(const std::uint32_t* hash) {
  const std::uint32_t buckets = hash[0], first = hash[1], bloom = hash[2];
  const auto* bucket =
      reinterpret_cast<const std::uint32_t*>(reinterpret_cast<const ElfW(Addr)*>(hash + 4) + bloom);
  const std::uint32_t* chain = bucket + buckets;
  std::uint32_t last = *std::max_element(bucket, bucket + buckets);
  if (last < first) return first;
  while ((chain[last - first] & 1) == 0) ++last;
  return last + 1;
}

/// Hob's own table; empty if it is not as expected.
Symbols own_symbols() {
  static const char here = 0;
  Dl_info info{};
  link_map* own = nullptr;
  Symbols found;
  if (!dladdr1(&here, &info, reinterpret_cast<void**>(&own), RTLD_DL_LINKMAP) || !own) return {};
  for (const ElfW(Dyn)* entry = own->l_ld; entry->d_tag != DT_NULL; ++entry) {
    ElfW(Addr) address = entry->d_un.d_ptr;
    if (address < own->l_addr) address += own->l_addr;
    if (entry->d_tag == DT_SYMTAB) found.table = reinterpret_cast<ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) found.names = reinterpret_cast<const char*>(address);
    if (entry->d_tag == DT_GNU_HASH)
      found.count = count_in(reinterpret_cast<const std::uint32_t*>(address));
  }
  if (!found.table || !found.names) return {};
  found.protection = protection_of(info.dli_fbase, found.table);
  if (found.protection == PROT_NONE) return {};
  return found;
}

/// The loader passes over a symbol without a value.
void hide(ElfW(Sym) & symbol, int protection) {
  const auto page = os::page_bytes();
  const auto from = reinterpret_cast<std::uintptr_t>(&symbol) / page * page;
  const auto to = reinterpret_cast<std::uintptr_t>(&symbol + 1);
  void* start = reinterpret_cast<void*>(from);
  // There may be code in the same page, which other threads or this one run.
  if (mprotect(start, to - from, protection | PROT_WRITE) != 0) return;
  symbol.st_value = 0;
  mprotect(start, to - from, protection);
}

[[gnu::constructor]] void hide_missing() {
  if (!real::find("PMPI_Init")) return;  // the MPI library comes later, or never
  const Symbols symbols = own_symbols();
  for (std::size_t i = 0; i < symbols.count; ++i) {
    ElfW(Sym)& symbol = symbols.table[i];
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    const char* name = symbols.names + symbol.st_name;
    const bool profiling = std::strncmp(name, "PMPI", 4) == 0;
    if (!profiling && std::strncmp(name, "MPI", 3) != 0) continue;
    if (!real::find(profiling ? name : std::string("P").append(name).c_str()))
      hide(symbol, symbols.protection);
  }
}

}  // namespace
}  // namespace hob::mpi
