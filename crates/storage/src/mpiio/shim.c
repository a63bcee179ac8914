/*
 * MPI-IO behind a flat interface of plain integers and pointers.
 *
 * Each MPI has handles and constants of its own, which only its compiler wrapper knows: this file is compiled once for the
 * MPI of the site, and `library.rs` loads the result. Every call returns MPI_SUCCESS (0) or an MPI error code, which
 * `tonnage_mpiio_error` explains. Nothing here aborts the process.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <mpi.h>

/* Raised with every change of a signature or a flag; `library.rs` knows the same number. */
enum { ABI = 2 };

/* Flags of `tonnage_mpiio_open`. */
enum { WRITES = 1, UNIQUE = 2, MAKES = 4 };

/* Where MPI cannot be used: no code of MPI is as large. */
enum { NO_THREADS = -1, ENDED = -2 };

struct opened {
    MPI_File file;
    /* Whether this process has opened it alone. */
    int alone;
};

/*
 * Held while a file of this process alone is opened or closed, never while other processes are waited for. ROMIO reads the
 * hint cb_config_list into a variable of the whole process and frees it there, so that two opens at once free it twice, and
 * counts without a lock who uses the list of hosts that opens make and closes let go. Open MPI 4.1 calls ROMIO's open without
 * its own lock, which it holds around all else.
 */
static pthread_mutex_t files_of_mine = PTHREAD_MUTEX_INITIALIZER;

static void begin(int alone)
{
    if (alone)
        pthread_mutex_lock(&files_of_mine);
}

static void end(int alone)
{
    if (alone)
        pthread_mutex_unlock(&files_of_mine);
}

struct group {
    MPI_Comm communicator;
};

static int started_here;

int tonnage_mpiio_abi(void) { return ABI; }

static void end_what_was_started(void)
{
    int ended = 0;
    if (started_here && MPI_Finalized(&ended) == MPI_SUCCESS && !ended)
        MPI_Finalize();
}

/*
 * The first open of a process loads the parts of MPI that move bytes, which takes milliseconds: no file that is measured
 * shall be the first. What cannot be opened loads them as well.
 */
static void load_io(void)
{
    MPI_File file;
    if (MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS)
        MPI_File_close(&file);
}

/* Starts MPI where nobody has. Operations run on threads of their own beside the messages of other threads. */
int tonnage_mpiio_start(void)
{
    int flag = 0, provided = MPI_THREAD_SINGLE, code;
    if ((code = MPI_Finalized(&flag)) != MPI_SUCCESS)
        return code;
    if (flag)
        return ENDED;
    if ((code = MPI_Initialized(&flag)) != MPI_SUCCESS)
        return code;
    if (!flag) {
        if ((code = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided)) != MPI_SUCCESS)
            return code;
        started_here = 1;
        atexit(end_what_was_started);
    } else if ((code = MPI_Query_thread(&provided)) != MPI_SUCCESS)
        return code;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    /* The default of files that are opened later. */
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    if (provided < MPI_THREAD_MULTIPLE)
        return NO_THREADS;
    load_io();
    return MPI_SUCCESS;
}

