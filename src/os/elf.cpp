#include "os/elf.hpp"

#include <elf.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace hob::os {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#elif defined(__powerpc64__)
constexpr Elf64_Half kMachine = EM_PPC64;
#elif defined(__riscv)
constexpr Elf64_Half kMachine = EM_RISCV;
#endif

// Reads of a file at offsets that the file itself gives: every one of them may lie outside it.
class Reader {
 public:
  explicit Reader(const std::string& path) : file_(path, std::ios::binary) {}

  template <typename T>
  bool at(std::uint64_t offset, T& value) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(file_.read(reinterpret_cast<char*>(&value), sizeof value));
  }

  std::string text(std::uint64_t offset) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    std::string result;
    std::getline(file_, result, '\0');
    return result;
  }

 private:
  std::ifstream file_;
};

std::vector<std::string> split_path(const std::string& path, const std::string& origin) {
  std::vector<std::string> result;
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, ':');) {
    for (const std::string name : {"$ORIGIN", "${ORIGIN}"})
      for (auto at = part.find(name); at != std::string::npos; at = part.find(name))
        part.replace(at, name.size(), origin);
    if (!part.empty()) result.push_back(part);
  }
  return result;
}

// The dynamic section of a file.
struct Dynamic {
  bool dynamic = false, interpreted = false;
  std::vector<Elf64_Phdr> segments;
  std::vector<Elf64_Dyn> entries;

  // A table is named by its address in memory; its offset in the file follows from the segment. 0
  // if there is no such table.
  std::uint64_t table(Elf64_Sxword tag) const {
    for (const auto& entry : entries)
      if (entry.d_tag == tag)
        for (const auto& segment : segments)
          if (segment.p_type == PT_LOAD && entry.d_un.d_ptr >= segment.p_vaddr &&
              entry.d_un.d_ptr < segment.p_vaddr + segment.p_filesz)
            return entry.d_un.d_ptr - segment.p_vaddr + segment.p_offset;
    return 0;
  }
};

std::optional<Dynamic> read_dynamic(Reader& reader) {
  Elf64_Ehdr header;
  if (!reader.at(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachine)
    return std::nullopt;

  Dynamic result;
  result.segments.resize(header.e_phnum);
  for (std::size_t i = 0; i < result.segments.size(); ++i)
    if (!reader.at(header.e_phoff + i * header.e_phentsize, result.segments[i]))
      return std::nullopt;

  for (const auto& segment : result.segments) {
    if (segment.p_type == PT_INTERP) result.dynamic = result.interpreted = true;
    if (segment.p_type != PT_DYNAMIC) continue;
    result.dynamic = true;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= segment.p_filesz;
         at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      if (!reader.at(segment.p_offset + at, entry) || entry.d_tag == DT_NULL) break;
      result.entries.push_back(entry);
    }
  }
  return result;
}

std::uint32_t gnu_hash(const std::string& symbol) {
  std::uint32_t hash = 5381;
  for (const unsigned char c : symbol) hash = hash * 33 + c;
  return hash;
}

}  // namespace

bool defines(const std::string& path, const std::string& symbol) {
  Reader reader(path);
  const auto dynamic = read_dynamic(reader);
  if (!dynamic) return false;
  const auto strings = dynamic->table(DT_STRTAB), symbols = dynamic->table(DT_SYMTAB);
  const auto table = dynamic->table(DT_GNU_HASH);
  struct {
    std::uint32_t buckets, first, bloom_words, bloom_shift;
  } header;
  if (strings == 0 || symbols == 0 || table == 0 || !reader.at(table, header) ||
      header.buckets == 0)
    return false;
  const auto buckets = table + sizeof header + std::uint64_t{8} * header.bloom_words;
  const auto chains = buckets + std::uint64_t{4} * header.buckets;
  const auto hash = gnu_hash(symbol);
  std::uint32_t index = 0;
  if (!reader.at(buckets + std::uint64_t{4} * (hash % header.buckets), index) ||
      index < header.first)
    return false;
  for (std::uint32_t chained = 0;
       reader.at(chains + std::uint64_t{4} * (index - header.first), chained); ++index) {
    Elf64_Sym entry;
    if ((chained | 1) == (hash | 1) && reader.at(symbols + sizeof entry * index, entry) &&
        entry.st_shndx != SHN_UNDEF && reader.text(strings + entry.st_name) == symbol)
      return true;
    if (chained & 1) break;
  }
  return false;
}

bool uses(const std::string& path, const std::string& symbol) {
  Reader reader(path);
  const auto dynamic = read_dynamic(reader);
  Elf64_Ehdr header;
  if (!dynamic || !reader.at(0, header)) return false;
  const auto strings = dynamic->table(DT_STRTAB);
  for (unsigned i = 0; strings != 0 && i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!reader.at(header.e_shoff + std::uint64_t{i} * header.e_shentsize, section)) return false;
    if (section.sh_type != SHT_DYNSYM) continue;
    Elf64_Sym entry;
    for (std::uint64_t at = 0; at + sizeof entry <= section.sh_size; at += sizeof entry)
      if (reader.at(section.sh_offset + at, entry) && entry.st_shndx == SHN_UNDEF &&
          reader.text(strings + entry.st_name) == symbol)
        return true;
  }
  return false;
}

bool is_elf(const std::string& path) {
  char magic[SELFMAG];
  return Reader(path).at(0, magic) && std::memcmp(magic, ELFMAG, SELFMAG) == 0;
}

std::optional<ElfFile> read_elf(const std::string& path) {
  Reader reader(path);
  const auto dynamic = read_dynamic(reader);
  if (!dynamic) return std::nullopt;
  ElfFile result;
  result.dynamic = dynamic->dynamic;
  result.interpreted = dynamic->interpreted;
  const auto strings = dynamic->table(DT_STRTAB);
  if (strings == 0) return result;

  const std::string origin = std::filesystem::path(path).parent_path().string();
  for (const auto& entry : dynamic->entries) {
    const std::string text =
        entry.d_tag == DT_NEEDED || entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH
            ? reader.text(strings + entry.d_un.d_val)
            : "";
    if (entry.d_tag == DT_NEEDED) result.needed.push_back(text);
    if (entry.d_tag == DT_RPATH) result.rpath = split_path(text, origin);
    if (entry.d_tag == DT_RUNPATH) result.runpath = split_path(text, origin);
  }
  if (!result.runpath.empty()) result.rpath.clear();
  return result;
}

std::string script_interpreter(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || !line.starts_with("#!")) return {};
  std::istringstream words(line.substr(2));
  std::string interpreter, argument;
  words >> interpreter >> argument;
  // "#!/usr/bin/env python3": what env starts is what matters.
  if (std::filesystem::path(interpreter).filename() == "env" && !argument.empty() &&
      argument[0] != '-')
    return argument;
  return interpreter;
}

}  // namespace hob::os
