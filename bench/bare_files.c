/* Bare calls on names in a loop: what the kernel allows. The limit bench/files.py compares with.
 *
 *   bare_files DIRECTORY THREADS FILES
 *
 * Each thread has a directory of its own, held open, and FILES short names in it: creates them (openat, close), stats
 * them (newfstatat) and removes them (unlinkat). The clock is read once an operation and the longest one kept. Phases
 * start at a barrier and end with the last thread. Prints one line of JSON a phase; CPU is that of the threads.
 * Build: cc -O2 -pthread bare_files.c -o bare_files
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CREATE, STAT, REMOVE, PHASES, MAX_THREADS = 1024 };
static const char *const names[PHASES] = {"create", "stat", "remove"};

struct task {
    pthread_t thread;
    int directory;
    unsigned number;
    uint64_t start_ns[PHASES], end_ns[PHASES], cpu_ns[PHASES], longest_ns;
};

static pthread_barrier_t start_line;
static uint64_t files;

static void die(const char *what) {
    fprintf(stderr, "bare_files: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t ns_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Writes "f.<task>.<number>" and its zero, from the end of `text` backwards; where it begins. */
static char *spell(char text[40], unsigned task, uint64_t number) {
    char *at = text + 39;
    *at = 0;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    *--at = '.';
    do
        *--at = (char)('0' + task % 10);
    while (task /= 10);
    *--at = '.';
    *--at = 'f';
    return at;
}

/* Not openat and close: glibc's are cancellation points, which cost a threaded program two atomic operations each. */
static inline long operate(int phase, int directory, const char *name) {
    struct stat facts;
    if (phase == CREATE) {
        long file = syscall(SYS_openat, directory, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
        return file < 0 ? file : syscall(SYS_close, file);
    }
    if (phase == STAT)
        return syscall(SYS_newfstatat, directory, name, &facts, AT_SYMLINK_NOFOLLOW);
    return syscall(SYS_unlinkat, directory, name, 0);
}

static void run_phase(struct task *task, int phase) {
    char text[40];
    pthread_barrier_wait(&start_line);
    uint64_t cpu = ns_of(CLOCK_THREAD_CPUTIME_ID), last = ns_of(CLOCK_MONOTONIC);
    task->start_ns[phase] = last;
    for (uint64_t number = 0; number < files; number++) {
        if (operate(phase, task->directory, spell(text, task->number, number)) < 0)
            die(names[phase]);
        uint64_t now = ns_of(CLOCK_MONOTONIC);
        if (now - last > task->longest_ns)
            task->longest_ns = now - last;
        last = now;
    }
    task->end_ns[phase] = last;
    task->cpu_ns[phase] = ns_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
}

static void *run(void *argument) {
    for (int phase = 0; phase < PHASES; phase++)
        run_phase(argument, phase);
    return NULL;
}

int main(int argc, char **argv) {
    static struct task tasks[MAX_THREADS];
    unsigned threads = argc == 4 ? (unsigned)atoi(argv[2]) : 0;
    files = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
    if (threads == 0 || threads > MAX_THREADS || files == 0) {
        fprintf(stderr, "usage: bare_files DIRECTORY THREADS FILES\n");
        return 2;
    }
    int parent = open(argv[1], O_RDONLY | O_DIRECTORY);
    if (parent < 0)
        die(argv[1]);
    pthread_barrier_init(&start_line, NULL, threads);
    for (unsigned number = 0; number < threads; number++) {
        char name[16];
        snprintf(name, sizeof name, "bare.%u", number);
        if (mkdirat(parent, name, 0700) < 0)
            die(name);
        tasks[number].number = number;
        tasks[number].directory = openat(parent, name, O_RDONLY | O_DIRECTORY);
    }
    for (unsigned number = 0; number < threads; number++)
        if (pthread_create(&tasks[number].thread, NULL, run, &tasks[number]) != 0)
            die("pthread_create");
    for (unsigned number = 0; number < threads; number++)
        pthread_join(tasks[number].thread, NULL);
    for (unsigned number = 0; number < threads; number++) {
        char name[16];
        snprintf(name, sizeof name, "bare.%u", number);
        if (unlinkat(parent, name, AT_REMOVEDIR) < 0)
            die(name);
    }
    for (int phase = 0; phase < PHASES; phase++) {
        uint64_t first = UINT64_MAX, last = 0, cpu = 0;
        for (unsigned number = 0; number < threads; number++) {
            first = tasks[number].start_ns[phase] < first ? tasks[number].start_ns[phase] : first;
            last = tasks[number].end_ns[phase] > last ? tasks[number].end_ns[phase] : last;
            cpu += tasks[number].cpu_ns[phase];
        }
        printf("{\"phase\": \"%s\", \"operations\": %" PRIu64 ", \"elapsed_ns\": %" PRIu64 ", \"cpu_ns\": %" PRIu64 "}\n",
               names[phase], files * threads, last - first, cpu);
    }
    return 0;
}