/* Name and version of the library, as it tells them. */
int tonnage_mpiio_version(char *text, int room)
{
    char told[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0, code = MPI_Get_library_version(told, &length);
    snprintf(text, (size_t)room, "%s", told);
    return code;
}

/* What a code means: a sentence, and the errno that comes closest, or 0. */
int tonnage_mpiio_error(int code, char *text, int room)
{
    static const struct { int class, number; } numbers[] = {
        {MPI_ERR_NO_SUCH_FILE, ENOENT}, {MPI_ERR_FILE_EXISTS, EEXIST}, {MPI_ERR_ACCESS, EACCES},
        {MPI_ERR_NO_SPACE, ENOSPC}, {MPI_ERR_QUOTA, EDQUOT}, {MPI_ERR_READ_ONLY, EROFS},
        {MPI_ERR_BAD_FILE, EINVAL}, {MPI_ERR_UNSUPPORTED_OPERATION, EOPNOTSUPP}, {MPI_ERR_IO, EIO},
        {MPI_ERR_NO_MEM, ENOMEM},
    };
    char told[MPI_MAX_ERROR_STRING] = "";
    int class = MPI_SUCCESS, length = 0;
    size_t number;
    if (code == NO_THREADS || code == ENDED) {
        snprintf(text, (size_t)room, "%s",
                 code == ENDED ? "MPI has ended in this process" : "this MPI was not started for calls of several threads");
        return 0;
    }
    MPI_Error_string(code, told, &length);
    snprintf(text, (size_t)room, "%s", told);
    MPI_Error_class(code, &class);
    for (number = 0; number < sizeof numbers / sizeof *numbers; number++)
        if (numbers[number].class == class)
            return numbers[number].number;
    return 0;
}

/* The processes of these ranks; no rank: this process alone. All of them call it, and at the same time. */
int tonnage_mpiio_group(const int *ranks, int count, void **found)
{
    MPI_Group world, some;
    int size = 0, rank, whole, code;
    struct group *group = malloc(sizeof *group);
    if (!group)
        return MPI_ERR_NO_MEM;
    if ((code = MPI_Comm_size(MPI_COMM_WORLD, &size)) != MPI_SUCCESS)
        goto failed;
    whole = count == size;
    for (rank = 0; whole && rank < count; rank++)
        whole = ranks[rank] == rank;
    if (!count || whole) {
        group->communicator = count ? MPI_COMM_WORLD : MPI_COMM_SELF;
    } else {
        if ((code = MPI_Comm_group(MPI_COMM_WORLD, &world)) != MPI_SUCCESS)
            goto failed;
        if ((code = MPI_Group_incl(world, count, ranks, &some)) == MPI_SUCCESS) {
            code = MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &group->communicator);
            MPI_Group_free(&some);
        }
        MPI_Group_free(&world);
        if (code != MPI_SUCCESS)
            goto failed;
        MPI_Comm_set_errhandler(group->communicator, MPI_ERRORS_RETURN);
    }
    *found = group;
    return MPI_SUCCESS;
failed:
    free(group);
    return code;
}

/* The least that a process of the group says. All of them call it. */
int tonnage_mpiio_least(void *of, int value, int *least)
{
    struct group *group = of;
    return MPI_Allreduce(&value, least, 1, MPI_INT, MPI_MIN, group->communicator);
}

