// Random legal two-sided programs. Every rank makes the same plan from the seed, carries out its
// part and checks all that MPI determines: contents, sizes, sources, tags, errors, and order where
// the plan leaves a choice.
//
//   p2p_fuzz [--seed N] [--programs N] [--first P] [--threads N] [--phases N] [--without a,b]
//            [--with a,b]
//
// A plan is a list of phases. In each, every pair (destination, communicator) has a style, which
// makes all legal matchings complete: exact receives, wildcard sources by tag, wildcard tags by
// source, wildcards only, or one stream that any kind of receive may take. For each pair either all
// receives or all sends are started before the rank that starts them blocks, so that no plan can
// deadlock. Where programs spawn, the children play the same part as the parents, over the merged
// communicator and the one between both.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ending.hpp"
#include "p2p_player.hpp"
#include "spawned.hpp"

namespace {

constexpr unsigned deadline = 120;
int program_number;

void on_alarm(int) {
  char text[128];
  int n = std::snprintf(text, sizeof text, "p2p_fuzz: rank %d: program %d missed its deadline\n",
                        p2p::rank, program_number);
  (void)!write(2, text, static_cast<std::size_t>(n));
  _exit(97);
}

struct Arguments {
  long seed = 1, programs = 20, first = 0;
  int phases = 6, threads = 1;
};

struct Totals {
  long messages = 0;
  std::uint64_t hash = 0;
};

void set_features(const std::string& names, bool value) {
  for (std::size_t at = 0; at <= names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    bool* feature = p2p::features.find(names.substr(at, end - at));
    if (!feature) {
      std::fprintf(stderr, "p2p_fuzz: unknown feature %s\n", names.substr(at, end - at).c_str());
      std::exit(2);
    }
    *feature = value;
    at = end + 1;
  }
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i];
    if (key == "--seed")
      arguments.seed = std::atol(argv[i + 1]);
    else if (key == "--programs")
      arguments.programs = std::atol(argv[i + 1]);
    else if (key == "--first")
      arguments.first = std::atol(argv[i + 1]);
    else if (key == "--phases")
      arguments.phases = std::atoi(argv[i + 1]);
    else if (key == "--threads")
      arguments.threads = std::atoi(argv[i + 1]);
    else if (key == "--without")
      set_features(argv[i + 1], false);
    else if (key == "--with")
      set_features(argv[i + 1], true);
  }
  return arguments;
}

/// Between the even and the odd ranks.
MPI_Comm make_inter() {
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, p2p::rank % 2, p2p::rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - p2p::rank % 2, 77, &inter);
  MPI_Comm_free(&half);
  return inter;
}

