// Random legal MPI RMA programs that check themselves. The program knows nothing of what may be
// loaded in front of MPI: whatever it prints must be the same with it and without.
//
//   mpiexec -n N rma_fuzz [--seed S] [--programs N] [--first P] [--ops N] [--events N] [--threads
//   N]
//                         [--only a,b | --without a,b] [--verbose]
//
// Program P of seed S is the same whatever ran before it: --first P --programs 1 repeats it alone,
// and
// --events N only its begin.
// One line a rank at the end: the digest of everything that was read. Exit status 1 on a mismatch.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "generate.hpp"

namespace {

[[noreturn]] void usage(const char* complaint) {
  std::fprintf(stderr, "rma_fuzz: %s\nfeatures:", complaint);
  for (const std::string& name : fuzz::Features::names()) std::fprintf(stderr, " %s", name.c_str());
  std::fprintf(stderr, "\n");
  std::exit(2);
}

void set_features(fuzz::Features& features, const std::string& list, bool value) {
  std::size_t at = 0;
  while (at <= list.size()) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    bool* feature = features.find(list.substr(at, end - at));
    if (feature == nullptr) usage(("unknown feature " + list.substr(at, end - at)).c_str());
    *feature = value;
    at = end + 1;
  }
}

struct Arguments {
  unsigned long long seed = 1;
  int programs = 100;
  int first = 0;
  fuzz::Options options;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    if (key == "--verbose") {
      arguments.options.verbose = true;
      continue;
    }
    if (i + 1 >= argc) usage(("no value for " + key).c_str());
    const char* value = argv[++i];
    if (key == "--seed")
      arguments.seed = std::strtoull(value, nullptr, 0);
    else if (key == "--programs")
      arguments.programs = std::atoi(value);
    else if (key == "--first")
      arguments.first = std::atoi(value);
    else if (key == "--ops")
      arguments.options.operations = std::atoi(value);
    else if (key == "--events")
      arguments.options.events = std::atoi(value);
    else if (key == "--threads")
      arguments.options.threads = std::atoi(value);
    else if (key == "--without")
      set_features(arguments.options.features, value, false);
    else if (key == "--only") {
      arguments.options.features.clear();
      set_features(arguments.options.features, value, true);
    } else
      usage(("unknown option " + key).c_str());
  }
  return arguments;
}

bool all_on_one_node(MPI_Comm comm) {
  MPI_Comm node;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int here = 0;
  int all = 0;
  MPI_Comm_size(node, &here);
  MPI_Comm_size(comm, &all);
  MPI_Comm_free(&node);
  return here == all;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  int provided = 0;
  const int level = arguments.options.threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, level, &provided);
  if (provided < level) {
    std::printf("SKIP: MPI_THREAD_MULTIPLE is not provided\n");
    MPI_Finalize();
    return 77;
  }

  fuzz::World world;
  MPI_Comm_dup(MPI_COMM_WORLD, &world.comm);
  MPI_Comm_rank(world.comm, &world.rank);
  MPI_Comm_size(world.comm, &world.size);
  world.buffers.resize(static_cast<std::size_t>(fuzz::kSlots) * fuzz::kSlotBytes);
  const bool one_node = all_on_one_node(world.comm);

  for (int p = arguments.first; p < arguments.first + arguments.programs; ++p) {
    const std::uint64_t seed = fuzz::mix(arguments.seed * 1000003 + static_cast<std::uint64_t>(p));
    fuzz::Generator generator(arguments.options, seed, world.rank, world.size, one_node);
    const fuzz::Script script = generator.run();
    world.program = p;
    world.program_seed = arguments.seed;
    world.requests.assign(static_cast<std::size_t>(generator.requests()), MPI_REQUEST_NULL);
    world.windows.clear();
    if (arguments.options.verbose && world.rank == 0) std::printf("program %d\n", p);
    for (const fuzz::Action& action : script) {
      if (arguments.options.verbose) {
        std::printf("[%d] %s\n", world.rank, action.text.c_str());
        std::fflush(stdout);
      }
      action.run(world);
    }
  }

  std::printf("rank %d digest %016llx bytes %lld failures %d\n", world.rank,
              static_cast<unsigned long long>(world.digest.load()),
              static_cast<long long>(world.checked_bytes.load()), world.failures.load());
  std::fflush(stdout);
  int failures = world.failures;
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, world.comm);
  MPI_Comm_free(&world.comm);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
