// Runs a command and counts the instructions of a preloaded library between the command's marks
// (marker.h), one single step each. What lies in libc, the vDSO or the dynamic linker counts where
// that library called it.
//
// The MPI library and the program run at full speed: while they do, the preloaded library may not
// be executed, and the fault says when it is entered. How long the MPI library polls or waits does
// therefore neither matter nor take a thousand times as long as it should. A mark that asks for it
// has everything stepped, and the MPI library's instructions counted, too.
//
// A step takes thousands of times as long as its instruction, and machines are busy. So that what
// the preloaded library decides depends on neither, its clock (rdtsc) is the counter's while the
// command wants it so (marker.h): from one look to the next, kLookNs pass.
#include <cstdio>
#include <cstring>

#if !defined(__x86_64__)
int main() {
  std::printf("SKIP: counts instructions of x86-64 alone\n");
  return 77;
}
#else

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "prices/marker.h"

namespace {

constexpr int kSkip = 77;  // exit status: CTest takes it for "skipped"
/// Hob takes three or four looks around a get and its flush: as near as memory of the same node.
constexpr double kLookNs = 30;

enum Owner { kProgram, kHob, kMpi, kElsewhere };

struct Options {
  std::string out, where, preload;
  char** command = nullptr;
};

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "step_counter: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(2);
}

struct Region {
  std::uint64_t begin = 0, end = 0;
  Owner owner = kElsewhere;
  std::uint64_t base = 0;  // where the file's first byte would be
  bool executable = false;
};

struct Place {
  Owner owner = kElsewhere;
  std::uint64_t clock_bytes = 0;  // of the instruction, where it reads the clock
  bool is_mark = false;
};

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_of_the_system(const std::string& path) {
  if (path.empty() || path[0] != '/') return true;  // [vdso], [stack], memory without a file
  const std::string name = file_name(path);
  for (const char* prefix : {"libc.so", "libc-", "libm.so", "libm-", "ld-linux", "ld-",
                             "libpthread", "libdl", "librt", "libstdc++", "libgcc_s"})
    if (name.rfind(prefix, 0) == 0) return true;
  return false;
}

/// The regions of a process, by owner.
class Memory {
 public:
  Memory(pid_t pid, std::string hob) : pid_(pid), hob_(std::move(hob)) {}

  void read() {
    regions_.clear();
    const std::string of = "/proc/" + std::to_string(pid_);
    char program[4096];
    const ssize_t length = ::readlink((of + "/exe").c_str(), program, sizeof program - 1);
    const std::string own(program, length > 0 ? static_cast<std::size_t>(length) : 0);
    std::ifstream maps(of + "/maps");
    std::map<std::string, std::uint64_t> bases;
    for (std::string line; std::getline(maps, line);) {
      Region region;
      char rights[8] = "";
      std::uint64_t offset = 0;
      int path_at = 0;
      if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n",
                      &region.begin, &region.end, rights, &offset, &path_at) < 4)
        continue;
      const std::string path = line.substr(static_cast<std::size_t>(path_at));
      region.base = bases.emplace(path, region.begin - offset).first->second;
      region.executable = rights[2] == 'x';
      region.owner = path == own                                ? kProgram
                     : !hob_.empty() && file_name(path) == hob_ ? kHob
                     : is_of_the_system(path)                   ? kElsewhere
                                                                : kMpi;
      regions_.push_back(region);
    }
  }

  /// Where this address lies; null where nothing is.
  const Region* find(std::uint64_t address) const {
    for (const Region& region : regions_)
      if (address - region.begin < region.end - region.begin) return &region;
    return nullptr;
  }
  const std::vector<Region>& all() const { return regions_; }

 private:
  pid_t pid_;
  std::string hob_;
  std::vector<Region> regions_;
};

