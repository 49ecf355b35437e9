// Random legal two-sided programs. Every rank makes the same plan from the seed, carries out its
// part and checks all that MPI determines: contents, sizes, sources, tags, errors, and order where
// the plan leaves a choice.
//
//   p2p_fuzz [--seed N] [--programs N] [--first P] [--threads N] [--phases N] [--without a,b]
//
// A plan is a list of phases. In each, every pair (destination, communicator) has a style, which
// makes all legal matchings complete: exact receives, wildcard sources by tag, wildcard tags by
// source, wildcards only, or one stream that any kind of receive may take. For each pair either all
// receives or all sends are started before the rank that starts them blocks, so that no plan can
// deadlock.
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

#include "p2p_player.hpp"

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

void leave_out(const std::string& names) {
  for (std::size_t at = 0; at <= names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    bool* feature = p2p::features.find(names.substr(at, end - at));
    if (!feature) {
      std::fprintf(stderr, "p2p_fuzz: unknown feature %s\n", names.substr(at, end - at).c_str());
      std::exit(2);
    }
    *feature = false;
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
      leave_out(argv[i + 1]);
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

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  const long seed = arguments.seed;
  int threads = arguments.threads, provided = 0;
  MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &p2p::rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p2p::size);
  if (threads > 1 && provided < MPI_THREAD_MULTIPLE) threads = 1;
  signal(SIGALRM, on_alarm);
  int buffer_bytes = 64 << 20;
  std::vector<char> bsend_buffer(static_cast<std::size_t>(buffer_bytes));
  MPI_Buffer_attach(bsend_buffer.data(), buffer_bytes);
  // Communicators inherit it. MPICH tells MPI_COMM_WORLD of what goes wrong in a wait.
  if (p2p::features.truncate) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);

  // Communicators that live on, and one for each program that comes and goes.
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -p2p::rank, &reversed);
  std::vector<std::vector<MPI_Comm>> own(static_cast<std::size_t>(threads));
  for (auto& list : own) {
    list.resize(2);
    MPI_Comm_dup(MPI_COMM_WORLD, &list[0]);
    MPI_Comm_dup(reversed, &list[1]);
    if (p2p::features.inter && p2p::size > 1) list.push_back(make_inter());
    if (p2p::features.truncate) MPI_Comm_set_errhandler(list[1], MPI_ERRORS_RETURN);
  }
  long messages = 0;
  std::uint64_t hash = 0;
  program_number = static_cast<int>(arguments.first);
  for (long p = 0; p < arguments.programs; ++p, ++program_number) {
    alarm(deadline);
    MPI_Comm passing;
    MPI_Comm_dup(program_number % 2 ? reversed : MPI_COMM_WORLD, &passing);
    std::vector<std::unique_ptr<p2p::Player>> players;
    // Every other program has tags beyond 32767, the highest that a library must offer.
    const int first_tag = program_number % 2 ? 1000000 : 0;
    for (int t = 0; t < threads; ++t) {
      std::vector<p2p::Communicator> comms;
      for (MPI_Comm comm : own[static_cast<std::size_t>(t)]) comms.emplace_back(comm);
      const int shared_from = threads > 1 ? static_cast<int>(comms.size()) : 99;
      comms.emplace_back(threads > 1 ? MPI_COMM_WORLD : passing);
      players.push_back(std::make_unique<p2p::Player>(
          static_cast<std::uint64_t>((seed + program_number) * 1000 + t), std::move(comms),
          shared_from, first_tag + t * 100));
    }
    auto play = [&](int t) {
      try {
        players[static_cast<std::size_t>(t)]->play(arguments.phases);
      } catch (const p2p::Failure& failure) {
        std::fprintf(stderr, "p2p_fuzz: rank %d, seed %ld, program %d, thread %d: %s\n", p2p::rank,
                     seed, program_number, t, failure.what.c_str());
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
      messages += player->messages();
      hash = hash * 31 + player->hash();
    }
    MPI_Comm_free(&passing);
  }
  std::uint64_t total_hash = 0;
  long total = 0;
  MPI_Reduce(&messages, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&hash, &total_hash, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (p2p::rank == 0) {
    std::printf("%ld programs, %ld messages, hash %016llx\n", arguments.programs, total,
                static_cast<unsigned long long>(total_hash));
  }
  void* detached;
  MPI_Buffer_detach(&detached, &buffer_bytes);
  for (auto& list : own) {
    for (MPI_Comm& comm : list) MPI_Comm_free(&comm);
  }
  MPI_Comm_free(&reversed);
  MPI_Finalize();
  return 0;
}
