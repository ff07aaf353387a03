// Copyright 2026 the @proc/group authors. MIT license.

/** Pidfds: descriptors that stay with one process whoever gets its number. */

import { C } from "./constants.ts";
import { callError, Errno, isExhausted } from "./errno.ts";
import { errno, libc } from "./libc.ts";
import type { ProcessInfo, SignalResult } from "./platform.ts";
import { isSame } from "./procfs.ts";
import { isWorker } from "./worker.ts";

/** Whether the kernel has refused to signal a group through a pidfd. */
let refusesGroups = false;

/**
 * A pidfd of the process, or the negative error number. The descriptor is
 * CLOEXEC and can be read once the process has ended.
 */
export function openPidfd(pid: number): number {
  const fd = libc().syscall(C.SYS_pidfd_open, pid, 0, null, 0);
  return fd === -1 ? -errno() : fd;
}

/** A descriptor that is given up when there is none for a child's pidfd. */
let reserve = -1;

/**
 * Makes sure that the next child can be held by a pidfd, before it is started;
 * false, with the error number set, if this process has no descriptor left.
 */
export function reserveDescriptor(): boolean {
  if (reserve !== -1) return true;
  reserve = libc().eventfd(0, C.EFD_CLOEXEC);
  if (reserve === -1) return false;
  globalThis.addEventListener("unload", closeReserve);
  return true;
}

/** A pidfd of a child that was just started; null where it is refused. */
export function openChildPidfd(pid: number): number | null {
  let fd = openPidfd(pid);
  if (fd === -Errno.EMFILE || fd === -Errno.ENFILE) {
    closeReserve();
    fd = openPidfd(pid);
  }
  endReserve();
  return fd < 0 ? null : fd;
}

/** The start is over: a Worker keeps nothing open for the next one. */
export function endReserve(): void {
  if (isWorker()) closeReserve();
}

function closeReserve(): void {
  if (reserve === -1) return;
  try {
    libc().close(reserve);
  } catch {
    // The permission was revoked: it stays open until the process ends.
  }
  reserve = -1;
}

/**
 * Opens a pidfd of this very process: its start time is looked at once the
 * number cannot change hands any more. "gone" if it has ended and was reaped,
 * null where the kernel or a filter refuses pidfds, or nobody can tell.
 */
export function openVerified(process: ProcessInfo): number | "gone" | null {
  const fd = openPidfd(process.pid);
  if (fd < 0) return -fd === Errno.ESRCH ? "gone" : null;
  const isIt = isKnownSame(process);
  if (isIt) return fd;
  libc().close(fd);
  return isIt === null ? null : "gone";
}

/** Whether it is this very process; null where that cannot be found out. */
export function isKnownSame(process: ProcessInfo): boolean | null {
  if (process.startTime === 0) return null;
  try {
    return isSame(process);
  } catch (error) {
    if (isExhausted(error)) return null;
    throw error;
  }
}

/** A signal to the process of a pidfd. */
export function signalPidfd(fd: number, signal: number): SignalResult {
  return toResult(
    "pidfd_send_signal",
    libc().syscall(C.SYS_pidfd_send_signal, fd, signal, null, 0),
  );
}

/**
 * A signal to the process group that the process of a pidfd leads or has led,
 * whoever has the number by now. Null for a kernel before 6.9 or a filter that
 * refuses it.
 */
export function signalPidfdGroup(
  fd: number,
  signal: number,
): SignalResult | null {
  if (refusesGroups) return null;
  const result = libc().syscall(
    C.SYS_pidfd_send_signal,
    fd,
    signal,
    null,
    C.PIDFD_SIGNAL_PROCESS_GROUP,
  );
  if (result === -1) {
    const number = errno();
    if (number === Errno.EINVAL || number === Errno.ENOSYS) {
      refusesGroups = true;
      return null;
    }
    return errnoToResult("pidfd_send_signal", number);
  }
  return "sent";
}

/** A signal to a process by its number, or to a group by the negative one. */
export function signalNumbered(pid: number, signal: number): SignalResult {
  return toResult("kill", libc().kill(pid, signal));
}

function toResult(call: string, result: number): SignalResult {
  return result === -1 ? errnoToResult(call, errno()) : "sent";
}

function errnoToResult(call: string, number: number): SignalResult {
  switch (number) {
    case Errno.ESRCH:
      return "gone";
    case Errno.EPERM:
      return "denied";
    default:
      throw callError(call, number);
  }
}