double ticks_per_nanosecond() {
  const auto nanoseconds = [] {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  };
  constexpr double kMeasured = 2e6;
  const double start = nanoseconds();
  const std::uint64_t first = __builtin_ia32_rdtsc();
  double now = start;
  while (now - start < kMeasured) now = nanoseconds();
  return static_cast<double>(__builtin_ia32_rdtsc() - first) / (now - start);
}

struct Sample {
  std::uint64_t hob = 0;  // instructions of the preloaded library, where the program called it...
  std::uint64_t elsewhere = 0;    // ... of these, in libc and its like
  std::uint64_t stays = 0;        // times that it called the MPI library
  std::uint64_t back_calls = 0;   // times that the MPI library called it...
  std::uint64_t called_back = 0;  // ... and its instructions there
  std::uint64_t mpi = 0;          // the MPI library's instructions, if they are counted
};

/// Where a call of the MPI library's will return to, and on whose behalf it is made.
struct Frame {
  std::uint64_t to = 0, stack = 0;
  bool called_back = false;
};

class Counter {
 public:
  Counter(pid_t pid, const Options& options)
      : pid_(pid), memory_(pid, file_name(options.preload)), where_(!options.where.empty()) {
    bytes_ = ::open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
    if (bytes_ < 0) die("/proc/PID/mem");
    out_ = options.out.empty() ? stdout : std::fopen(options.out.c_str(), "we");
    if (!out_) die(options.out);
  }

  /// At a mark that begins, to the next one. Returns a signal that the program is still to have.
  int count(const user_regs_struct& at) {
    const std::string name = text(at.rsi);
    const bool library_too = at.rdi == HOB_COUNT_BEGIN_LIBRARY_TOO;
    if (memory_.all().empty()) memory_.read();
    follow_to_its_core();
    Sample sample;
    frames_.clear();
    Owner last = kProgram;
    bool called_back = false;
    std::uint64_t before = 0;
    for (bool inside = library_too || run_others(); inside;) {
      const std::uint64_t now = here();
      const Place place = look(now);
      if (place.is_mark) break;
      if (place.owner == kHob && last != kHob) {
        const bool returns = came_back(now, called_back);
        if (!returns) called_back = look(word_on_stack()).owner == kMpi;
        if (!returns && called_back) ++sample.back_calls;
      }
      if (place.owner == kMpi && last == kHob) {
        if (!called_back) ++sample.stays;
        const std::uint64_t to = word_on_stack();
        if (look(to).owner == kHob) frames_.push_back({to, stack_pointer(), called_back});
      }
      if (place.owner != kElsewhere) last = place.owner;
      if (last != kHob && !library_too) {
        inside = run_others();
        continue;
      }
      if (now != before) {  // each repetition of a string instruction is a step
        if (last == kHob) ++(called_back ? sample.called_back : sample.hob);
        if (last == kMpi) ++sample.mpi;
        if (last == kHob && !called_back && place.owner == kElsewhere) ++sample.elsewhere;
        if (where_ && place.owner == kHob && !called_back) ++visits_[name][now];
      }
      before = now;
      step();
    }
    std::fprintf(out_, "%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n",
                 name.c_str(), sample.hob, sample.elsewhere, sample.stays, sample.back_calls,
                 sample.called_back, library_too ? std::to_string(sample.mpi).c_str() : "-");
    return std::exchange(signal_, 0);
  }

  /// Whether the signal is that of an instruction that reads the clock; it has then been carried
  /// out.
  bool told_time(int signal) {
    if (signal != SIGSEGV) return false;
    user_regs_struct all = registers();
    const Place place = look(all.rip);
    if (place.clock_bytes == 0) return false;
    std::uint64_t now = __builtin_ia32_rdtsc();
    if (place.owner == kHob) now = clock_ = clock_ == 0 ? now : clock_ + look_ticks_;
    all.rip += place.clock_bytes;
    all.rax = now & 0xffffffff;
    all.rdx = now >> 32;
    if (place.clock_bytes == 3) all.rcx = 0;
    set(all);
    return true;
  }

