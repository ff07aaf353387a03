// Copyright 2026 the @proc/group authors. MIT license.

import { C } from "./constants.ts";
import { callError, Errno } from "./errno.ts";
import { cString, errno, libc } from "./libc.ts";

/** Every read is over before the next begins, so all share the buffer. */
let shared: Uint8Array<ArrayBuffer> | undefined;

/** Room for one read, valid until the next. */
export function sharedBuffer(): Uint8Array<ArrayBuffer> {
  return shared ??= new Uint8Array(64 * 1024);
}

/**
 * The bytes of a file of a process, valid until the next read, or null if the
 * process is gone or may not be read.
 */
export function readFile(path: string): Uint8Array<ArrayBuffer> | null {
  const fd = libc().open(cString(path), C.O_RDONLY | C.O_CLOEXEC, 0);
  if (fd === -1) return nullIfGone("open", errno());
  try {
    let length = 0;
    for (;;) {
      const free = freeSpace(length);
      const count = libc().read(fd, free, free.length);
      if (count === -1) return nullIfGone("read", errno());
      length += count;
      // These files give all that they have, up to the size asked for.
      if (count < free.length) return sharedBuffer().subarray(0, length);
    }
  } finally {
    libc().close(fd);
  }
}

/** The rest of the buffer, which grows by half when little is left. */
function freeSpace(used: number): Uint8Array<ArrayBuffer> {
  const buffer = sharedBuffer();
  if (buffer.length - used < 4096) {
    const larger = new Uint8Array(Math.ceil(buffer.length * 1.5));
    larger.set(buffer.subarray(0, used));
    shared = larger;
  }
  return sharedBuffer().subarray(used);
}

/**
 * Null for what says that there is no such process for us. Anything else, such
 * as too many open files, must not make processes look gone.
 */
function nullIfGone(call: string, number: number): null {
  switch (number) {
    case Errno.ENOENT:
    case Errno.ESRCH:
    case Errno.EACCES:
    case Errno.EPERM:
      return null;
    default:
      throw callError(call, number);
  }
}