/* `hints`: name, line feed, value, line feed and so on. */
static int info_of(const char *hints, MPI_Info *info)
{
    char name[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    int code = MPI_Info_create(info);
    while (code == MPI_SUCCESS && *hints) {
        size_t name_length = strcspn(hints, "\n");
        const char *rest = hints + name_length + 1;
        size_t value_length = strcspn(rest, "\n");
        if (name_length >= sizeof name || value_length >= sizeof value)
            return MPI_ERR_INFO_VALUE;
        memcpy(name, hints, name_length);
        name[name_length] = 0;
        memcpy(value, rest, value_length);
        value[value_length] = 0;
        code = MPI_Info_set(*info, name, value);
        hints = rest + value_length + 1;
    }
    return code;
}

/* Opens a file that is there, or makes one that is not. All processes of the group call it. */
int tonnage_mpiio_open(void *of, const char *path, int flags, const char *hints, void **found)
{
    struct group *group = of;
    struct opened *opened;
    MPI_Info info = MPI_INFO_NULL;
    int mode = flags & WRITES ? MPI_MODE_RDWR : MPI_MODE_RDONLY, code = MPI_SUCCESS, size = 0;
    if (flags & UNIQUE)
        mode |= MPI_MODE_UNIQUE_OPEN;
    if (flags & MAKES)
        mode |= MPI_MODE_CREATE | MPI_MODE_EXCL;
    if (!(opened = malloc(sizeof *opened)))
        return MPI_ERR_NO_MEM;
    if ((code = MPI_Comm_size(group->communicator, &size)) == MPI_SUCCESS && *hints)
        code = info_of(hints, &info);
    opened->alone = size == 1;
    begin(opened->alone);
    if (code == MPI_SUCCESS)
        code = MPI_File_open(group->communicator, path, mode, info, &opened->file);
    if (code == MPI_SUCCESS)
        MPI_File_set_errhandler(opened->file, MPI_ERRORS_RETURN);
    end(opened->alone);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    if (code != MPI_SUCCESS) {
        free(opened);
        return code;
    }
    *found = opened;
    return MPI_SUCCESS;
}

/* Shows of the file, from `displacement` on, `piece` bytes of every `extent`. All processes that opened it call it. */
int tonnage_mpiio_view(void *file, int64_t displacement, int64_t piece, int64_t extent)
{
    struct opened *opened = file;
    MPI_Datatype bytes, spread;
    int code;
    if (piece > INT_MAX)
        return MPI_ERR_COUNT;
    if ((code = MPI_Type_contiguous((int)piece, MPI_BYTE, &bytes)) != MPI_SUCCESS)
        return code;
    if ((code = MPI_Type_create_resized(bytes, 0, (MPI_Aint)extent, &spread)) == MPI_SUCCESS) {
        if ((code = MPI_Type_commit(&spread)) == MPI_SUCCESS)
            code = MPI_File_set_view(opened->file, (MPI_Offset)displacement, MPI_BYTE, spread, "native", MPI_INFO_NULL);
        MPI_Type_free(&spread);
    }
    MPI_Type_free(&bytes);
    return code;
}

static int count_of(int code, MPI_Status *status, int64_t *moved)
{
    int count = 0;
    if (code == MPI_SUCCESS && (code = MPI_Get_count(status, MPI_BYTE, &count)) == MPI_SUCCESS)
        *moved = count == MPI_UNDEFINED ? 0 : count;
    return code;
}

int tonnage_mpiio_read(void *file, int64_t offset, void *buffer, int64_t length, int collective, int64_t *moved)
{
    struct opened *opened = file;
    MPI_Status status;
    if (length > INT_MAX)
        return MPI_ERR_COUNT;
    return count_of((collective ? MPI_File_read_at_all : MPI_File_read_at)(
                        opened->file, (MPI_Offset)offset, buffer, (int)length, MPI_BYTE, &status),
                    &status, moved);
}

int tonnage_mpiio_write(void *file, int64_t offset, const void *buffer, int64_t length, int collective, int64_t *moved)
{
    struct opened *opened = file;
    MPI_Status status;
    if (length > INT_MAX)
        return MPI_ERR_COUNT;
    return count_of((collective ? MPI_File_write_at_all : MPI_File_write_at)(
                        opened->file, (MPI_Offset)offset, buffer, (int)length, MPI_BYTE, &status),
                    &status, moved);
}

int tonnage_mpiio_preallocate(void *file, int64_t bytes)
{
    struct opened *opened = file;
    return MPI_File_preallocate(opened->file, (MPI_Offset)bytes);
}

int tonnage_mpiio_sync(void *file)
{
    struct opened *opened = file;
    return MPI_File_sync(opened->file);
}

/* The file is closed whatever is returned. */
int tonnage_mpiio_close(void *file)
{
    struct opened *opened = file;
    int code;
    begin(opened->alone);
    code = MPI_File_close(&opened->file);
    end(opened->alone);
    free(opened);
    return code;
}

/* Removes a file that this process has not open. */
int tonnage_mpiio_remove(const char *path)
{
    int code;
    begin(1);
    code = MPI_File_delete(path, MPI_INFO_NULL);
    end(1);
    return code;
}

/* The hints in effect as `tonnage_mpiio_open` takes them, as many as there is room for. */
int tonnage_mpiio_hints(void *file, char *text, int room)
{
    struct opened *opened = file;
    MPI_Info info;
    char name[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    int count = 0, number, found, length = 0, code;
    if (room > 0)
        *text = 0;
    if ((code = MPI_File_get_info(opened->file, &info)) != MPI_SUCCESS)
        return code;
    if (info == MPI_INFO_NULL)
        return MPI_SUCCESS;
    code = MPI_Info_get_nkeys(info, &count);
    for (number = 0; code == MPI_SUCCESS && number < count; number++) {
        if ((code = MPI_Info_get_nthkey(info, number, name)) != MPI_SUCCESS)
            break;
        code = MPI_Info_get(info, name, MPI_MAX_INFO_VAL, value, &found);
        if (code != MPI_SUCCESS || !found)
            continue;
        int needed = snprintf(text + length, (size_t)(room - length), "%s\n%s\n", name, value);
        if (needed < 0 || needed >= room - length) {
            text[length] = 0;
            break;
        }
        length += needed;
    }
    MPI_Info_free(&info);
    return code;
}