  /// What was counted at each address of the preloaded library, as addr2line wants them.
  void write_visits(const std::string& path) const {
    std::FILE* out = std::fopen(path.c_str(), "we");
    if (!out) die(path);
    for (const auto& [name, addresses] : visits_)
      for (const auto& [address, times] : addresses)
        std::fprintf(out, "%s\t%" PRIx64 "\t%" PRIu64 "\n", name.c_str(),
                     address - memory_.find(address)->base, times);
    std::fclose(out);
  }
  void close() {
    if (out_ != stdout) std::fclose(out_);
  }
  std::string text(std::uint64_t address) const {
    char bytes[128] = "";
    const ssize_t got = ::pread(bytes_, bytes, sizeof bytes - 1, static_cast<off_t>(address));
    return std::string(bytes, got > 0 ? ::strnlen(bytes, static_cast<std::size_t>(got)) : 0);
  }
  bool is_mark(std::uint64_t address) { return look(address).is_mark; }

 private:
  std::uint64_t here() const {
    return static_cast<std::uint64_t>(
        ::ptrace(PTRACE_PEEKUSER, pid_, offsetof(user, regs.rip), nullptr));
  }
  std::uint64_t stack_pointer() const {
    return static_cast<std::uint64_t>(
        ::ptrace(PTRACE_PEEKUSER, pid_, offsetof(user, regs.rsp), nullptr));
  }
  std::uint64_t word_on_stack() const {
    std::uint64_t word = 0;
    if (::pread(bytes_, &word, sizeof word, static_cast<off_t>(stack_pointer())) != sizeof word)
      return 0;
    return word;
  }

  /// Whether the preloaded library is entered where a call of the MPI library's returns.
  bool came_back(std::uint64_t now, bool& called_back) {
    const std::uint64_t stack = stack_pointer();
    for (std::size_t i = frames_.size(); i-- > 0;) {
      if (frames_[i].to != now || frames_[i].stack + sizeof(std::uint64_t) != stack) continue;
      called_back = frames_[i].called_back;
      frames_.resize(i);
      return true;
    }
    return false;
  }

  user_regs_struct registers() const {
    user_regs_struct all;
    if (::ptrace(PTRACE_GETREGS, pid_, nullptr, &all) != 0) die("PTRACE_GETREGS");
    return all;
  }
  void set(const user_regs_struct& all) const {
    if (::ptrace(PTRACE_SETREGS, pid_, nullptr, &all) != 0) die("PTRACE_SETREGS");
  }

  Place look(std::uint64_t address) {
    const auto known = places_.find(address);
    if (known != places_.end()) return known->second;
    const Region* region = memory_.find(address);
    if (!region) {
      memory_.read();  // loaded since
      region = memory_.find(address);
    }
    Place place;
    if (region) place.owner = region->owner;
    unsigned char code[3] = {};
    if (::pread(bytes_, code, sizeof code, static_cast<off_t>(address)) < 1) return place;
    const bool rdtsc = code[0] == 0x0f && code[1] == 0x31;
    const bool rdtscp = code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9;
    place.clock_bytes = rdtsc ? 2 : rdtscp ? 3 : 0;
    place.is_mark = place.owner == kProgram && code[0] == 0xcc;
    return places_.emplace(address, place).first->second;
  }

