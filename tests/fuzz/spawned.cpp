#include "spawned.hpp"

#include "random.hpp"

namespace fuzz {

Birth birth_of(std::uint64_t seed, int parents, bool bare) {
  Random random(seed ^ 0xc01d);
  Birth birth;
  birth.children = 1 + random.below(2);
  birth.root = random.below(parents);
  birth.bare = bare;
  return birth;
}

Family::Family(const Birth& birth, char** argv, const std::vector<std::string>& more) {
  std::vector<std::string> words;
  // env(1) takes the variable away, however the children came to it.
  if (birth.bare) words = {"/usr/bin/env", "-u", "LD_PRELOAD"};
  for (char** word = argv; *word; ++word) words.emplace_back(*word);
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  MPI_Comm_spawn(arguments[0], arguments.data() + 1, birth.children, MPI_INFO_NULL, birth.root,
                 MPI_COMM_WORLD, &between_, MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(between_, 0, &all_);
}

Family::Family(MPI_Comm parent) : between_(parent) { MPI_Intercomm_merge(between_, 1, &all_); }

Family::~Family() {
  MPI_Comm_free(&all_);
  MPI_Comm_disconnect(&between_);
}

MPI_Comm parent() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_get_parent(&comm);
  return comm;
}

}  // namespace fuzz
