#include "mpi/rma/window_info.hpp"

#include <unistd.h>

#include <cctype>
#include <cstdio>

#include "mpi/core/context.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {
namespace {

std::optional<std::string> info_value(MPI_Info info, const char* key) {
  if (info == MPI_INFO_NULL) return {};
  char value[MPI_MAX_INFO_VAL + 1] = {};
  int flag = 0;
  real::Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
  if (!flag) return {};
  return std::string(value);
}

}  // namespace

std::optional<std::string> cache_word(MPI_Info info) {
  if (auto word = info_value(info, "hob_cache")) return word;
  for (auto key : {"CLAMPI_MODE", "clampi_mode"}) {
    auto word = info_value(info, key);
    if (!word) continue;
    // Its header's constants, as numbers.
    if (*word == "1") return "strict";
    if (*word == "2") return "always";
    if (*word == "3") return "user";
    std::string lower;
    for (char c : *word) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (lower.find("transparent") != std::string::npos) return "strict";
    if (lower.find("always") != std::string::npos) return "always";
    if (lower.find("user") != std::string::npos) return "user";
    return word;
  }
  return {};
}

std::string batch_word(MPI_Info info) {
  const auto asked = info_value(info, "hob_batch");
  settings::Settings window = context().settings;
  if (asked) window.set("batch", *asked, settings::Source::Environment);
  return window.batch;
}

std::optional<Mode> parse_mode(const std::string& word) {
  for (Mode mode : {Mode::automatic, Mode::strict, Mode::always, Mode::user, Mode::off})
    if (word == name_of(mode)) return mode;
  return {};
}

AskedMode mode_for(MPI_Info info) {
  const settings::Settings& process = context().settings;
  AskedMode asked{
      process.locked("cache") ? process.cache : cache_word(info).value_or(process.cache), {}};
  asked.mode = parse_mode(asked.word);
  return asked;
}

void print_bad_mode(const std::string& word) {
  std::fprintf(
      stderr,
      "hob: '%s' is not allowed for info key hob_cache: one of auto, strict, always, user, off\n",
      word.c_str());
  std::fflush(stderr);
}

void end_for_bad_mode(const std::string& word, int rank) {
  if (rank != 0) usleep(200000);
  print_bad_mode(word);
  _exit(2);
}

}  // namespace hob::mpi
