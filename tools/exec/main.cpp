// hob-exec: starts a program with Hob loaded in front of its MPI library. Runs once per rank, so it
// is small, starts no Python, and only its first rank speaks.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/launch.hpp"
#include "base/programs.hpp"
#include "mpi_use.hpp"
#include "settings/settings.hpp"

extern char** environ;

namespace hob::exec {
namespace {

namespace fs = std::filesystem;

constexpr int kUsageError = 2;

constexpr const char* kExamples = R"(
Examples:
  mpiexec -n 4 hob exec ./app                      cached gets, deep queues: all by default
  mpiexec -n 4 hob exec --json out.json ./app      and every counter into out.json (hob report)
  mpiexec -n 5 hob exec --ghosts 1 ./app           4 ranks for the program, 1 works for them
  srun hob exec --set cache_size=256M ./app input  any setting of `hob config`
  mpiexec -n 4 hob exec --mpi mpich python app.py  a program that loads MPI while it runs
  mpiexec -n 4 hob exec taskset -c 0-3 ./app       a program that another one starts
)";

// The rank that the launcher gave this process; 0 where there is no launcher.
int launch_rank() {
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return 0;
}

[[noreturn]] void fail(const std::string& message, int status = kUsageError) {
  if (launch_rank() == 0)
    std::fprintf(stderr, "hob: %s\n", message.c_str());
  else
    sleep(1);  // launchers end a job at the first process that ends, and rank 0 is to be heard
  std::exit(status);
}

std::string dump_settings() {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& row : settings::table()) {
    auto promises = nlohmann::ordered_json::array();
    for (const auto& promise : settings::promises())
      if (promise.key == row.key) promises.push_back(promise.value);
    rows.push_back({{"key", row.key},
                    {"type", settings::name_of(row.type)},
                    {"default", row.fallback},
                    {"allowed", row.allowed},
                    {"promises", std::move(promises)},
                    {"help", row.help},
                    {"environment", settings::environment_name(row.key)}});
  }
  return rows.dump(1);
}

// The directory of the libhob_*.so: lib/ beside bin/ in a build directory, lib/hob/ when installed.
std::string own_library_directory() {
  const auto prefix = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  for (const auto* lib : {"lib/hob", "lib64/hob", "lib"})
    for (const auto* family : {"mpich", "openmpi", "abi"})
      if (fs::exists(prefix / lib / ("libhob_" + std::string(family) + ".so")))
        return (prefix / lib).string();
  return (prefix / "lib/hob").string();
}

// HOB_LIBDIR, unless a module file set it to the lib/ of this installation, or to nothing that is
// there.
std::string library_directory() {
  const auto own = own_library_directory();
  const char* named = std::getenv("HOB_LIBDIR");
  std::error_code error;
  if (!named || !fs::is_directory(named, error)) return own;
  const auto inside = fs::relative(fs::canonical(own, error), fs::canonical(named), error);
  return inside.empty() || *inside.begin() == ".." ? named : own;
}

std::string hob_library(const std::string& family) {
  return library_directory() + "/libhob_" + family + ".so";
}

// The settings that hold here, mistakes left out.
settings::Settings settings_here() {
  settings::Settings here;
  here.load(environ);
  return here;
}

// The site's file that turns Hob off for its users; "" where none does.
std::string site_turns_off(const settings::Settings& here = settings_here()) {
  return here.off && here.source("off") == settings::Source::Site ? here.site() : "";
}

// What the site's file says and no user has changed, and what none may; {} where there is none.
nlohmann::ordered_json describe_site(const settings::Settings& here) {
  if (here.site().empty()) return nlohmann::ordered_json::object();
  auto said = nlohmann::ordered_json::object();
  for (const auto& row : settings::table())
    if (const bool locked = here.locked(row.key);
        locked || here.source(row.key) == settings::Source::Site)
      said[std::string(row.key)] = {{"value", here.value(row.key)}, {"locked", locked}};
  return {{"file", here.site()}, {"settings", std::move(said)}};
}

