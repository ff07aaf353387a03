// Copyright 2026 the @proc/group authors. MIT license.

const isArm = Deno.build.arch === "aarch64";

/** Constants of Linux on x86_64 and aarch64, with header and manual page. */
export const C = {
  // <fcntl.h>, open(2)
  O_RDONLY: 0,
  O_WRONLY: 1,
  O_RDWR: 2,
  O_NOCTTY: 0o400,
  O_NONBLOCK: 0o4000,
  O_DIRECTORY: isArm ? 0o40000 : 0o200000,
  O_CLOEXEC: 0o2000000,
  // <fcntl.h>, fcntl(2)
  F_SETFL: 4,
  F_GETPIPE_SZ: 1032,
  // <fcntl.h>, faccessat(2) and statx(2)
  AT_FDCWD: -100,
  F_OK: 0,
  X_OK: 1,
  STATX_TYPE: 1,
  S_IFMT: 0o170000,
  S_IFDIR: 0o040000,
  S_IFREG: 0o100000,
  // <sys/epoll.h>, epoll_ctl(2)
  EPOLL_CLOEXEC: 0o2000000,
  EPOLL_CTL_ADD: 1,
  EPOLL_CTL_DEL: 2,
  EPOLL_CTL_MOD: 3,
  EPOLLIN: 1,
  EPOLLOUT: 4,
  EPOLLERR: 8,
  EPOLLHUP: 16,
  // <sys/eventfd.h>, eventfd(2)
  EFD_CLOEXEC: 0o2000000,
  EFD_NONBLOCK: 0o4000,
  // <poll.h>, poll(2)
  POLLIN: 1,
  POLLOUT: 4,
  // <signal.h>, signal(7)
  SIGPIPE: 13,
  // <spawn.h>, posix_spawnattr_setflags(3)
  POSIX_SPAWN_SETSIGDEF: 0x04,
  POSIX_SPAWN_SETSIGMASK: 0x08,
  POSIX_SPAWN_SETSID: 0x80,
  // <sys/wait.h>, waitid(2)
  P_PID: 1,
  WNOHANG: 1,
  WEXITED: 4,
  CLD_EXITED: 1,
  // <time.h>, clock_gettime(2)
  CLOCK_BOOTTIME: 7,
  // <sys/syscall.h>, pidfd_send_signal(2) and pidfd_open(2)
  SYS_pidfd_send_signal: 424,
  SYS_pidfd_open: 434,
  // <linux/pidfd.h>, pidfd_send_signal(2), since Linux 6.9
  PIDFD_SIGNAL_PROCESS_GROUP: 4,
} as const;

/** Sizes in bytes of structures that C allocates for itself, with room to spare. */
export const SIZEOF = {
  posix_spawnattr_t: 512,
  posix_spawn_file_actions_t: 128,
  sigset_t: 128,
  siginfo_t: 128,
  statx: 256,
  /** Packed on x86_64 only. */
  epoll_event: isArm ? 16 : 12,
} as const;

/** Offset of `stx_mode` in `struct statx`. */
export const STATX_MODE_OFFSET = 28;

/** Offset of `data` in `struct epoll_event`. */
export const EPOLL_DATA_OFFSET: number = isArm ? 8 : 4;