/// Everyone, with the communicators that outlive a program.
class Stage {
 public:
  /// Of the ranks of one world alone, or of a family.
  Stage(const Arguments& arguments, const fuzz::Family* family)
      : arguments_(arguments), own_(static_cast<std::size_t>(arguments.threads)) {
    p2p::everyone = family ? family->all() : MPI_COMM_WORLD;
    MPI_Comm_rank(p2p::everyone, &p2p::rank);
    MPI_Comm_size(p2p::everyone, &p2p::size);
    // Communicators inherit it. MPICH tells MPI_COMM_WORLD of what goes wrong in a wait.
    if (p2p::features.truncate) MPI_Comm_set_errhandler(p2p::everyone, MPI_ERRORS_RETURN);
    MPI_Comm_split(p2p::everyone, 0, -p2p::rank, &reversed_);
    for (auto& list : own_) {
      list.resize(2);
      MPI_Comm_dup(p2p::everyone, &list[0]);
      MPI_Comm_dup(reversed_, &list[1]);
      if (family) {
        list.resize(p2p::features.worlds ? 4 : 3);
        MPI_Comm_dup(family->between(), &list[2]);
        if (p2p::features.worlds) MPI_Comm_dup(MPI_COMM_WORLD, &list[3]);
      } else if (p2p::features.inter && p2p::size > 1) {
        list.push_back(make_inter());
      }
      if (p2p::features.truncate) MPI_Comm_set_errhandler(list[1], MPI_ERRORS_RETURN);
    }
  }
  ~Stage() {
    for (auto& list : own_) {
      for (MPI_Comm& comm : list) MPI_Comm_free(&comm);
    }
    MPI_Comm_free(&reversed_);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  void play(int number) {
    alarm(deadline);
    program_number = number;
    const int threads = arguments_.threads;
    MPI_Comm passing;
    MPI_Comm_dup(number % 2 ? reversed_ : p2p::everyone, &passing);
    std::vector<std::unique_ptr<p2p::Player>> players;
    // Every other program has tags beyond 32767, the highest that a library must offer.
    const int first_tag = number % 2 ? 1000000 : 0;
    for (int t = 0; t < threads; ++t) {
      std::vector<p2p::Communicator> comms;
      for (MPI_Comm comm : own_[static_cast<std::size_t>(t)]) comms.emplace_back(comm);
      const int shared_from = threads > 1 ? static_cast<int>(comms.size()) : 99;
      comms.emplace_back(threads > 1 ? p2p::everyone : passing);
      players.push_back(std::make_unique<p2p::Player>(
          static_cast<std::uint64_t>((arguments_.seed + number) * 1000 + t), std::move(comms),
          shared_from, first_tag + t * 100));
    }
    auto play = [&](int t) {
      try {
        players[static_cast<std::size_t>(t)]->play(arguments_.phases);
      } catch (const p2p::Failure& failure) {
        std::fprintf(stderr, "p2p_fuzz: rank %d, seed %ld, program %d, thread %d: %s\n", p2p::rank,
                     arguments_.seed, number, t, failure.what.c_str());
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    };
    if (threads == 1) {
      play(0);
    } else {
      std::vector<std::thread> running;
      for (int t = 0; t < threads; ++t) running.emplace_back(play, t);
      for (std::thread& thread : running) thread.join();
    }
    for (auto& player : players) {
      messages_ += player->messages();
      hash_ = hash_ * 31 + player->hash();
    }
    MPI_Comm_free(&passing);
  }

  /// What all ranks received, at the first of them. Collective.
  Totals totals() const {
    Totals all;
    MPI_Reduce(&messages_, &all.messages, 1, MPI_LONG, MPI_SUM, 0, p2p::everyone);
    MPI_Reduce(&hash_, &all.hash, 1, MPI_UINT64_T, MPI_SUM, 0, p2p::everyone);
    return all;
  }

 private:
  const Arguments& arguments_;
  MPI_Comm reversed_ = MPI_COMM_NULL;
  std::vector<std::vector<MPI_Comm>> own_;
  long messages_ = 0;
  std::uint64_t hash_ = 0;
};

/// Programs from `first` on, among everyone.
Totals play(const Arguments& arguments, const fuzz::Family* family, long first, long programs) {
  Stage stage(arguments, family);
  for (long p = first; p < first + programs; ++p) stage.play(static_cast<int>(p));
  return stage.totals();
}

/// Some programs with children that are spawned for them.
Totals play_with_children(const Arguments& arguments, char** argv, long first, long programs) {
  alarm(deadline);
  MPI_Comm_size(MPI_COMM_WORLD, &p2p::parents);
  const auto seed = static_cast<std::uint64_t>(arguments.seed + first);
  const fuzz::Family family(
      fuzz::birth_of(seed, p2p::parents, p2p::features.bare), argv,
      {"--first", std::to_string(first), "--programs", std::to_string(programs)});
  return play(arguments, &family, first, programs);
}

Totals play_all(const Arguments& arguments, char** argv) {
  const long first = arguments.first, programs = arguments.programs;
  if (p2p::features.spawn) return play_with_children(arguments, argv, first, programs);
  if (!p2p::features.respawn) return play(arguments, nullptr, first, programs);
  Totals sum;
  for (long p = first; p < first + programs; ++p) {
    const Totals one = play_with_children(arguments, argv, p, 1);
    sum.messages += one.messages;
    sum.hash = sum.hash * 31 + one.hash;
  }
  return sum;
}

/// The programs that this process was spawned for.
void play_as_child(const Arguments& arguments, MPI_Comm parent) {
  alarm(deadline);
  MPI_Comm_remote_size(parent, &p2p::parents);
  const fuzz::Family family(parent);
  play(arguments, &family, arguments.first, arguments.programs);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments = parse(argc, argv);
  int provided = 0;
  MPI_Init_thread(&argc, &argv, arguments.threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &provided);
  if (provided < MPI_THREAD_MULTIPLE) arguments.threads = 1;
  signal(SIGALRM, on_alarm);
  int buffer_bytes = 64 << 20;
  std::vector<char> bsend_buffer(static_cast<std::size_t>(buffer_bytes));
  MPI_Buffer_attach(bsend_buffer.data(), buffer_bytes);
  const auto all = [&] {
    if (const MPI_Comm parent = fuzz::parent(); parent != MPI_COMM_NULL) {
      play_as_child(arguments, parent);
    } else {
      const Totals sum = play_all(arguments, argv);
      if (p2p::rank == 0)
        std::printf("%ld programs, %ld messages, hash %016llx\n", arguments.programs, sum.messages,
                    static_cast<unsigned long long>(sum.hash));
    }
    void* detached;
    MPI_Buffer_detach(&detached, &buffer_bytes);
    MPI_Finalize();
    std::fflush(stdout);
  };
  if (p2p::features.atexit) fuzz::end_in(fuzz::Ending::kExitHandler, all);
  if (p2p::features.destructor) fuzz::end_in(fuzz::Ending::kDestructor, all);
  if (p2p::features.tls) fuzz::end_in(fuzz::Ending::kThreadLocal, all);
  all();
  return 0;
}
