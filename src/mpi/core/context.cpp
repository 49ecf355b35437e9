#include "mpi/core/context.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "base/lasting.hpp"
#include "base/log.hpp"

namespace hob::mpi {

Context& context() { return lasting<Context>(); }

void note(std::string sentence) {
  const std::lock_guard guard(context().lock_of_notes);
  auto& notes = context().notes;
  if (std::find(notes.begin(), notes.end(), sentence) != notes.end()) return;
  log::write(log::Level::info, sentence);
  notes.push_back(std::move(sentence));
}

std::vector<std::string> all_notes() {
  const std::lock_guard guard(context().lock_of_notes);
  return context().notes;
}

namespace {

/// What may be a part of a file's name.
std::string in_one_name(std::string text) {
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

/// "1234.0" under Slurm; other batch systems have no steps. The process id of rank 0 without one.
std::string job_name() {
  const char* step = std::getenv("SLURM_STEP_ID");
  for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "FLUX_JOB_ID"})
    if (const char* job = std::getenv(name); job && *job)
      return in_one_name(
          step && name == std::string_view("SLURM_JOB_ID") ? std::string(job) + "." + step : job);
  return std::to_string(context().first_pid);
}

/// What stands for a letter after '%'; "" for a letter that means nothing.
std::string meaning_of(char letter) {
  switch (letter) {
    case 'j':
      return job_name();
    case 'h':
      return context().host;
    case 'p':
      return std::to_string(context().first_pid);
    default:
      return letter == '%' ? "%" : "";
  }
}

}  // namespace

std::string output_path(const std::string& configured) {
  if (configured.empty()) return configured;
  std::string path;
  for (std::size_t i = 0; i < configured.size(); ++i) {
    const bool more = configured[i] == '%' && i + 1 < configured.size();
    const std::string meaning = more ? meaning_of(configured[i + 1]) : "";
    if (meaning.empty()) {
      path += configured[i];
      continue;
    }
    path += meaning;
    ++i;
  }
  return path + context().suffix;
}

int launcher_rank() {
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return -1;
}

void end_at_start() {
  std::fflush(stderr);
  if (launcher_rank() > 0) sleep(1);
  _exit(2);
}

}  // namespace hob::mpi
