// Copyright 2026 the @proc/group authors. MIT license.

/** The few functions of the C library that contestants without this package use. */

const SYMBOLS = {
  // int killpg(pid_t pgrp, int sig)
  killpg: { parameters: ["i32", "i32"], result: "i32" },
  // int prctl(int op, ...)
  prctl: { parameters: ["i32", "u64"], result: "i32" },
  // pid_t waitpid(pid_t pid, int *wstatus, int options)
  waitpid: { parameters: ["i32", "pointer", "i32"], result: "i32" },
  // int open(const char *pathname, int flags)
  open: { parameters: ["buffer", "i32"], result: "i32" },
  // ssize_t read(int fd, void *buf, size_t count)
  read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  // int close(int fd)
  close: { parameters: ["i32"], result: "i32" },
  // ssize_t getdents64(int fd, void *dirp, size_t count)
  getdents64: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  // int epoll_create1(int flags)
  epoll_create1: { parameters: ["i32"], result: "i32" },
  // int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
  epoll_ctl: { parameters: ["i32", "i32", "i32", "buffer"], result: "i32" },
  // int epoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout)
  epoll_wait: {
    parameters: ["i32", "buffer", "i32", "i32"],
    result: "i32",
    nonblocking: true,
  },
  // long syscall(SYS_pidfd_open, pid_t pid, unsigned int flags)
  pidfd_open: {
    name: "syscall",
    parameters: ["i64", "i32", "u32"],
    result: "i64",
  },
  // long syscall(SYS_pidfd_send_signal, int pidfd, int sig, siginfo_t *info,
  //              unsigned int flags)
  pidfd_send_signal: {
    name: "syscall",
    parameters: ["i64", "i32", "i32", "pointer", "u32"],
    result: "i64",
  },
} as const satisfies Deno.ForeignLibraryInterface;

const SYS_PIDFD_OPEN = 434n;
const SYS_PIDFD_SEND_SIGNAL = 424n;
const PIDFD_SIGNAL_PROCESS_GROUP = 4;
const EPOLL_CTL_ADD = 1;
const EPOLLIN = 1;
/** Packed on x86_64 only. */
const EPOLL_EVENT_SIZE = Deno.build.arch === "x86_64" ? 12 : 16;
const PR_SET_CHILD_SUBREAPER = 36;
const WNOHANG = 1;

let library: Deno.DynamicLibrary<typeof SYMBOLS> | undefined;

function libc(): Deno.DynamicLibrary<typeof SYMBOLS>["symbols"] {
  library ??= Deno.dlopen("libc.so.6", SYMBOLS);
  return library.symbols;
}

/** killpg(3). */
export function killpg(pgid: number, signo: number): void {
  if (libc().killpg(pgid, signo) !== 0) throw new Error("Cannot killpg");
}

/** pidfd_open(2). */
export function pidfdOpen(pid: number): number {
  return Number(libc().pidfd_open(SYS_PIDFD_OPEN, pid, 0));
}

/** One signal to the group whose leader the descriptor names, Linux 6.9. */
export function pidfdSignalGroup(pidfd: number, signo: number): boolean {
  return libc().pidfd_send_signal(
    SYS_PIDFD_SEND_SIGNAL,
    pidfd,
    signo,
    null,
    PIDFD_SIGNAL_PROCESS_GROUP,
  ) === 0n;
}

/** Lets this process adopt its orphaned descendants. */
export function becomeSubreaper(): void {
  libc().prctl(PR_SET_CHILD_SUBREAPER, 1n);
}

/** Reaps a member of a group; false when there is none to wait for. */
export function reapMember(pgid: number): "reaped" | "running" | "none" {
  const pid = libc().waitpid(-pgid, null, WNOHANG);
  return pid > 0 ? "reaped" : pid === 0 ? "running" : "none";
}

/** Waits until all of these processes have ended. */
export async function waitForPids(pids: readonly number[]): Promise<void> {
  const epoll = libc().epoll_create1(0);
  const fds = new Set<number>();
  for (const pid of pids) {
    const fd = pidfdOpen(pid);
    if (fd < 0) continue;
    fds.add(fd);
    const event = new Uint8Array(EPOLL_EVENT_SIZE);
    const view = new DataView(event.buffer);
    view.setUint32(0, EPOLLIN, true);
    view.setUint32(EPOLL_EVENT_SIZE - 8, fd, true);
    libc().epoll_ctl(epoll, EPOLL_CTL_ADD, fd, event);
  }
  const events = new Uint8Array(64 * EPOLL_EVENT_SIZE);
  while (fds.size > 0) {
    const count = await libc().epoll_wait(epoll, events, 64, -1);
    const view = new DataView(events.buffer);
    for (let i = 0; i < count; i++) {
      const fd = view.getUint32((i + 1) * EPOLL_EVENT_SIZE - 8, true);
      libc().close(fd);
      fds.delete(fd);
    }
  }
  libc().close(epoll);
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const entries = new Uint8Array(65536);
const content = new Uint8Array(1024);

/** The text of every process's proc_pid_stat(5), read through libc. */
export function* readStats(): Generator<[pid: number, text: string]> {
  for (const name of readProcNames()) {
    const fd = libc().open(encoder.encode(`/proc/${name}/stat\0`), 0);
    if (fd < 0) continue;
    const length = Number(libc().read(fd, content, BigInt(content.length)));
    libc().close(fd);
    if (length > 0) {
      yield [Number(name), decoder.decode(content.subarray(0, length))];
    }
  }
}

function readProcNames(): string[] {
  const fd = libc().open(encoder.encode("/proc\0"), 0);
  const names: string[] = [];
  for (;;) {
    const size = BigInt(entries.length);
    const length = Number(libc().getdents64(fd, entries, size));
    if (length <= 0) break;
    const view = new DataView(entries.buffer, 0, length);
    for (let at = 0; at < length; at += view.getUint16(at + 16, true)) {
      const end = entries.indexOf(0, at + 19);
      const name = decoder.decode(entries.subarray(at + 19, end));
      if (/^\d+$/.test(name)) names.push(name);
    }
  }
  libc().close(fd);
  return names;
}
