/* One array of requests that changes while the program waits for any or some of it, again and
 * again, by random moves: receives, sends and persistent receives come and go, are cancelled,
 * freed, waited for alone and moved. Rank 1 sends what it is told to. p2p_arrays [SEED] [ROUNDS, at
 * most 50] */
#include "p2p_check.h"

/* A tag is used once, since receives that were freed go on. */
enum { kSlots = 48, kMoves = 400, kMostRounds = 50, kTags = kMostRounds * kMoves, kStop = -1 };
enum { kCommand = kTags };

enum kind { kEmpty, kReceive, kCancelled, kSend, kPersistent, kInactive };

static unsigned long long state;
static int below(int limit) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (unsigned)limit);
}

static MPI_Request requests[kSlots];
static struct slot {
  enum kind kind;
  int tag;
  int sent; /* rank 1 was told to send it */
} slots[kSlots];
static int values[kTags]; /* of each tag */
static int next_tag;
static int coming; /* slots that will become complete without another move */

static int value_of(int tag) { return tag * 7 + 1; }

static int random_slot(enum kind kind) {
  const int first = below(kSlots);
  for (int i = 0; i < kSlots; i++)
    if (slots[(first + i) % kSlots].kind == kind) return (first + i) % kSlots;
  return -1;
}

static void tell(int i) {
  MPI_Send(&slots[i].tag, 1, MPI_INT, 1, kCommand, MPI_COMM_WORLD);
  slots[i].sent = 1;
  coming++;
}

static void completed(int i, const MPI_Status* status) {
  struct slot* slot = &slots[i];
  int cancelled = 0;
  MPI_Test_cancelled(status, &cancelled);
  CHECK_EQ(cancelled, slot->kind == kCancelled);
  if (slot->kind == kReceive || slot->kind == kPersistent) {
    CHECK(slot->sent);
    CHECK_EQ(status->MPI_TAG, slot->tag);
    CHECK_EQ(status->MPI_SOURCE, 1);
    CHECK_EQ(values[slot->tag], value_of(slot->tag));
  }
  CHECK((requests[i] == MPI_REQUEST_NULL) == (slot->kind != kPersistent));
  slot->kind = slot->kind == kPersistent ? kInactive : kEmpty;
  slot->sent = 0;
  coming--;
}

static void wait_any(void) {
  int index = -1;
  MPI_Status status;
  if (coming == 0) return;
  MPI_Waitany(kSlots, requests, &index, &status);
  CHECK(index >= 0 && index < kSlots);
  completed(index, &status);
}

static void test_any(int from) {
  int index = -1, flag = 0;
  MPI_Status status;
  MPI_Testany(kSlots - from, requests + from, &index, &flag, &status);
  if (flag && index != MPI_UNDEFINED) completed(from + index, &status);
}

static void some(int wait) {
  int count = -1, indices[kSlots];
  MPI_Status statuses[kSlots];
  if (wait && coming == 0) return;
  if (wait)
    MPI_Waitsome(kSlots, requests, &count, indices, statuses);
  else
    MPI_Testsome(kSlots, requests, &count, indices, statuses);
  if (wait) CHECK(count > 0);
  for (int k = 0; count != MPI_UNDEFINED && k < count; k++) completed(indices[k], &statuses[k]);
}

static void receive(int i, int persistent) {
  const int from = below(2) ? 1 : MPI_ANY_SOURCE, tag = next_tag++;
  values[tag] = 0;
  slots[i] = (struct slot){persistent ? kPersistent : kReceive, tag, 0};
  if (!persistent) {
    MPI_Irecv(&values[tag], 1, MPI_INT, from, tag, MPI_COMM_WORLD, &requests[i]);
    return;
  }
  MPI_Recv_init(&values[tag], 1, MPI_INT, from, tag, MPI_COMM_WORLD, &requests[i]);
  MPI_Start(&requests[i]);
}

static void send(int i) {
  MPI_Isend(NULL, 0, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[i]);
  MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  slots[i] = (struct slot){kSend, 0, 0};
  coming++;
}

static void wait_for(int i) {
  MPI_Status status;
  if (!slots[i].sent) tell(i);
  MPI_Wait(&requests[i], &status);
  completed(i, &status);
}