  /// Two processes that only ever wait for each other are fastest on one core.
  void follow_to_its_core() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
    std::string line;
    std::getline(file, line);
    std::istringstream fields(line.substr(line.rfind(')') + 2));
    std::string field;
    for (int i = 3; i <= 39 && fields >> field; ++i) continue;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<unsigned>(std::atoi(field.c_str())), &only);
    ::sched_setaffinity(0, sizeof only, &only);
  }

  /// Goes on until the next stop. Signals of the program's own reach it.
  int go_on(__ptrace_request how) {
    if (::ptrace(how, pid_, nullptr,
                 reinterpret_cast<void*>(static_cast<std::intptr_t>(signal_))) != 0)
      die("ptrace");
    signal_ = 0;
    int status = 0;
    if (::waitpid(pid_, &status, __WALL) < 0) die("waitpid");
    if (!WIFSTOPPED(status)) {
      std::fprintf(stderr, "step_counter: the program ended between two marks\n");
      std::exit(2);
    }
    return WSTOPSIG(status);
  }

  void step() {
    const int stopped = go_on(PTRACE_SINGLESTEP);
    if (stopped != SIGTRAP && !told_time(stopped)) signal_ = stopped;
  }

  /// At full speed to where the preloaded library is entered; false where the next mark comes
  /// first.
  bool run_others() {
    allow_hob(PROT_READ);
    bool entered = false;
    for (;;) {
      const int stopped = go_on(PTRACE_CONT);
      entered = stopped == SIGSEGV && look(here()).owner == kHob;
      if (entered || (stopped == SIGTRAP && look(here() - 1).is_mark)) break;
      if (!told_time(stopped)) signal_ = stopped;
    }
    allow_hob(PROT_READ | PROT_EXEC);
    return entered;
  }

  void allow_hob(int rights) {
    for (const Region& region : memory_.all())
      if (region.executable && region.owner == kHob)
        call(SYS_mprotect, region.begin, region.end - region.begin,
             static_cast<std::uint64_t>(rights));
  }

  /// Has the program make a system call, with an instruction of the C library's.
  void call(long number, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    if (!system_call_) find_system_call();
    const user_regs_struct before = registers();
    user_regs_struct with = before;
    with.rip = system_call_;
    with.rax = static_cast<std::uint64_t>(number);
    with.orig_rax = static_cast<std::uint64_t>(-1);
    with.rdi = a;
    with.rsi = b;
    with.rdx = c;
    set(with);
    int kept = std::exchange(signal_, 0);  // signals wait until the program's registers are its own
    for (int stopped; (stopped = go_on(PTRACE_SINGLESTEP)) != SIGTRAP;) kept = stopped;
    if (registers().rax != 0) {
      errno = static_cast<int>(-registers().rax);
      die("mprotect in the program");
    }
    set(before);
    signal_ = kept;
  }

  void find_system_call() {
    for (const Region& region : memory_.all()) {
      if (!region.executable || region.owner != kElsewhere || region.end - region.begin < 65536)
        continue;
      std::vector<unsigned char> code(region.end - region.begin);
      const ssize_t got =
          ::pread(bytes_, code.data(), code.size(), static_cast<off_t>(region.begin));
      for (ssize_t i = 0; i + 1 < got; ++i)
        if (code[static_cast<std::size_t>(i)] == 0x0f &&
            code[static_cast<std::size_t>(i) + 1] == 0x05) {
          system_call_ = region.begin + static_cast<std::uint64_t>(i);
          return;
        }
    }
    std::fprintf(stderr, "step_counter: no system call in the C library\n");
    std::exit(2);
  }

  pid_t pid_;
  Memory memory_;
  bool where_;
  int bytes_ = -1;
  std::FILE* out_ = nullptr;
  int signal_ = 0;
  std::uint64_t clock_ = 0;  // what the preloaded library saw last, in ticks
  const std::uint64_t look_ticks_ = static_cast<std::uint64_t>(kLookNs * ticks_per_nanosecond());
  std::uint64_t system_call_ = 0;
  std::vector<Frame> frames_;
  std::unordered_map<std::uint64_t, Place> places_;
  std::map<std::string, std::map<std::uint64_t, std::uint64_t> > visits_;
};

