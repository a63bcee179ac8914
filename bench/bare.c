/* The bare calls in a loop: what the kernel allows when nothing is recorded. The limit bench/run.py compares with.
 *
 *   bare read|write FILE --transfer N --file-bytes N --threads N --milliseconds N [--random] [--create] [--no-wrap]
 *                   [--uring DEPTH] [--reads PERCENT] [--payload BYTES] [--sum]
 *
 * Thread t works on FILE.t. Sequential threads walk their file again and again; random ones visit each transfer once a
 * pass, as Tonnage does (drawing with replacement would meet pages that the CPU's caches still hold), in the order of a
 * congruential generator, as cheap as an offset can be: their file has 2^k transfers. The clock is read once every
 * CHECK_EVERY operations, so that even the time limit costs next to nothing. Times start at a barrier and end with the
 * last thread; open and close are outside. Writes take their bytes from a buffer of --payload BYTES, one transfer after
 * the other (by default from one transfer, which stays in the first level of cache and flatters). With --create the file
 * is new (its pages are fresh) and one pass is made. With --sum each word that was read is added up, the least that
 * anybody can do who looks at all bytes.
 * Prints one line of JSON.
 * Build: cc -O2 -pthread bare.c -o bare -luring
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <liburing.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CHECK_BYTES = 4 << 20, MAX_THREADS = 1024, MAX_DEPTH = 4096 };

static struct {
    bool write, random, create, wrap, sum;
    const char *path;
    uint64_t transfer, file_bytes, payload, reads; /* reads: of 100 random operations; 0: `write` decides */
    unsigned threads, depth;
    uint64_t limit_ns;
} want = {.wrap = true, .transfer = 4096, .file_bytes = 256 << 20, .threads = 1, .limit_ns = 1000000000};

struct task {
    pthread_t thread;
    unsigned number, fold;
    int fd;
    char *memory, *payload;
    uint64_t payload_at;
    uint64_t transfers, position, random, start_ns, end_ns, operations, total;
};

static pthread_barrier_t start_line;

