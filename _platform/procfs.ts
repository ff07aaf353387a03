// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Reads proc(5) through libc: without the permission that Deno wants for every
 * file in it, and at a fraction of the cost.
 */

import { C } from "./constants.ts";
import { callError, Errno } from "./errno.ts";
import { cString, errno, libc } from "./libc.ts";
import { groupMarkPrefix, parseGroupMark } from "./marks.ts";
import type { ProcessInfo, ScanQuery, Snapshot } from "./platform.ts";
import { isLive, parseStat } from "./stat.ts";

/** After so many processes of a scan the event loop gets a turn. */
const PROCESSES_PER_TURN = 256;

/** Somebody may start processes faster than they can be listed. */
const MAX_LISTINGS = 16;

const decoder = new TextDecoder();

/** Every read is over before the next begins, so all share the buffer. */
let buffer: Uint8Array<ArrayBuffer> | undefined;

/** The process, zombies included, or null if there is none. */
export function readProcess(pid: number): ProcessInfo | null {
  const stat = readFile(`/proc/${pid}/stat`);
  return stat === null ? null : parseStat(pid, decoder.decode(stat));
}

/** Whether this very process still exists, be it as a zombie. */
export function isSame(process: ProcessInfo): boolean {
  return readProcess(process.pid)?.startTime === process.startTime;
}

/** Looks at all processes, a number of them at a time. */
export async function scanProcfs(query: ScanQuery): Promise<Snapshot> {
  const processes: ProcessInfo[] = [];
  const marks = new Map<number, number[]>();
  const blank: ProcessInfo[] = [];
  let count = 0;
  for (const pid of newPids()) {
    if (++count % PROCESSES_PER_TURN === 0) await nextTurn();
    const process = readProcess(pid);
    if (process === null) continue;
    processes.push(process);
    if (!query.marks || process.startTime < query.since) continue;
    if (isLive(process) && !addMarks(process, marks)) blank.push(process);
  }
  // In the middle of an exec there is no environment to be seen.
  if (blank.length > 0) await nextTurn();
  for (const process of blank) addMarks(process, marks);
  const escapees = query.marks ? "environ" : "none";
  return { processes, marks, members: "procfs", escapees };
}

/**
 * The pids of all processes, those included that are started meanwhile: one
 * that forks and exits before it is read would hide its child otherwise.
 */
function* newPids(): Generator<number> {
  const known = new Set<number>();
  for (let i = 0; i < MAX_LISTINGS; i++) {
    const pids = listPids().filter((pid) => !known.has(pid));
    if (pids.length === 0) return;
    for (const pid of pids) {
      known.add(pid);
      yield pid;
    }
  }
}

/** Looks at the members of one process group, at once. */
export function lookAtGroup(pgid: number): Snapshot {
  const processes: ProcessInfo[] = [];
  const marks = new Map<number, number[]>();
  for (const pid of listPids()) {
    const process = readProcess(pid);
    // Whoever has the number as a pid says whose the group is.
    if (process?.pgid !== pgid && process?.pid !== pgid) continue;
    processes.push(process);
    if (isLive(process)) addMarks(process, marks);
  }
  return { processes, marks, members: "procfs", escapees: "environ" };
}

/** The pids of all processes. */
export function listPids(): number[] {
  const flags = C.O_RDONLY | C.O_DIRECTORY | C.O_CLOEXEC;
  const fd = libc().open(cString("/proc"), flags, 0);
  if (fd === -1) throw callError("open", errno());
  const pids: number[] = [];
  try {
    buffer ??= new Uint8Array(64 * 1024);
    for (;;) {
      const length = libc().getdents64(fd, buffer, buffer.length);
      if (length === -1) throw callError("getdents64", errno());
      if (length === 0) return pids;
      collectPids(new DataView(buffer.buffer, 0, length), pids);
    }
  } finally {
    libc().close(fd);
  }
}

/** Adds the names of `struct dirent64` that are numbers. */
function collectPids(entries: DataView, pids: number[]): void {
  let length = 0;
  for (let start = 0; start < entries.byteLength; start += length) {
    length = entries.getUint16(start + 16, true);
    let pid = 0;
    for (let i = start + 19; i < start + length; i++) {
      const digit = entries.getUint8(i) - 48;
      if (digit < 0 || digit > 9) {
        // The NUL ends a name that is a number, anything else is none.
        if (digit === -48 && pid > 0) pids.push(pid);
        break;
      }
      pid = pid * 10 + digit;
    }
  }
}

/** Notes the groups whose mark a process carries; false if it shows nothing. */
function addMarks(process: ProcessInfo, marks: Map<number, number[]>): boolean {
  const environ = readFile(`/proc/${process.pid}/environ`);
  if (environ === null) return true;
  const text = decoder.decode(environ);
  if (text.includes(groupMarkPrefix)) {
    const groups = text.split("\0").map(parseGroupMark).filter((group) =>
      group !== null
    );
    if (groups.length > 0) marks.set(process.pid, groups);
  }
  return text !== "";
}

/**
 * The bytes of a file of a process, valid until the next read, or null if the
 * process is gone or may not be read.
 */
function readFile(path: string): Uint8Array<ArrayBuffer> | null {
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
      if (count < free.length) return buffer!.subarray(0, length);
    }
  } finally {
    libc().close(fd);
  }
}

/** The rest of the buffer, which grows by half when little is left. */
function freeSpace(used: number): Uint8Array<ArrayBuffer> {
  buffer ??= new Uint8Array(64 * 1024);
  if (buffer.length - used < 4096) {
    const larger = new Uint8Array(Math.ceil(buffer.length * 1.5));
    larger.set(buffer.subarray(0, used));
    buffer = larger;
  }
  return buffer.subarray(used);
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

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