/// Counter and program wake each other for every step. Where others compute on the same core, each
/// wake-up may wait for one of their slices, milliseconds; who asks for short slices (Linux 6.12)
/// comes first, and gets no more time in all. Inherited by the program.
void ask_for_short_slices() {
  struct {
    std::uint32_t size = 48, policy = 0;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime = 100'000, deadline = 0, period = 0;  // ns; the least that there is
  } wanted;
  wanted.nice = ::getpriority(PRIO_PROCESS, 0);
  ::syscall(SYS_sched_setattr, 0, &wanted, 0);  // older kernels look at nothing else than nice
}

pid_t start(const Options& options) {
  ask_for_short_slices();
  const pid_t pid = ::fork();
  if (pid < 0) die("fork");
  if (pid > 0) return pid;
  if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
    std::printf("SKIP: ptrace is not permitted here: %s\n", std::strerror(errno));
    std::fflush(stdout);
    ::_exit(kSkip);
  }
  ::setenv("PRICES_COUNTED", "1", 1);
  if (!options.preload.empty()) ::setenv("LD_PRELOAD", options.preload.c_str(), 1);
  ::execvp(options.command[0], options.command);
  std::perror(options.command[0]);
  ::_exit(2);
}

int follow(const Options& options) {
  const pid_t pid = start(options);
  int status = 0;
  if (::waitpid(pid, &status, __WALL) < 0) die("waitpid");
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  ::ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC);
  Counter counter(pid, options);
  for (int signal = 0;;) {
    ::ptrace(PTRACE_CONT, pid, nullptr,
             reinterpret_cast<void*>(static_cast<std::intptr_t>(signal)));
    if (::waitpid(pid, &status, __WALL) < 0) die("waitpid");
    if (!WIFSTOPPED(status)) break;
    signal = WSTOPSIG(status);
    if (counter.told_time(signal) || status >> 16 != 0) signal = 0;
    if (signal != SIGTRAP) continue;
    signal = 0;
    user_regs_struct at;
    ::ptrace(PTRACE_GETREGS, pid, nullptr, &at);
    if (at.rax != static_cast<std::uint64_t>(HOB_MARK) || !counter.is_mark(at.rip - 1))
      signal = SIGTRAP;
    else if (at.rdi != HOB_COUNT_END)
      signal = counter.count(at);  // to the next mark
  }
  if (!options.where.empty()) counter.write_visits(options.where);
  counter.close();
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::fprintf(stderr, "step_counter: the program ended by signal %d\n", WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

/// Whether a child can be stepped here: sandboxes forbid it.
int probe() {
  const pid_t pid = ::fork();
  if (pid < 0) die("fork");
  if (pid == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(kSkip);
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, __WALL);
  bool good = WIFSTOPPED(status) && ::ptrace(PTRACE_SINGLESTEP, pid, nullptr, nullptr) == 0;
  if (good) {
    ::waitpid(pid, &status, __WALL);
    good = WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  }
  if (WIFSTOPPED(status)) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, &status, 0);
  }
  if (!good) std::printf("SKIP: ptrace is not permitted here\n");
  return good ? 0 : kSkip;
}

bool is_another_rank() {
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"})
    if (const char* rank = std::getenv(name)) return std::strcmp(rank, "0") != 0;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--probe") return probe();
    if (word == "--") {
      options.command = argv + i + 1;
      break;
    }
    std::string* to = word == "--out"       ? &options.out
                      : word == "--where"   ? &options.where
                      : word == "--preload" ? &options.preload
                                            : nullptr;
    if (!to || ++i == argc) break;
    *to = argv[i];
  }
  if (!options.command || !options.command[0]) {
    std::fprintf(
        stderr,
        "usage: step_counter [--preload LIBRARY] [--out FILE] [--where FILE] -- COMMAND...\n");
    return 2;
  }
  if (is_another_rank()) {
    if (!options.preload.empty()) ::setenv("LD_PRELOAD", options.preload.c_str(), 1);
    ::execvp(options.command[0], options.command);
    die(options.command[0]);
  }
  return follow(options);
}

#endif