// Settings given on the command line become environment variables of the program.
void apply_settings(const std::vector<std::pair<std::string, std::string>>& given) {
  settings::Settings check;
  for (const auto& [key, value] : given) {
    if (auto error = check.set(key, value, settings::Source::Environment); !error.empty())
      fail(error);
    setenv(settings::environment_name(key).c_str(), value.c_str(), 1);
  }
  const auto errors = check.load(environ);
  if (errors.empty()) return;
  std::string message = errors[0];
  for (std::size_t i = 1; i < errors.size(); ++i) message += "\nhob: " + errors[i];
  fail(message);
}

// What LD_PRELOAD names already, as (name, path); the path is "" where it is not found.
std::vector<std::pair<std::string, std::string>> preloaded() {
  std::vector<std::pair<std::string, std::string>> result;
  const char* value = std::getenv("LD_PRELOAD");
  std::string names = value ? value : "";
  std::replace(names.begin(), names.end(), ':', ' ');
  const LibraryFinder finder;
  std::istringstream words(names);
  for (std::string name; words >> name;) result.emplace_back(name, finder.find(name, {}, {}));
  return result;
}

// Sanitizers' runtimes are first of all, and end the program where they are not. What the user
// preloads himself keeps its place in front of the rest: allocators and other interposers may want
// to be first, too. PMPI tools go in front of Hob as well: their PMPI_ calls then come to Hob,
// which serves both names; behind it nothing would call them. Only MPI libraries, and what is not
// found, which may be one, go behind.
void preload(const std::string& hob, const MpiUse& use) {
  std::vector<std::string> first = use.sanitizers, before, behind;
  const std::string late = use.late ? use.library : "";
  for (const auto& [name, path] : preloaded()) {
    if (is_sanitizer(name))
      first.push_back(name);
    else if (fs::path(name).filename().string().starts_with("libhob_") ||
             name == variable(kLateVariable))
      continue;  // of another launch, which this one is inside of
    else
      (!path.empty() && !is_mpi(path) ? before : behind).push_back(name);
  }
  before.insert(before.end(), use.tools.begin(), use.tools.end());
  if (!hob.empty()) before.push_back(hob);
  // A library loaded late would come in front of Hob's, so it is loaded now, behind it.
  if (!late.empty()) before.push_back(late);
  std::string value;
  for (const auto* names : {&first, &before, &behind})
    for (const auto& name : *names)
      if ((":" + value + ":").find(":" + name + ":") == std::string::npos)
        value += (value.empty() ? "" : ":") + name;
  if (value.empty())
    unsetenv("LD_PRELOAD");
  else
    setenv("LD_PRELOAD", value.c_str(), 1);
}

struct Options {
  std::vector<std::string> set;
  std::string cache, ghosts, match, json, trace, verify, mpi;
  bool quiet = false, no_command = false, off = false, which = false, dump = false, version = false;
};

