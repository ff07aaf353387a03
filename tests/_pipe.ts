// Copyright 2026 the @proc/group authors. MIT license.

/** Pipes whose ends are both this process's, for tests on libc. */

import { C } from "../_platform/constants.ts";
import { check } from "../_platform/errno.ts";
import { libc } from "../_platform/libc.ts";

/** Both descriptors, which do not block. */
export interface Pipe {
  readonly read: number;
  readonly write: number;
}

/** Opens a pipe. */
export function openPipe(): Pipe {
  const ends = new Int32Array(2);
  check("pipe2", libc().pipe2(ends, C.O_CLOEXEC | C.O_NONBLOCK));
  return { read: ends[0]!, write: ends[1]! };
}

/** Closes both ends. */
export function closePipe({ read, write }: Pipe): void {
  libc().close(read);
  libc().close(write);
}

/** Resolves after the tasks that are due now. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
