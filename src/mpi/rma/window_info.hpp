// What the info object of a window asks of Hob.
#pragma once

#include <optional>
#include <string>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/cache/terms.hpp"

namespace hob::mpi {

/// What a window's info asks for, in the words of the setting `cache`; empty if it says nothing.
std::optional<std::string> cache_word(MPI_Info info);

/// The setting `batch` for a window: what its info asks for, or what is set for all. A word that is
/// not allowed counts as if it were not there.
std::string batch_word(MPI_Info info);

/// The mode of this name.
std::optional<Mode> parse_mode(const std::string& word);

/// What a window's info, else the setting, asks for. A word that names no mode ends the job with
/// status 2, as any other bad setting does.
struct AskedMode {
  std::string word;
  std::optional<Mode> mode;
};
AskedMode mode_for(MPI_Info info);

/// Says that a word is no mode.
void print_bad_mode(const std::string& word);

/// The same, and ends this process with status 2: where the processes do not ask each other. Most
/// likely all of them have the same to say.
[[noreturn]] void end_for_bad_mode(const std::string& word, int rank);

}  // namespace hob::mpi