std::vector<std::pair<std::string, std::string>> settings_of(const Options& options) {
  std::vector<std::pair<std::string, std::string>> result;
  const std::pair<const char*, const std::string*> named[] = {{"cache", &options.cache},
                                                              {"ghosts", &options.ghosts},
                                                              {"match", &options.match},
                                                              {"trace", &options.trace},
                                                              {"verify", &options.verify}};
  for (const auto& [key, value] : named)
    if (!value->empty()) result.emplace_back(key, *value);
  // Ranks may run in another directory than this command.
  if (!options.json.empty()) result.emplace_back("json", fs::absolute(options.json).string());
  if (options.quiet) result.emplace_back("report", "silent");
  if (options.no_command) result.emplace_back("json_command", "off");
  for (const auto& item : options.set) {
    const auto equals = item.find('=');
    if (equals == std::string::npos) fail("--set " + item + ": not of the form key=value");
    result.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
  return result;
}

// Options that do nothing beside others are said once: whoever gave them expects something of them.
void say_what_has_no_effect(const Options& options) {
  const std::pair<const char*, bool> given[] = {
      {"--set", !options.set.empty()},       {"--cache", !options.cache.empty()},
      {"--ghosts", !options.ghosts.empty()}, {"--match", !options.match.empty()},
      {"--json", !options.json.empty()},     {"--trace", !options.trace.empty()},
      {"--verify", !options.verify.empty()}};
  std::string words;
  if (options.off) {
    for (const auto& [name, is_given] : given)
      if (is_given) words += (words.empty() ? "" : ", ") + std::string(name);
    if (!words.empty()) words += " has no effect: --off loads nothing";
  } else if (options.cache == "off" && !options.verify.empty()) {
    words = "--verify has no effect: with --cache off there are no hits to compare";
  }
  if (!words.empty() && launch_rank() == 0) std::fprintf(stderr, "hob: %s\n", words.c_str());
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("--set", options.set,
                 "A setting, as key=value; may be repeated (`hob config` lists them)")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  app.add_option("--cache", options.cache,
                 "When cached gets may be reused: auto, strict, always, user, off")
      ->type_name("MODE");
  app.add_option("--ghosts", options.ghosts,
                 "Ranks of each node that work for the others instead of the program")
      ->type_name("N");
  app.add_option("--match", options.match, "Who matches messages: auto, always (Hob), off (MPI)")
      ->type_name("MODE");
  app.add_option("--json", options.json, "Write every counter to this file, for `hob report`")
      ->type_name("FILE");
  app.add_option("--trace", options.trace,
                 "Record the gets of each rank in this directory, for `hob replay`")
      ->type_name("DIR");
  app.add_option("--verify", options.verify, "Fetch this share of hits (0 to 1) again and compare")
      ->type_name("SHARE");
  app.add_flag("--quiet", options.quiet, "Print no summary at the end");
  app.add_flag("--no-command", options.no_command,
               "Leave the program's command line out of the file of --json");
  app.add_flag("--off", options.off, "Run the program without Hob: nothing is loaded");
  app.add_option("--mpi", options.mpi,
                 "The MPI of a program that loads it while it runs: mpich, openmpi, abi, or its "
                 "libmpi's path")
      ->type_name("WHICH");
  app.add_flag("--which", options.which,
               "Print which MPI and which build of Hob would be used; start nothing");
  app.add_flag("--dump-settings", options.dump, "Print the settings table as JSON");
  app.add_flag("-V,--version", options.version, "Print which Hob this is");
}

class Formatter : public CLI::Formatter {
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: LAUNCHER hob exec [OPTIONS] PROGRAM [ARGUMENTS...]\n";
  }
};

nlohmann::ordered_json describe(const MpiUse& use, const std::string& program,
                                const settings::Settings& here) {
  const auto hob = use.family.empty() ? "" : hob_library(use.family);
  return {{"program", program},
          {"family", use.family},
          {"mpi", use.library},
          {"late", use.late},
          {"tools", use.tools},
          {"why", use.why},
          {"wrapper", use.wrapper},
          {"refused", use.refused},
          {"hob", fs::exists(hob) ? hob : ""},
          {"off", site_turns_off(here)},
          {"site", describe_site(here)}};
}

// For a program that is no MPI program, and for one that may start others: Hob's library looks in
// each program that has it whether it is the right choice, and if not, starts it again through
// here.
void tell_what_it_starts(const MpiUse& use, const std::string& program, const std::string& wanted) {
  std::error_code error;
  const auto put = [](const char* name, const std::string& value) {
    if (value.empty())
      unsetenv(name);
    else
      setenv(name, value.c_str(), 1);
  };
  const bool may_start_others = use.late || use.wrapper;
  put(kStarterVariable, may_start_others ? fs::read_symlink("/proc/self/exe").string() : "");
  put(kChosenVariable, may_start_others
                           ? std::to_string(getpid()) + " " + fs::canonical(program, error).string()
                           : "");
  put(kLateVariable, use.late ? use.library : "");
  put(kWantedVariable, may_start_others ? wanted : "");
}

// The family whose Hob is loaded where it is not known which one will fit: one that was built.
std::string any_family() {
  for (const auto* family : {"mpich", "openmpi", "abi"})
    if (fs::exists(hob_library(family))) return family;
  return "mpich";
}

// What to do where a family's library is missing.
std::string how_to_build() {
  const auto prefix = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  const auto source = prefix.parent_path().parent_path();
  if (fs::exists(prefix / "CMakeCache.txt") && fs::exists(source / "Makefile"))
    return "run `make` in " + source.string();
  return "install Hob with a build for it: cmake -B build -DHOB_MPICC=/path/to/its/mpicc "
         "(docs/cluster.md)";
}

