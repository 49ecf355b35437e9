// Random legal MPI RMA programs that check themselves. The program knows nothing of what may be
// loaded in front of MPI: whatever it prints must be the same with it and without.
//
//   mpiexec -n N rma_fuzz [--seed S] [--programs N] [--first P] [--ops N] [--events N] [--threads
//   N]
//                         [--only a,b | --without a,b] [--with a,b] [--verbose]
//
// Program P of seed S is the same whatever ran before it: --first P --programs 1 repeats it alone,
// and
// --events N only its begin.
// One line a rank at the end: the digest of everything that was read. Exit status 1 on a mismatch.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "callbacks.hpp"
#include "ending.hpp"
#include "generate.hpp"
#include "spawned.hpp"

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
    else if (key == "--with")
      set_features(arguments.options.features, value, true);
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

void play(const fuzz::Script& script, std::size_t from, std::size_t to, bool verbose,
          fuzz::World& world) {
  for (std::size_t i = from; i < to; ++i) {
    if (verbose) {
      std::printf("[%d] %s\n", world.rank, script[i].text.c_str());
      std::fflush(stdout);
    }
    script[i].run(world);
  }
}

/// What one rank read.
std::array<std::int64_t, 3> summary_of(const fuzz::World& world) {
  return {static_cast<std::int64_t>(world.digest.load()), world.checked_bytes.load(),
          world.failures.load()};
}

void say(int rank, const std::array<std::int64_t, 3>& summary) {
  std::printf("rank %d digest %016llx bytes %lld failures %lld\n", rank,
              static_cast<unsigned long long>(summary[0]), static_cast<long long>(summary[1]),
              static_cast<long long>(summary[2]));
  std::fflush(stdout);
}

/// Says what was read; how many failures all ranks had.
int end(fuzz::World& world, bool spawned) {
  const auto own = summary_of(world);
  if (!spawned) {
    say(world.rank, own);
  } else {
    // What children print need not be passed on before the launcher ends.
    std::vector<std::array<std::int64_t, 3>> all(static_cast<std::size_t>(world.size));
    MPI_Gather(own.data(), 3, MPI_INT64_T, all.data(), 3, MPI_INT64_T, 0, world.comm);
    for (int r = 0; world.rank == 0 && r < world.size; ++r)
      say(r, all[static_cast<std::size_t>(r)]);
  }
  int failures = world.failures;
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, world.comm);
  MPI_Comm_free(&world.comm);
  return failures;
}

/// Where the last program ends (Features), by the seed.
enum class Place { kMain, kFinalize, kExitHandler, kDestructor, kThreadLocal, kThreadEnd };

Place ending_of(const Arguments& arguments) {
  const fuzz::Features& on = arguments.options.features;
  std::vector<Place> places;
  if (on.finalize) places.push_back(Place::kFinalize);
  if (on.atexit) places.push_back(Place::kExitHandler);
  if (on.destructor) places.push_back(Place::kDestructor);
  if (on.tls) places.push_back(Place::kThreadLocal);
  if (on.thread_end && arguments.options.threads > 1) places.push_back(Place::kThreadEnd);
  return places.empty() ? Place::kMain : places[arguments.seed % places.size()];
}

/// Null where nobody is spawned.
std::unique_ptr<fuzz::Family> family_of(const Arguments& arguments, char** argv) {
  if (!arguments.options.features.spawn) return nullptr;
  if (const MPI_Comm parent = fuzz::parent(); parent != MPI_COMM_NULL)
    return std::make_unique<fuzz::Family>(parent);
  int parents = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &parents);
  const fuzz::Birth birth =
      fuzz::birth_of(arguments.seed, parents, arguments.options.features.bare);
  return std::make_unique<fuzz::Family>(birth, argv, std::vector<std::string>{});
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

  std::unique_ptr<fuzz::Family> family = family_of(arguments, argv);
  fuzz::World world;
  MPI_Comm_dup(family ? family->all() : MPI_COMM_WORLD, &world.comm);
  MPI_Comm_rank(world.comm, &world.rank);
  MPI_Comm_size(world.comm, &world.size);
  world.buffers.resize(static_cast<std::size_t>(fuzz::kSlots) * fuzz::kSlotBytes);
  const bool one_node = all_on_one_node(world.comm);

  const Place ending = ending_of(arguments);
  std::function<void()> rest;  // what is left for the end
  for (int p = arguments.first; p < arguments.first + arguments.programs; ++p) {
    const std::uint64_t seed = fuzz::mix(arguments.seed * 1000003 + static_cast<std::uint64_t>(p));
    fuzz::Generator generator(arguments.options, seed, world.rank, world.size, one_node);
    const fuzz::Script script = generator.run();
    world.program = p;
    world.program_seed = arguments.seed;
    world.requests.assign(static_cast<std::size_t>(generator.requests()), MPI_REQUEST_NULL);
    world.windows.clear();
    if (arguments.options.verbose && world.rank == 0) std::printf("program %d\n", p);
    const bool at_end = ending != Place::kMain && p + 1 == arguments.first + arguments.programs;
    const std::size_t before = at_end ? script.size() / 2 : script.size();
    play(script, 0, before, arguments.options.verbose, world);
    if (at_end)
      rest = [&, script, before] {
        play(script, before, script.size(), arguments.options.verbose, world);
      };
  }
  int failures = 0;
  const auto close = [&] {
    if (rest) rest();
    failures = end(world, family != nullptr);
    family.reset();
  };
  // After main, the status of the process is what it was to be: a failure ends it here.
  const auto close_after_main = [&] {
    close();
    MPI_Finalize();
    std::fflush(stdout);
    if (failures != 0) std::_Exit(1);
  };
  switch (rest ? ending : Place::kMain) {
    case Place::kMain:
      close();
      break;
    case Place::kFinalize:
      fuzz::in_finalize(close);
      break;
    case Place::kThreadEnd:
      fuzz::end_of_thread(close);
      break;
    case Place::kExitHandler:
      fuzz::end_in(fuzz::Ending::kExitHandler, close_after_main);
    case Place::kDestructor:
      fuzz::end_in(fuzz::Ending::kDestructor, close_after_main);
    case Place::kThreadLocal:
      fuzz::end_in(fuzz::Ending::kThreadLocal, close_after_main);
  }
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
