// Copyright 2026 the @proc/group authors. MIT license.

// What the kernel allows: ends a process tree as fast as a C program can, and
// says how long that took. Two ways:
//
//   floor pidfd SIGNAL GRACE_MS COMMAND [ARG...]
//     signals the session's groups and waits for every member's pidfd on epoll.
//   floor subreaper SIGNAL GRACE_MS COMMAND [ARG...]
//     adopts all descendants, signals them and reaps until none is left.
//
// Starts COMMAND in a session of its own, prints its pid, waits for a line on
// standard input, ends the tree and prints microseconds from the first signal
// to gone, and microseconds of CPU time that this took.

#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_MEMBERS 8192

struct member {
  pid_t pid;
  pid_t ppid;
  pid_t pgid;
  pid_t sid;
  char state;
};

static struct member members[MAX_MEMBERS];
static int count;

static void fail(const char *what) {
  perror(what);
  exit(125);
}

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static double cpu_us(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
         usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

// Reads one process's stat; counted from the last ')' because of its name.
static int read_member(int proc, const char *name, struct member *member) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "%s/stat", name);
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return 0;
  text[length] = 0;
  char *rest = strrchr(text, ')');
  member->pid = atoi(name);
  return rest && sscanf(rest + 2, "%c %d %d %d", &member->state, &member->ppid,
                        &member->pgid, &member->sid) == 4;
}

// One scan of /proc: the live members of the session, or with session 0 the
// live children of this process.
static void scan(pid_t session) {
  static DIR *dir;
  if (!dir && !(dir = opendir("/proc"))) fail("/proc");
  rewinddir(dir);
  count = 0;
  for (struct dirent *entry; (entry = readdir(dir));) {
    struct member *member = &members[count];
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    if (!read_member(dirfd(dir), entry->d_name, member)) continue;
    if (member->state == 'Z' || member->state == 'X') continue;
    int wanted = session ? member->sid == session : member->ppid == getpid();
    if (wanted && count < MAX_MEMBERS - 1) count++;
  }
}

// Signals each process group of the last scan once, except one.
static void signal_groups(int signo, pid_t except) {
  for (int i = 0; i < count; i++) {
    pid_t pgid = members[i].pgid;
    int seen = pgid == except;
    for (int j = 0; j < i && !seen; j++) seen = members[j].pgid == pgid;
    if (!seen) kill(-pgid, signo);
  }
}

static int left_ms(double end) {
  double left = (end - now_us()) / 1000;
  return left < 0 ? 0 : (int)left + 1;
}

static void end_with_pidfds(pid_t leader, int signo, int grace_ms) {
  double grace_end = now_us() + grace_ms * 1000.0;
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  kill(-leader, signo);
  scan(leader);
  signal_groups(signo, leader);
  for (; count > 0; scan(leader)) {
    if (signo == SIGKILL) signal_groups(SIGKILL, 0);
    int watched = 0;
    for (int i = 0; i < count; i++) {
      int fd = syscall(SYS_pidfd_open, members[i].pid, 0);
      if (fd < 0) continue;
      struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
      epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
      watched++;
    }
    while (watched > 0) {
      struct epoll_event events[256];
      int timeout = signo == SIGKILL ? -1 : left_ms(grace_end);
      int ready = epoll_wait(epoll, events, 256, timeout);
      if (ready < 0 && errno != EINTR) fail("epoll_wait");
      if (ready == 0) {
        signo = SIGKILL;
        signal_groups(SIGKILL, 0);
      }
      for (int i = 0; i < ready; i++, watched--) close(events[i].data.fd);
    }
  }
  waitpid(leader, NULL, 0);
}

// Signals whoever has been adopted and was not sent this signal yet.
static void signal_children(int signo) {
  static unsigned char sent[1 << 22];
  scan(0);
  for (int i = 0; i < count; i++) {
    pid_t pid = members[i].pid;
    if (sent[pid] != signo) kill(pid, signo);
    sent[pid] = signo;
  }
}

static void end_as_subreaper(pid_t leader, int signo, int grace_ms) {
  double grace_end = now_us() + grace_ms * 1000.0;
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  kill(-leader, signo);
  scan(leader);
  signal_groups(signo, leader);
  for (;;) {
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) continue;
    if (pid < 0) return;
    int left = left_ms(grace_end);
    if (left == 0) signo = SIGKILL;
    signal_children(signo);
    // A child that dies may hand its own children over.
    if (left == 0) left = 50;
    struct timespec timeout = {left / 1000, left % 1000 * 1000000L};
    sigtimedwait(&child, NULL, &timeout);
  }
}

static pid_t start(char **command) {
  pid_t pid = fork();
  if (pid < 0) fail("fork");
  if (pid > 0) return pid;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  setsid();
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; fd++) dup2(null, fd);
  execvp(command[0], command);
  _exit(127);
}

int main(int argc, char **argv) {
  if (argc < 5) return 125;
  int subreaper = strcmp(argv[1], "subreaper") == 0;
  int signo = atoi(argv[2]), grace_ms = atoi(argv[3]);
  if (subreaper) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  pid_t leader = start(argv + 4);
  printf("%d\n", leader);
  fflush(stdout);
  getchar();
  double cpu = cpu_us(), begin = now_us();
  if (subreaper) end_as_subreaper(leader, signo, grace_ms);
  else end_with_pidfds(leader, signo, grace_ms);
  printf("%.0f %.0f\n", now_us() - begin, cpu_us() - cpu);
  return 0;
}