// Why Hob cannot be loaded; "" if it can.
std::string why_not_loaded(const MpiUse& use) {
  if (use.family.empty()) return use.why;
  const auto hob = hob_library(use.family);
  if (!fs::exists(hob))
    return use.why + " (" + use.family + "), and Hob was not built for that MPI: " + hob +
           " does not exist; " + how_to_build();
  if (hob.find_first_of(": ") != std::string::npos)
    return "the dynamic linker cannot load a library whose path has a space or a colon: " + hob;
  return {};
}

void load_hob(MpiUse use, const std::string& program, const std::string& wanted) {
  if (use.wrapper && (use.family.empty() || !fs::exists(hob_library(use.family))))
    use.family = any_family();
  if (const auto why = why_not_loaded(use); !why.empty()) fail(why);
  preload(hob_library(use.family), use);
  tell_what_it_starts(use, program, wanted);
}

[[noreturn]] void start(const std::string& program, std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (auto& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  if (errno == ENOEXEC) {  // a script without "#!": the shell runs it, as execvp would
    arguments[0] = const_cast<char*>(program.c_str());
    arguments.insert(arguments.begin(), const_cast<char*>("sh"));
    execv("/bin/sh", arguments.data());
  }
  fail(program + ": " + std::strerror(errno), 126);
}

// hob-exec --again PROGRAM WORDS...: from Hob's library, in a program that a wrapper has started.
// Never a reason not to start it.
[[noreturn]] void start_again(const std::string& program, std::vector<std::string> command) {
  const auto wanted = variable(kWantedVariable);
  MpiUse use = find_mpi_again(program, wanted);
  const auto why = why_not_loaded(use);
  const bool is_mpi_program = use.refused || (!use.family.empty() && !use.late);
  if (!why.empty() && is_mpi_program) {
    if (launch_rank() == 0) std::fprintf(stderr, "hob: without Hob: %s\n", why.c_str());
    preload("", {});
    tell_what_it_starts({}, program, wanted);
    start(program, command);
  }
  if (!why.empty()) {
    use = {};
    use.wrapper = true;
    use.family = any_family();
  }
  preload(hob_library(use.family), use);
  tell_what_it_starts(use, program, wanted);
  start(program, command);
}

int run(int argc, char** argv) {
  CLI::App app(
      "Starts an MPI program with Hob in front of its MPI library; the program is not changed.",
      "hob exec");
  app.formatter(std::make_shared<Formatter>());
  app.footer(kExamples);
  app.prefix_command();
  Options options;
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return launch_rank() == 0 ? app.exit(error) : 0;
    fail(std::string(error.what()) + "; see hob exec --help");
  }
  if (options.version) {
    if (launch_rank() == 0) std::puts("hob " HOB_VERSION);
    return 0;
  }
  if (options.dump) {
    std::puts(dump_settings().c_str());
    return 0;
  }
  auto command = app.remaining();
  if (!command.empty() && command[0] == "--")
    command.erase(command.begin());
  else if (!command.empty() && command[0].starts_with("-"))
    fail("unknown option " + command[0] + "; see hob exec --help");
  if (command.empty()) fail("no program to start; see hob exec --help");

  const auto program = find_program(command[0]);
  if (program.empty()) {
    const auto none = why_no_program(command[0]);
    fail(none.why, none.status);
  }
  const auto use = options.off ? MpiUse{} : find_mpi(command, options.mpi);
  if (options.which) {
    std::puts(describe(use, program, settings_here()).dump(1).c_str());
    return 0;
  }
  say_what_has_no_effect(options);
  if (options.off) start(program, command);
  apply_settings(settings_of(options));
  // A site that turns Hob off may do so because a library of Hob's does not start any more.
  if (const std::string site = site_turns_off(); !site.empty()) {
    if (launch_rank() == 0 && !options.quiet)
      std::fprintf(stderr, "hob: without Hob: %s turns it off%s\n", site.c_str(),
                   options.ghosts.empty() ? "" : "; the program gets all ranks, ghosts included");
    start(program, command);
  }
  name_launch();
  load_hob(use, program, options.mpi);
  start(program, command);
}

}  // namespace
}  // namespace hob::exec

int main(int argc, char** argv) {
  try {
    if (argc > 3 && std::strcmp(argv[1], "--again") == 0)
      hob::exec::start_again(argv[2], {argv + 3, argv + argc});
    return hob::exec::run(argc, argv);
  } catch (const std::exception& error) {
    hob::exec::fail(error.what());
  }
}
