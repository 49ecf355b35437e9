#include "mpi/core/context.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "base/log.hpp"

namespace hob::mpi {

Context& context() {
  static auto* const process = new Context;  // never destroyed: programs may use MPI in destructors
  return *process;
}

namespace {

std::mutex& lock_of_notes() {
  static auto* const lock = new std::mutex;
  return *lock;
}

}  // namespace

void note(std::string sentence) {
  const std::lock_guard guard(lock_of_notes());
  auto& notes = context().notes;
  if (std::find(notes.begin(), notes.end(), sentence) != notes.end()) return;
  log::write(log::Level::info, sentence);
  notes.push_back(std::move(sentence));
}

std::vector<std::string> all_notes() {
  const std::lock_guard guard(lock_of_notes());
  return context().notes;
}

std::string output_path(const std::string& configured) {
  return configured.empty() ? configured : configured + context().suffix;
}

int launcher_rank() {
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return -1;
}

}  // namespace hob::mpi