static void cancel(int i) {
  MPI_Status status;
  if (slots[i].sent) return;
  MPI_Cancel(&requests[i]);
  slots[i].kind = kCancelled;
  coming++;
  if (below(2)) return;
  MPI_Wait(&requests[i], &status);
  completed(i, &status);
}

/* Nobody hears of it; its memory is its own. */
static void free_receive(int i) {
  if (!slots[i].sent) tell(i);
  MPI_Request_free(&requests[i]);
  slots[i].kind = kEmpty;
  coming--;
}

static void swap(int i, int j) {
  const MPI_Request request = requests[i];
  const struct slot slot = slots[i];
  requests[i] = requests[j];
  slots[i] = slots[j];
  requests[j] = request;
  slots[j] = slot;
}

static void move(void) {
  int i;
  switch (below(20)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      if ((i = random_slot(kEmpty)) >= 0) receive(i, 0);
      break;
    case 5:
      if ((i = random_slot(kEmpty)) >= 0) send(i);
      break;
    case 6:
    case 7:
    case 8:
      if ((i = random_slot(kReceive)) >= 0 && !slots[i].sent) tell(i);
      break;
    case 9:
      wait_any();
      break;
    case 10:
    case 11:
      test_any(below(3) ? 0 : below(kSlots / 2));
      break;
    case 12:
      some(1);
      break;
    case 13:
      some(0);
      break;
    case 14:
      if ((i = random_slot(kReceive)) >= 0) wait_for(i);
      break;
    case 15:
      swap(below(kSlots), below(kSlots));
      break;
    case 16:
      if ((i = random_slot(kReceive)) >= 0) cancel(i);
      break;
    case 17:
      if (below(4) == 0 && (i = random_slot(kReceive)) >= 0) free_receive(i);
      break;
    case 18:
      if ((i = random_slot(kEmpty)) >= 0) receive(i, 1);
      if ((i = random_slot(kPersistent)) >= 0 && !slots[i].sent) tell(i);
      break;
    default:
      if ((i = random_slot(kInactive)) < 0) break;
      if (below(3)) {
        MPI_Request_free(&requests[i]);
        slots[i].kind = kEmpty;
      } else {
        MPI_Start(&requests[i]);
        slots[i].kind = kPersistent;
        values[slots[i].tag] = 0;
      }
      break;
  }
}

/* Until nothing is left, by one of the calls. */
static void drain(void) {
  for (int i = 0; i < kSlots; i++)
    if ((slots[i].kind == kReceive || slots[i].kind == kPersistent) && !slots[i].sent) tell(i);
  const int way = below(4);
  while (coming > 0) {
    if (way == 0)
      wait_any();
    else if (way == 1)
      test_any(0);
    else
      some(way == 2);
  }
  int index = 0, flag = 0;
  MPI_Testany(kSlots, requests, &index, &flag, MPI_STATUS_IGNORE);
  CHECK(flag);
  CHECK_EQ(index, MPI_UNDEFINED);
  for (int i = 0; i < kSlots; i++) {
    if (slots[i].kind == kInactive) MPI_Request_free(&requests[i]);
    slots[i].kind = kEmpty;
    CHECK(requests[i] == MPI_REQUEST_NULL);
  }
}

static void send_what_is_told(void) {
  for (;;) {
    int tag = kStop;
    MPI_Recv(&tag, 1, MPI_INT, 0, kCommand, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (tag == kStop) return;
    const int value = value_of(tag);
    MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
  }
}

static int rounds = 40;

static void changing_array(void) {
  if (world_rank == 1) send_what_is_told();
  if (world_rank != 0) return;
  printf("seed %llu\n", state);
  for (int i = 0; i < kSlots; i++) requests[i] = MPI_REQUEST_NULL;
  for (int round = 0; round < rounds; round++) {
    for (int k = 0; k < kMoves; k++) move();
    drain();
  }
  const int stop = kStop;
  MPI_Send(&stop, 1, MPI_INT, 1, kCommand, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  static const struct test_case cases[] = {{"changing_array", changing_array}};
  state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
  if (argc > 2) rounds = atoi(argv[2]);
  if (rounds > kMostRounds) return 2;
  MPI_Init(&argc, &argv);
  return RUN_CASES(1, argv, cases);
}