static void die(const char *what) {
    fprintf(stderr, "bare: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline off_t next_offset(struct task *task) {
    uint64_t index;
    if (want.random) {
        /* The low k bits of a full-period generator modulo 2^64 take each value once in 2^k steps, those at the top at
         * random; folding these into the lowest ones, which hardly vary, keeps it a permutation. */
        task->random = task->random * 0xda942042e4dd58b5u + 1;
        index = task->random & (task->transfers - 1);
        index ^= index >> task->fold;
    } else {
        index = task->position++;
        if (task->position == task->transfers)
            task->position = 0;
    }
    return (off_t)(index * want.transfer);
}

/* Whether the operation at the offset just drawn reads. A mix takes the high half of the number that drew the offset. */
static inline bool reads_next(const struct task *task) {
    return want.reads ? (task->random >> 32) * 100 >> 32 < want.reads : !want.write;
}

/* The bytes of the next write. */
static inline char *next_payload(struct task *task) {
    char *bytes = task->payload + task->payload_at;
    task->payload_at = task->payload_at + 2 * want.transfer <= want.payload ? task->payload_at + want.transfer : 0;
    return bytes;
}

/* Of all words of a transfer, as fast as this processor loads them. */
__attribute__((optimize("O3"), target_clones("avx512f", "avx2", "default")))
static uint64_t sum(const char *bytes, size_t size) {
    const uint64_t *words = (const uint64_t *)bytes;
    uint64_t total = 0;
    for (size_t i = 0; i < size / sizeof *words; i++)
        total += words[i];
    return total;
}

/* How many operations may pass between two looks at the clock. */
static uint64_t check_every(void) {
    uint64_t every = CHECK_BYTES / want.transfer;
    return every ? every : 1;
}

static uint64_t operations_allowed(const struct task *task) {
    return want.wrap ? UINT64_MAX : task->transfers;
}

static void run_sync(struct task *task) {
    const uint64_t every = check_every(), allowed = operations_allowed(task);
    const uint64_t deadline = task->start_ns + want.limit_ns;
    const size_t size = want.transfer;
    while (task->operations < allowed) {
        uint64_t chunk = every < allowed - task->operations ? every : allowed - task->operations;
        for (uint64_t i = 0; i < chunk; i++) {
            off_t offset = next_offset(task);
            /* Not pread: glibc's is a cancellation point, which costs a threaded program two atomic operations. */
            bool reads = reads_next(task);
            char *memory = reads ? task->memory : next_payload(task);
            long moved = syscall(reads ? SYS_pread64 : SYS_pwrite64, task->fd, memory, size, offset);
            if (moved != (long)size)
                die(want.write ? "pwrite was short" : "pread was short");
            if (want.sum)
                task->total += sum(memory, size);
        }
        task->operations += chunk;
        if (now_ns() >= deadline)
            break;
    }
}

static void push(struct io_uring *ring, struct task *task, unsigned slot) {
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
    char *memory = task->memory + (size_t)slot * want.transfer;
    off_t offset = next_offset(task);
    if (want.write)
        io_uring_prep_write_fixed(sqe, 0, memory, want.transfer, offset, 0);
    else
        io_uring_prep_read_fixed(sqe, 0, memory, want.transfer, offset, 0);
    sqe->flags |= IOSQE_FIXED_FILE;
    io_uring_sqe_set_data64(sqe, slot);
}

/* Registered buffer and file, one system call for all that is ready: what a generator that recorded nothing would do. */
static void run_uring(struct task *task, struct io_uring *ring) {
    const uint64_t every = check_every(), deadline = task->start_ns + want.limit_ns;
    const uint64_t allowed = operations_allowed(task);
    struct io_uring_cqe *ready[MAX_DEPTH];
    uint64_t pushed = 0, look_at = every;
    bool open = true;
    for (unsigned slot = 0; slot < want.depth && pushed < allowed; slot++, pushed++)
        push(ring, task, slot);
    while (task->operations < pushed) {
        if (io_uring_submit_and_wait(ring, 1) < 0)
            die("io_uring_submit_and_wait");
        unsigned count = io_uring_peek_batch_cqe(ring, ready, want.depth);
        unsigned slots[MAX_DEPTH];
        for (unsigned i = 0; i < count; i++) {
            if (ready[i]->res != (int)want.transfer) {
                errno = ready[i]->res < 0 ? -ready[i]->res : EIO;
                die("an io_uring operation failed or was short");
            }
            slots[i] = (unsigned)io_uring_cqe_get_data64(ready[i]);
        }
        io_uring_cq_advance(ring, count);
        task->operations += count;
        if (task->operations >= look_at) {
            look_at = task->operations + every;
            open = now_ns() < deadline;
        }
        for (unsigned i = 0; i < count && open && pushed < allowed; i++, pushed++)
            push(ring, task, slots[i]);
    }
}

static void prepare_ring(struct task *task, struct io_uring *ring) {
    struct io_uring_params params = {.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
    struct iovec memory = {task->memory, want.depth * want.transfer};
    int error = io_uring_queue_init_params(want.depth, ring, &params);
    if (error == -EINVAL) { /* a kernel before 6.1 */
        memset(&params, 0, sizeof params);
        error = io_uring_queue_init_params(want.depth, ring, &params);
    }
    if (error || (error = io_uring_register_buffers(ring, &memory, 1)) ||
        (error = io_uring_register_files(ring, &task->fd, 1))) {
        errno = -error;
        die("io_uring");
    }
}

static void open_file(struct task *task) {
    char path[4096];
    int flags = want.write ? O_RDWR : O_RDONLY;
    snprintf(path, sizeof path, "%s.%u", want.path, task->number);
    task->fd = open(path, flags | (want.create ? O_CREAT | O_EXCL : 0), 0600);
    if (task->fd < 0)
        die(path);
}

static void *run_task(void *argument) {
    struct task *task = argument;
    struct io_uring ring;
    size_t landing = want.transfer * (want.depth ? want.depth : 1);
    size_t size = landing + (want.payload > want.transfer ? want.payload : want.transfer);
    task->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (task->memory == MAP_FAILED)
        die("mmap");
    memset(task->memory, 0x5a, size);
    task->payload = task->memory + landing;
    open_file(task);
    task->transfers = want.file_bytes / want.transfer;
    task->fold = (unsigned)__builtin_ctzll(task->transfers) / 2 + 1;
    task->random = 0x9e3779b97f4a7c15u * (task->number + 1);
    if (want.depth)
        prepare_ring(task, &ring);
    pthread_barrier_wait(&start_line);
    task->start_ns = now_ns();
    if (want.depth)
        run_uring(task, &ring);
    else
        run_sync(task);
    task->end_ns = now_ns();
    if (want.depth)
        io_uring_queue_exit(&ring);
    if (close(task->fd))
        die("close");
    return NULL;
}

static void print(const struct task *tasks) {
    uint64_t first = UINT64_MAX, last = 0, operations = 0, total = 0;
    for (unsigned i = 0; i < want.threads; i++) {
        first = tasks[i].start_ns < first ? tasks[i].start_ns : first;
        last = tasks[i].end_ns > last ? tasks[i].end_ns : last;
        operations += tasks[i].operations;
        total += tasks[i].total;
    }
    printf("{\"operations\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"elapsed_ns\": %" PRIu64 ", \"sum\": %" PRIu64
           ", \"tasks\": [", operations, operations * want.transfer, last - first, total);
    for (unsigned i = 0; i < want.threads; i++)
        printf("%s%" PRIu64, i ? ", " : "", tasks[i].operations);
    printf("]}\n");
}

static uint64_t number(const char *text, uint64_t low, uint64_t high, const char *name) {
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end || end == text || value < low || value > high) {
        fprintf(stderr, "bare: %s must be a whole number from %" PRIu64 " to %" PRIu64 "\n", name, low, high);
        exit(2);
    }
    return value;
}

static void parse(int argc, char **argv) {
    static const struct option options[] = {
        {"transfer", 1, 0, 't'}, {"file-bytes", 1, 0, 'f'}, {"threads", 1, 0, 'n'}, {"milliseconds", 1, 0, 'm'},
        {"random", 0, 0, 'r'},   {"create", 0, 0, 'c'},     {"no-wrap", 0, 0, 'w'}, {"uring", 1, 0, 'u'},
        {"reads", 1, 0, 'p'},    {"payload", 1, 0, 'b'},  {"sum", 0, 0, 's'},       {0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 't': want.transfer = number(optarg, 1, 1 << 30, "--transfer"); break;
        case 'f': want.file_bytes = number(optarg, 1, INT64_MAX, "--file-bytes"); break;
        case 'n': want.threads = (unsigned)number(optarg, 1, MAX_THREADS, "--threads"); break;
        case 'm': want.limit_ns = number(optarg, 1, 86400000, "--milliseconds") * 1000000; break;
        case 'r': want.random = true; break;
        case 'c': want.create = true; want.wrap = false; break;
        case 'w': want.wrap = false; break;
        case 'p': want.reads = number(optarg, 1, 99, "--reads"); break;
        case 'b': want.payload = number(optarg, 1, 1 << 30, "--payload"); break;
        case 's': want.sum = true; break;
        case 'u': want.depth = (unsigned)number(optarg, 1, MAX_DEPTH, "--uring"); break;
        default: exit(2);
        }
    }
    if (argc - optind != 2 || want.file_bytes < want.transfer) {
        fprintf(stderr, "bare: read|write FILE, and a file of at least one transfer\n");
        exit(2);
    }
    uint64_t transfers = want.file_bytes / want.transfer;
    if (want.random && (transfers & (transfers - 1))) {
        fprintf(stderr, "bare: --random wants a file of 2^k transfers\n");
        exit(2);
    }
    want.write = strcmp(argv[optind], "write") == 0;
    want.path = argv[optind + 1];
}

int main(int argc, char **argv) {
    static struct task tasks[MAX_THREADS];
    parse(argc, argv);
    if (pthread_barrier_init(&start_line, NULL, want.threads))
        die("pthread_barrier_init");
    for (unsigned i = 0; i < want.threads; i++) {
        tasks[i].number = i;
        if ((errno = pthread_create(&tasks[i].thread, NULL, run_task, &tasks[i])))
            die("pthread_create");
    }
    for (unsigned i = 0; i < want.threads; i++)
        pthread_join(tasks[i].thread, NULL);
    print(tasks);
    return 0;
}
