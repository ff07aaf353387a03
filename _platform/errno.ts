// Copyright 2026 the @proc/group authors. MIT license.

import { errno, libc } from "./libc.ts";

/** Error numbers of Linux, errno(3), on x86_64 and aarch64. */
export const Errno = {
  EPERM: 1,
  ENOENT: 2,
  ESRCH: 3,
  EINTR: 4,
  EIO: 5,
  ENXIO: 6,
  E2BIG: 7,
  ENOEXEC: 8,
  EBADF: 9,
  ECHILD: 10,
  EAGAIN: 11,
  ENOMEM: 12,
  EACCES: 13,
  EFAULT: 14,
  EBUSY: 16,
  EEXIST: 17,
  ENODEV: 19,
  ENOTDIR: 20,
  EISDIR: 21,
  EINVAL: 22,
  ENFILE: 23,
  EMFILE: 24,
  ENOTTY: 25,
  ETXTBSY: 26,
  ENOSPC: 28,
  EROFS: 30,
  EPIPE: 32,
  ENAMETOOLONG: 36,
  ENOSYS: 38,
  ELOOP: 40,
} as const;

const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(Errno).map(([name, number]) => [number, name]),
);

/** Deno's own class for an error number. */
function errorClass(number: number): new (message: string) => Error {
  switch (number) {
    case Errno.ENOENT:
      return Deno.errors.NotFound;
    case Errno.EPERM:
    case Errno.EACCES:
      return Deno.errors.PermissionDenied;
    case Errno.EEXIST:
      return Deno.errors.AlreadyExists;
    case Errno.EPIPE:
      return Deno.errors.BrokenPipe;
    case Errno.EAGAIN:
      return Deno.errors.WouldBlock;
    case Errno.EINTR:
      return Deno.errors.Interrupted;
    case Errno.EBUSY:
      return Deno.errors.Busy;
    case Errno.ENOTDIR:
      return Deno.errors.NotADirectory;
    case Errno.EISDIR:
      return Deno.errors.IsADirectory;
    case Errno.ELOOP:
      return Deno.errors.FilesystemLoop;
    default:
      return Error;
  }
}

/** Makes an error of Deno's class for the number, with Deno's `code`. */
export function systemError(number: number, message: string): Error {
  const error = new (errorClass(number))(message);
  const code = NAMES.get(number);
  return code === undefined ? error : Object.assign(error, { code });
}

/** What Deno says about an error number: `Permission denied (os error 13)`. */
export function describeErrno(number: number): string {
  const text = new Deno.UnsafePointerView(libc().strerror(number)!);
  return `${text.getCString()} (os error ${number})`;
}

/** The error of a C function that failed, such as `epoll_ctl: ENOSPC`. */
export function callError(name: string, number: number): Error {
  return systemError(number, `${name}: ${NAMES.get(number) ?? number}`);
}

/** Codes of errors that say that there are none left, for now. */
const EXHAUSTED: readonly unknown[] = ["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"];

/** Whether an error means that descriptors, processes or memory ran out. */
export function isExhausted(error: unknown): boolean {
  return error instanceof Error && "code" in error &&
    EXHAUSTED.includes(error.code);
}

/** Gives the result of a C function back, or throws if it says -1. */
export function check(name: string, result: number): number {
  if (result === -1) throw callError(name, errno());
  return result;
}
