// What the dynamic linker would read from a program or shared library, without loading it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hob::os {

struct ElfFile {
  bool dynamic = false;      ///< has an interpreter or a dynamic section
  bool interpreted = false;  ///< has an interpreter (the dynamic linker): a program, not static
  std::vector<std::string> needed;   ///< DT_NEEDED, in order
  std::vector<std::string> rpath;    ///< DT_RPATH, $ORIGIN replaced; empty where RUNPATH is set
  std::vector<std::string> runpath;  ///< DT_RUNPATH, $ORIGIN replaced
};

/// Reads a 64-bit ELF file of this machine's kind. Nothing for any other file: a script, another
/// architecture, an unreadable or damaged one.
std::optional<ElfFile> read_elf(const std::string& path);

/// Whether the file defines (not merely uses) a dynamic symbol of this name, by its GNU hash table;
/// false for a file without one.
bool defines(const std::string& path, const std::string& symbol);

/// Whether the file uses, and does not define, a dynamic symbol of this name; false for a file
/// without a table of sections.
bool uses(const std::string& path, const std::string& symbol);

/// Whether the file is an ELF file of whatever machine.
bool is_elf(const std::string& path);

/// The interpreter that a "#!" script names on its first line; "" for any other file.
std::string script_interpreter(const std::string& path);

}  // namespace hob::os
