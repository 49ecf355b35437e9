// The tuned constants of the glue: numbers that another machine may want otherwise. What can be
// measured at start or while running is measured, and is not here. Each row: unit, what it is for,
// how it was found.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pay/backoff.hpp"
#include "pay/price.hpp"

namespace hob::mpi::tuning {

/// progress. ns for which a waiting thread polls before it gives its core away between two polls. A
/// yield on a machine with more processes than processors may cost a time slice (2 to 4 ms), so
/// whoever is served within a millisecond does not pay it. Chosen from these two times; not swept.
/// And polls from one look at the clock to the next.
inline constexpr std::uint64_t kPollNsBeforeYield = 1'000'000;
inline constexpr unsigned kPollsBetweenLooks = 16;

/// progress. ns. The slack of the progress thread's timers; and how long a task rests at most that
/// was roused while it was polled. Chosen.
inline constexpr unsigned long kProgressSlackNs = 1'000;
inline constexpr std::uint64_t kRousedWithinNs = 50'000;

/// progress. ns between two polls of the helper: long against a poll, short against what a program
/// would notice. With the slack that it had as a thread of its own. Chosen; not swept.
inline constexpr std::uint64_t kHelperRest = 100'000;

/// progress, overlap. Bytes of a message from which on it is sent in more than one step
/// (rendezvous): the libraries here begin between 8 KiB and 128 KiB. Chosen.
inline constexpr std::int64_t kOverlapBytes = std::int64_t{16} * 1024;

/// progress, overlap. The same where ranks are on several nodes: what fits into a socket moves
/// without anybody. Chosen.
inline constexpr std::int64_t kOverlapFarBytes = std::int64_t{64} * 1024;

/// progress, overlap. The share of a processor that the thread may take for polls that move
/// nothing. Chosen.
inline constexpr double kOverlapShare = 0.03;

/// progress, overlap. ns between a start and its wait from which on there was time to compute: two
/// rests of the thread. Shorter ones show nothing about its help.
inline constexpr std::uint64_t kOverlapOutsideNs = 100'000;

/// progress, overlap. ns of a phase after which the next wait ends it, though something is under
/// way: some dozen waits of programs that compute for milliseconds.
inline constexpr std::uint64_t kOverlapPhaseNs = 200'000'000;

/// progress, overlap. Operations that end, while another one is under way, before there was time to
/// compute: a phase without use. Those of a phase that computes end in the wait after that.
inline constexpr int kOverlapEndedWithoutUse = 4;

/// progress, overlap. Polls that move nothing before the thread leaves the library (four take about
/// 2 us), and ns for which it goes on after one that did: a peer answers within that time.
inline constexpr int kOverlapVainPolls = 4;
inline constexpr std::uint64_t kOverlapLingerNs = 20'000;

/// progress, overlap. The same polls where sockets wake the thread again.
inline constexpr int kOverlapSocketPolls = 2;

/// progress, overlap. ns. A rest from which on an operation that starts wakes it, at 1 to 2 us.
inline constexpr std::uint64_t kOverlapShortNs = 150'000;

/// progress, overlap. ns. A start that took the program so long is left to the thread the next
/// time: several times what it costs to wake that (20 to 40 us). The thread polls so soon after it
/// was left to it, if the program is outside then; and where one has waited for twice as long when
/// the next one comes, the program makes both itself: it computes in between, and no processor is
/// free.
inline constexpr std::uint64_t kOverlapLongStartNs = 150'000;
inline constexpr std::uint64_t kOverlapStartNs = 50'000;

/// progress, overlap. ns. What sockets bring within this time of a poll waits for one more poll;
/// and from one search for sockets to the next.
inline constexpr std::uint64_t kOverlapCollectNs = 50'000;
inline constexpr std::uint64_t kOverlapScanNs = 5'000'000;
inline constexpr std::uint64_t kOverlapLongestScanNs = 1'000'000'000;

/// progress, overlap. ns. Where only others may want something: from one poll to the next while the
/// program is inside the library, at first and at last; and while sockets would announce it. A poll
/// takes 20 to 40 us: with one each 0.5 ms puts to a rank that waits took 1.10 to 1.18 times as
/// long, with one each 2 ms 1.05 to 1.09, each 20 ms 1.03 to 1.04 (`hob bench harm --overlap on`).
inline constexpr std::uint64_t kOverlapInsideNs = 500'000;
inline constexpr std::uint64_t kOverlapLongestInsideNs = 20'000'000;
inline constexpr std::uint64_t kOverlapPatientNs = 20'000'000;

/// progress, overlap. ns for which sockets are not listened to while the budget is used up: a poll
/// in that time is 3% of a processor.
inline constexpr std::uint64_t kOverlapExhaustedNs = 1'000'000;

/// progress, overlap. Polls with nothing under way before the thread sleeps until it is woken: some
/// milliseconds.
inline constexpr int kOverlapIdlePolls = 6;

/// requests. Receives that a wait still misses, from which on it lets time pass between polls in
/// vain: with fewer, the next message is likely to be the last one, and a rest only delays it.
/// Chosen.
inline constexpr std::size_t kManyMissing = 8;

/// requests. ns: a poll without a result that takes longer has asked the kernel. Between the polls
/// of shared memory and of sockets on the machine of docs/measurements.
inline constexpr double kKernelPoll = 300;

/// requests. ns of rest between two such polls: the messages that come meanwhile are cheaper to
/// fetch together. Measured with bursts over TCP (docs/measurements/2026-11-takeover.md).
inline constexpr double kRestBetweenPolls = 2000;

/// Cached gets.
namespace gets {

/// ns, and ns a byte. What a get takes before anything is measured: a few microseconds, and four
/// gigabytes a second. Chosen.
inline constexpr double kFirstLatencyNs = 8000, kFirstNsPerByte = 0.25;

/// All bytes get old this many times sooner until enough waits were measured to say what hits save,
/// within the same share of the time. Chosen.
inline constexpr std::uint64_t kUnpricedAgesFaster = 20;
/// Bytes that were not asked for yet get old this many times sooner than others. Chosen.
inline constexpr std::uint64_t kAheadAgesFaster = 10;

/// Copies that a byte fetched ahead takes: one here, after the flush, and two by the target's
/// process, whose time is the program's, too.
inline constexpr double kCopiesAhead = 3;
/// A new sample counts for so much of what a copy takes, and for no more than a multiple of it: at
/// times the processor was elsewhere.
inline constexpr double kCopyWeight = 1.0 / 16, kCopyMost = 4;

/// Bytes. Displacements that begin a block must be expressed in the target's unit: with larger
/// units, too much would be fetched in front of it.
inline constexpr std::uint64_t kLargestUnit = 4096;

/// Windows of at most so much memory, or of one part in so many of the machine's, are taken to be
/// used as a whole: pages that were not touched yet may be read with others. Chosen: the page
/// tables for that are one part in 512 of it.
inline constexpr std::uint64_t kSmallWindowBytes = std::uint64_t{64} << 20, kSmallWindow = 64;

/// Bytes of an entry under way whose cache lines are fetched ahead: a level 1 and 2 cache hold
/// them.
inline constexpr std::uint64_t kPrefetched = 65536;

/// Gets of a burst that are looked at for what a trip costs. Chosen.
inline constexpr std::size_t kBurstSamples = 4;

/// ns. What issuing a get takes that is not waited for alone. Chosen.
inline constexpr double kIssueNs = 700;
/// What a get with an indexed datatype takes, with its wait, in latencies of a contiguous one, at
/// first: 22 and 9 us with MPICH 5 over TCP.
inline constexpr double kScatteredLatencies = 2.5;
/// ns. The first one of a process beside that: with MPICH 5 over TCP 1.2 to 1.4 ms, in which both
/// ends prepare themselves.
inline constexpr double kFirstScatteredNs = 1.3e6;
/// ns. What a recalled place takes at least, its hit included: measured 130 to 200 for 1,000
/// of 8 B.
inline constexpr double kLeastRecalledNs = 200;
/// Recalled for one get that is missing, at most: bytes in all, places in one get of an indexed
/// type, and places that are fetched one by one. Chosen.
inline constexpr std::uint64_t kMostRecalled = std::uint64_t{16} << 20;
inline constexpr std::size_t kMostRecalledPlaces = 4096, kMostRecalledSingly = 256;
/// To have the kernel note stores to a page takes 12 ns: measured. A window of no more than
/// so many bytes is protected without asking what that takes. Chosen.
inline constexpr double kProtectNsPerByte = 12.0 / 4096;
inline constexpr std::uint64_t kProtectedAtOnce = std::uint64_t{4} << 20;
/// Bytes of a place: its entry in the cache takes longer than its way through the network. Chosen.
inline constexpr std::uint64_t kShortPlace = 64;

/// ns. A hit's way through the wrappers and the window, besides look-up and copy: measured with
/// `hob bench micro` (docs/measurements/2026-11-cache.md).
inline constexpr double kWrapperNs = 25;

/// Hits in a row, to one that looks at the clock, as long as two such looks are half as far apart
/// as calls of the library for progress' sake are, or ns where there are none. The clock takes a
/// third of a hit (rdtsc: 15 ns); a program that begins to compute between its hits enters the
/// library as many hits later, once.
inline constexpr std::uint32_t kHitsBetweenLooks = 3;
inline constexpr double kQuickHitsNs = 20'000;

/// Of the cache's room, one part in so many stays free of what the node has anyway: a cache that is
/// full has some room again after each eviction, and that is for what the process fetches itself.
inline constexpr std::uint64_t kRoomForOwn = 4;

/// While tracking is off, one in so many waits is timed: all after a long one, fewer while they are
/// short. Odd intervals, since programs repeat themselves.
inline constexpr pay::Backoff<int>::Config kWaitIntervals{.first = 1, .longest = 255, .plus = 1};

}  // namespace gets

/// Short puts over libfabric's tcp provider (workarounds/complete_puts.hpp): one of so many is
/// waited for, since MPICH has a limited number of requests. Chosen.
inline constexpr std::uint32_t kOnePutWaitedFor = 1024;

/// Layouts of datatypes. Blocks from which on a flattened type costs more than it can save.
inline constexpr std::size_t kMostBlocks = std::size_t{1} << 18;
/// Arguments of a constructor, some 64 blocks: they are read in the time of a small get from
/// another node.
inline constexpr std::uint64_t kManyArguments = 128;
/// Bytes that kept layouts may take before new ones are left to the MPI library. Chosen.
inline constexpr std::size_t kLayoutBytes = std::size_t{64} << 20;

/// heat. One part in so many of the shared cache is registered at most: heating more than it holds
/// would only cost memory bandwidth.
inline constexpr std::size_t kHeatedShare = 4;

/// progress. ns between polls of UCX while it closes that find nothing. Chosen.
inline constexpr std::uint64_t kClosingRestNs = 100'000;

/// requests. With several threads, so many polls of a watched receive that find nothing end its
/// watch: each costs some 70 ns. Chosen.
inline constexpr std::uint32_t kAsksPerWatch = 64;

/// p2p. Receives that may go to the library unseen at a time, where none is ever to be watched.
/// Chosen: booking them costs some 50 ns.
inline constexpr std::uint32_t kFastPathAtOnce = 4096;

/// p2p. Calls of MPI_Sendrecv that go to the library unseen before one looks whether a report is
/// due. Chosen: the look costs some 200 ns.
inline constexpr std::int32_t kExchangesAtOnce = 1024;

/// Sleeps of processes that wait for messages (progress/sleeper.hpp).
namespace waiting {

/// ns. Sleeps that nothing ends: a wake-up takes about as long, so a shorter one costs
/// more processor time than it sleeps. After each `kTimedSleepsAlike` sleeps without a message they
/// are twice as long, up to the longest.
inline constexpr long kFirstTimedSleepNs = 60'000;
inline constexpr unsigned kTimedSleepsAlike = 64;
inline constexpr long kLongestTimedSleepNs = 480'000;

/// Wake-ups in a row that brought no message, before the sockets that caused them are left out.
inline constexpr unsigned kMostUseless = 200;

/// ns. Between looks for new sockets: connections are made at first, so often at first.
inline constexpr std::uint64_t kFirstScanPauseNs = 4'000'000;
inline constexpr std::uint64_t kLongestScanPauseNs = 4'000'000'000;

}  // namespace waiting

/// How ghosts, and those who wait for them, share the cores of a node. Found with bench/ghost on a
/// node of two cores: origin, target and two ghosts, the target computing or waiting.
namespace ghost {

/// Request messages in a row before what waits for locks and data gets its turn. A look at the
/// inbox costs about 0.2 us, a small request about 1 us: a burst is shorter than a wake-up.
inline constexpr int kBurst = 16;

/// Receives that a ghost keeps posted. An origin has at most some tens of messages under way;
/// beyond that they arrive unexpectedly, which costs a copy and no more.
inline constexpr std::size_t kInboxSlots = 32;

/// ns. First sleep of a ghost after a message; doubled while no message comes. If a message was
/// missed (a network without sockets), it lies so long: a time slice at most.
inline constexpr std::uint64_t kFirstSleepNs = 2'000'000;

/// ns. The longest one while no socket has announced a message yet. Chosen: on a network without
/// sockets, over which `kMostWithoutEvent` messages have to come before that is known, they lie for
/// a sixth of a second in all in place of two; a ghost that never gets one wakes for 0.1% of a
/// core.
inline constexpr std::uint64_t kUnprovenSleepNs = 8'000'000;

/// Messages that came while the ghost slept and that no socket announced, before it sleeps for a
/// set time in place of sleeping: on a network with sockets there are a few, while connections are
/// made.
inline constexpr unsigned kMostWithoutEvent = 20;

/// ns. Between checks whether the node's processes live: a job that lost one ends within that time
/// and what its launcher takes.
inline constexpr std::uint64_t kWatchPeriodNs = 100'000'000;

/// ns. A nonblocking send takes 1 to 3 us. If it took longer than this, another process had the
/// core meanwhile, and may have answered.
inline constexpr std::uint64_t kLongSendNs = 12'000;

/// ns for which a waiting origin polls before it yields where every process has a core: longer than
/// a ghost's answer on the same node. Shorter where the user asked the MPI library to share cores:
/// there may be neighbours that Hob does not know of.
inline constexpr std::uint64_t kOriginPollNs = 100'000;
inline constexpr std::uint64_t kOriginPollAskedNs = 800;

/// Where there are more processes than cores: ns of yields before it sleeps, and polls before the
/// first sleep.
inline constexpr std::uint64_t kOriginYieldNs = 200'000;
inline constexpr unsigned kPollsBeforeSleep = 3;

/// ns. Sleep of a waiting origin at a time; while no socket has announced a message to it, it
/// begins with the first.
inline constexpr std::uint64_t kOriginSleepNs = 1'000'000;
inline constexpr std::uint64_t kFirstOriginSleepNs = 60'000;

/// A waiting origin makes a turn for each operation: an outlier is tolerated sooner than in a
/// ghost's loop, which makes thousands in the same time (YieldPredictor).
inline constexpr unsigned kToleratedOutliers = 64;

/// Turns of a waiting origin between checks whether its ghosts live, a few microseconds.
inline constexpr unsigned kTurnsPerWatch = 64;

/// ms. Sleeps of a ghost before the program's sessions begin: then it looks whether its launcher
/// lives.
inline constexpr int kLongestSessionSleepMs = 100;

/// Which way puts and gets go where the network needs no target's processor (ghost/route.hpp).
/// Completions between two trials at first (one by the ghost is to compare with), and at most,
/// doubled by each trial that is lost. Chosen: a trial takes about 4 us, so those that lose take
/// less than a hundredth of the time in which ghosts complete.
inline constexpr std::uint32_t kFirstTrialAfter = 1;
inline constexpr std::uint32_t kLastTrialAfter = 1024;

/// Times what a ghost takes, and ns, from which on a native completion says that the target
/// computes. An interrupt is as long: what it costs is some operations by ghosts.
inline constexpr double kNativeStall = 4;
inline constexpr std::uint64_t kLeastNativeStallNs = 50'000;

/// Native completions that are not longer than a ghost's, after which one stall is forgotten.
inline constexpr std::uint32_t kStallForgotten = 64;

/// ns. How long a ghost stays outside MPI at start, while it is tried whether the network does puts
/// and gets meanwhile (ghost/network.hpp): a multiple of what a put and a get took before, at least
/// the first, or the second where processes share cores and may not run for some time slices. Where
/// it fails, each start takes so long.
inline constexpr std::uint64_t kAbsenceTimes = 16;
inline constexpr std::uint64_t kAbsenceNs = 2'000'000;
inline constexpr std::uint64_t kAbsenceSharedNs = 40'000'000;
inline constexpr std::uint64_t kLongestAbsenceNs = 200'000'000;

/// Bytes that count as one more operation when completions are compared. Chosen: about as long.
inline constexpr std::uint64_t kBytesOfAnOperation = 16'384;

/// Bytes of a window from which on its pages are given back to the system when it ends. Chosen.
inline constexpr std::uint64_t kWorthGivingBack = 1 << 20;

/// Address space is sparse. Windows of a node may overlap in time, and freed ones leave holes: the
/// arena is a multiple of the memory that there is, and of at least so many bytes.
inline constexpr std::uint64_t kTimesMemory = 4;
inline constexpr std::uint64_t kSmallestFullArena = std::uint64_t{64} << 30;

}  // namespace ghost

/// Yields in the waits of the MPI library, where processes share cores.
namespace yielding {

/// ns. Polls of one wait follow each other within a poll's time (0.1 to 1 us); the program's own
/// polls have its computing in between.
inline constexpr std::uint64_t kSameWaitNs = 5'000;

/// Polls in a row that found nothing before the first yield: a call that does not wait makes one or
/// two.
inline constexpr unsigned kPolls = 4;

/// Yields of the library's of which one is made, while no other process takes the core: 0.3 to 0.7
/// us in 256 polls, which take 8 to 25 us.
inline constexpr unsigned kPollsPerYield = 256;
/// While one does, all are made, and one in so many is measured.
inline constexpr unsigned kYieldsPerLook = 16;
/// ns from one look at what other threads use to the next: it takes 0.4 to 0.6 us.
inline constexpr std::uint64_t kOthersLookNs = 100'000;

}  // namespace yielding

/// Batches of small operations. Measured with MPICH 5 over TCP (docs/batching.md): a batch costs 25
/// to 35 us, an operation in it 30 ns, one that goes alone 5 to 10 us.
namespace batching {

/// Operations of one kind to one target between two completions, from which on they are batched.
inline constexpr std::uint32_t kLeast = 16;
/// Fewer operations than this go out one by one at the end.
inline constexpr std::size_t kFewest = 4;
/// Bytes up to which an operation is small: copying takes some 100 ns.
inline constexpr std::uint64_t kSmallBytes = 2048;
/// ns. Where issuing one takes less, it is left to the library: that is memory, or hardware.
inline constexpr std::uint64_t kCheapNs = 300;
/// ns. A wait for a few operations that takes longer, and for more of them in proportion, met a
/// target that computes, or has no core.
inline constexpr double kLateNs = 100'000;
/// Share of the time that looks at what operations take natively may take.
inline constexpr double kSampleShare = 0.003;
/// ns. What batching one takes, for the comparison with others.
inline constexpr std::uint64_t kBatchingNs = 30;
/// ns. A batch that is older goes out at the next operation.
inline constexpr std::uint64_t kOldNs = 1'000'000;
/// Completions without a batch after which operations are not looked at, and operations
/// after which they are again; doubled up to the longest.
inline constexpr std::uint32_t kIdleIntervals = 64;
inline constexpr std::uint64_t kFirstPause = 4096, kLongestPause = std::uint64_t{1} << 20;
/// Bytes of a batch, with those of its datatype on the wire, about so many for each operation.
/// Accumulates travel as messages, and MPICH breaks long ones (workarounds/long_replies.hpp): it
/// cuts them from 16 KiB on.
inline constexpr std::uint64_t kMostBytes = std::uint64_t{512} << 10, kMostMessageBytes = 15'000;
inline constexpr std::uint64_t kTypeBytes = 16;
/// The same where all operations have the same length.
inline constexpr std::uint64_t kUniformTypeBytes = 8;
/// Operations that a batch counts for in the bound of what is under way.
inline constexpr std::uint64_t kPriceOfBatch = 64;
/// Bytes of Hob's own memory, of one window: in batches that wait, and in those that the library
/// has. At 30 ns and 50 bytes an operation, a flush of 100 us then comes every 4 ms.
inline constexpr std::uint64_t kMostWaiting = std::uint64_t{8} << 20;
inline constexpr std::uint64_t kMostHeld = std::uint64_t{8} << 20;
/// What an operation takes in a batch beside its data.
inline constexpr std::uint64_t kBytesOfOperation = 16;
/// Gets with requests that are left to the library after a test of one that was batched, which
/// issues it twice; doubled with each such test.
inline constexpr std::uint64_t kSkippedAfterTest = 1024;

}  // namespace batching

/// Point-to-point matching. Times are ratios of what one more entry costs in a search of a linked
/// list, and of what it costs to dequeue a message, which are measured: at start
/// (match::measure_list_step) and while messages are dequeued (Matcher::costs). The policies' own
/// constants stand in their Config: match::Sampler, match::SearchTimer, match::TakeoverPolicy.
namespace matching {

/// A timed receive that takes longer to post than a search of so many messages was slow...
inline constexpr double kSlowSearchSteps = 220;
/// ... and so many nanoseconds for each byte of its buffer: its message may be there, and be
/// copied. Twice what the slowest memory takes.
inline constexpr double kCopyNsPerByte = 0.25;
/// From so many bytes on, copying could take longer than such a search: after slow ones the library
/// is asked for the message beforehand, and that is timed. It may look at the network meanwhile,
/// and a long message takes so long that only a longer search matters: so many steps, and
/// nanoseconds for each byte.
inline constexpr double kLongToCopy = 4000;
/// From so many bytes on, copying takes as long as a search of thousands: one that took as long as
/// a copy shows nothing.
inline constexpr double kLongToProbe = 32768;
inline constexpr double kSlowProbeSteps = 440;
inline constexpr double kSlowProbeNsPerByte = 0.03;

/// Bytes up to which libraries send a message before its receiver asks for it: 16 to 64 KiB.
inline constexpr int kLongestEager = 1 << 16;

/// Receives in a queue from which on `auto` takes it over from MPICH over libfabric, which is asked
/// twice for each message, and walks shorter queues fast: of 2,048 receives in reverse order a
/// message takes 2.9 us there and 4.6 in Hob's queue, of 4,096 it takes 15 to 24 and 2.5.
inline constexpr std::uint64_t kDeepOverLibfabric = 1024;

/// Messages in Hob's UMQ at most, over libfabric: its provider searches them when they are received
/// (of 4,096 in reverse order a message takes 31 us, 17 without Hob). Fewer where the provider
/// keeps fewer unexpected messages of a peer (unexpected_messages_kept).
inline constexpr std::uint64_t kMostOverLibfabric = 512;

/// Messages dequeued at one look, so that a flood cannot keep a thread from its own work.
inline constexpr int kDequeuedAtOnce = 256;

/// The libraries' entries take longer than a bare list's: they lie on two lines of the cache, and
/// are compared. Measured on MPICH 4 and 5 and Open MPI 4, searches of 1,024 entries.
inline constexpr double kStepsPerEntry = 1.5;

/// One in so many messages that are dequeued is timed (a power of two): a timing costs some 20 ns.
inline constexpr std::uint64_t kDequeuesPerTiming = 16;
/// A new timing counts for so much of the estimate, and for no more than a multiple of it: now and
/// then the processor was elsewhere.
inline constexpr pay::Weights kTimings{.down = 0.125, .up = 0.125, .most = 4};
/// Hob's own part of a dequeue, and the whole before it has been timed, in steps of a search.
inline constexpr double kOwnSteps = 8;
inline constexpr double kUntimedSteps = 20;

/// So many messages of one sender are looked for in a row before all have a chance, where Hob has
/// to ask who sends.
inline constexpr std::uint32_t kGuesses = 16;

/// Objects for messages that are kept for the next ones.
inline constexpr std::size_t kMessagesKept = 4096;

/// A pause in watching is over after so long: a hundred times what a stretch costs (128 x 60 ns).
inline constexpr double kLongestPauseNs = 1e6;

}  // namespace matching

}  // namespace hob::mpi::tuning
