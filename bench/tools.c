// Copyright 2026 the @proc/group authors. MIT license.

// Small programs that the experiments need on the other side:
//
//   tools watch PID...     prints "ready", then the time at which the last of
//                          these processes ended, as nanoseconds since 1970
//   tools stamp FILE       writes the time at which it runs into FILE
//   tools spew BYTES       writes so many bytes to a raw terminal and ends
//   tools echo             sends every byte back on a raw terminal
//   tools pty N COMMAND... the floor of pseudo-terminals: a plain read loop.
//                          N = 0 prints bytes read and microseconds until the
//                          end; else the median round trip of N single bytes

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int watch(int count, char **pids) {
  static struct pollfd fds[8192];
  for (int i = 0; i < count; i++) {
    fds[i].fd = syscall(SYS_pidfd_open, atoi(pids[i]), 0);
    fds[i].events = POLLIN;
  }
  puts("ready");
  fflush(stdout);
  for (int left = count; left > 0;) {
    if (poll(fds, count, 30000) <= 0) return 1;
    for (int i = 0; i < count; i++) {
      if (fds[i].fd < 0 || !fds[i].revents) continue;
      close(fds[i].fd);
      fds[i].fd = -1;
      left--;
    }
  }
  printf("%lld\n", now_ns(CLOCK_REALTIME));
  return 0;
}

static int stamp(const char *path) {
  long long now = now_ns(CLOCK_REALTIME);
  FILE *file = fopen(path, "w");
  if (!file) return 1;
  fprintf(file, "%lld\n", now);
  return fclose(file);
}

static void make_raw(void) {
  struct termios settings;
  if (tcgetattr(0, &settings)) return;
  cfmakeraw(&settings);
  tcsetattr(0, TCSANOW, &settings);
}

static int spew(long long left) {
  static char bytes[65536];
  memset(bytes, 'x', sizeof bytes);
  make_raw();
  while (left > 0) {
    size_t size = left < (long long)sizeof bytes ? (size_t)left : sizeof bytes;
    ssize_t written = write(1, bytes, size);
    if (written < 0) return 1;
    left -= written;
  }
  return 0;
}

static int echo(void) {
  char byte;
  make_raw();
  if (write(1, "!", 1) != 1) return 1;
  while (read(0, &byte, 1) == 1) {
    if (write(1, &byte, 1) != 1) return 1;
  }
  return 0;
}

static pid_t start(int master, char **command) {
  pid_t pid = fork();
  if (pid != 0) return pid;
  setsid();
  int slave = open(ptsname(master), O_RDWR);
  for (int fd = 0; fd < 3; fd++) dup2(slave, fd);
  if (slave > 2) close(slave);
  execvp(command[0], command);
  _exit(127);
}

static int compare(const void *a, const void *b) {
  long long x = *(const long long *)a, y = *(const long long *)b;
  return (x > y) - (x < y);
}

static int pty(int rounds, char **command) {
  static char bytes[65536];
  int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0 || grantpt(master) || unlockpt(master)) return 1;
  long long begin = now_ns(CLOCK_MONOTONIC), total = 0;
  pid_t pid = start(master, command);
  if (rounds == 0) {
    for (ssize_t size; (size = read(master, bytes, sizeof bytes)) > 0;)
      total += size;
    printf("%lld %lld\n", total, (now_ns(CLOCK_MONOTONIC) - begin) / 1000);
  } else {
    long long *times = calloc(rounds, sizeof *times);
    if (read(master, bytes, 1) != 1) return 1;
    for (int i = 0; i < rounds; i++) {
      begin = now_ns(CLOCK_MONOTONIC);
      if (write(master, "x", 1) != 1 || read(master, bytes, 1) != 1) return 1;
      times[i] = now_ns(CLOCK_MONOTONIC) - begin;
    }
    qsort(times, rounds, sizeof *times, compare);
    printf("%.1f\n", times[rounds / 2] / 1000.0);
    kill(pid, SIGKILL);
  }
  waitpid(pid, NULL, 0);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 2) return 125;
  if (!strcmp(argv[1], "watch")) return watch(argc - 2, argv + 2);
  if (!strcmp(argv[1], "stamp") && argc > 2) return stamp(argv[2]);
  if (!strcmp(argv[1], "spew") && argc > 2) return spew(atoll(argv[2]));
  if (!strcmp(argv[1], "echo")) return echo();
  if (!strcmp(argv[1], "pty") && argc > 3) return pty(atoi(argv[2]), argv + 3);
  return 125;
}
