// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Reads proc(5) through libc: without the permission that Deno wants for every
 * file in it, and at a fraction of the cost.
 */

import { C } from "./constants.ts";
import { callError } from "./errno.ts";
import { cString, errno, libc } from "./libc.ts";
import type { ProcessInfo, ScanQuery, Snapshot } from "./platform.ts";
import { NOTHING } from "./shared_scan.ts";
import { readFile, sharedBuffer } from "./procfs_file.ts";
import { addMarks, addMarksLater } from "./procfs_marks.ts";
import { isLive, parseStat } from "./stat.ts";

/** After so many processes of a scan the event loop gets a turn. */
const PROCESSES_PER_TURN = 256;

/** Somebody may start processes faster than they can be listed. */
const MAX_LISTINGS = 16;

const decoder = new TextDecoder();

/** The process, zombies included, or null if there is none. */
export function readProcess(pid: number): ProcessInfo | null {
  const stat = readFile(`/proc/${pid}/stat`);
  return stat === null ? null : parseStat(pid, decoder.decode(stat));
}

/** Whether there is a procfs, and one of this process's own PID namespace. */
export function hasProcfs(): boolean {
  const stat = readFile("/proc/self/stat");
  return stat !== null && decoder.decode(stat).startsWith(`${Deno.pid} `);
}

/** Whether this very process still exists, be it as a zombie. */
export function isSame(process: ProcessInfo): boolean {
  return readProcess(process.pid)?.startTime === process.startTime;
}

/** An entry of the directory of processes. */
interface Entry {
  readonly pid: number;
  /**
   * Inode of the process's own directory. A process that gets a number later
   * has another one, and a process gets another one only under memory pressure,
   * so together with the pid it tells that this was seen before.
   */
  readonly inode: number;
}

/** What the last scan has found out and what never changes. */
interface Birth {
  readonly inode: number;
  readonly startTime: number;
}

/** By pid. Spares reading again all that are older than every group. */
let births: ReadonlyMap<number, Birth> = new Map();

/**
 * Looks at all processes that are not older than `since`, and at those that
 * this one descends from; a number of them at a time.
 */
export async function scanProcfs(query: ScanQuery): Promise<Snapshot> {
  const processes: ProcessInfo[] = [];
  const marks = new Map<number, number[]>();
  const blank: ProcessInfo[] = [];
  const seen = new Map<number, Birth>();
  const sessions = new Set(query.sessions);
  let count = 0;
  const listing = { complete: false };
  for (const { pid, inode } of newEntries(listing)) {
    const birth = births.get(pid);
    if (birth?.inode === inode && birth.startTime < query.since) {
      seen.set(pid, birth);
      continue;
    }
    if (++count % PROCESSES_PER_TURN === 0) await nextTurn();
    const process = readProcess(pid);
    if (process === null) continue;
    seen.set(pid, { inode, startTime: process.startTime });
    if (process.startTime < query.since) continue;
    processes.push(process);
    if (!query.marks || !isLive(process) || sessions.has(process.sid)) continue;
    if (!addMarks(process, marks)) blank.push(process);
  }
  births = seen;
  await addMarksLater(blank, marks);
  addAncestors(processes);
  // Procfs that does not show this process itself is none to rely on.
  if (!processes.some(({ pid }) => pid === Deno.pid)) return NOTHING;
  const escapees = query.marks ? "environ" : "none";
  const { complete } = listing;
  return { processes, complete, marks, members: "procfs", escapees };
}

/**
 * All processes, those included that are started meanwhile: one that forks and
 * exits before it is read would hide its child otherwise. The listing is
 * complete when one more, after all were read, has shown nobody new.
 */
function* newEntries(listing: { complete: boolean }): Generator<Entry> {
  const known = new Map<number, number>();
  for (let i = 0; i < MAX_LISTINGS; i++) {
    const entries = listEntries(known);
    listing.complete = entries.length === 0;
    if (listing.complete) return;
    yield* entries;
  }
}

/** Adds this process and its ancestors, however old they are. */
function addAncestors(processes: ProcessInfo[]): void {
  const known = new Map(processes.map((process) => [process.pid, process]));
  let pid = Deno.pid;
  while (pid > 0) {
    const process = known.get(pid) ?? readProcess(pid);
    if (process === null) return;
    if (!known.has(pid)) processes.push(process);
    pid = process.ppid;
  }
}

/** Looks at the members of one process group, at once. */
export function lookAtGroup(pgid: number): Snapshot {
  const processes: ProcessInfo[] = [];
  const marks = new Map<number, number[]>();
  for (const { pid } of listEntries()) {
    const process = readProcess(pid);
    // Whoever has the number as a pid says whose the group is.
    if (process?.pgid !== pgid && process?.pid !== pgid) continue;
    processes.push(process);
    if (isLive(process)) addMarks(process, marks);
  }
  return { processes, marks, members: "procfs", escapees: "environ" };
}

/** Those in the directory of processes that are not known, by pid and inode. */
export function listEntries(known = new Map<number, number>()): Entry[] {
  const flags = C.O_RDONLY | C.O_DIRECTORY | C.O_CLOEXEC;
  const fd = libc().open(cString("/proc"), flags, 0);
  if (fd === -1) throw callError("open", errno());
  const entries: Entry[] = [];
  try {
    for (;;) {
      const buffer = sharedBuffer();
      const length = libc().getdents64(fd, buffer, buffer.length);
      if (length === -1) throw callError("getdents64", errno());
      if (length === 0) return entries;
      collectEntries(new DataView(buffer.buffer, 0, length), known, entries);
    }
  } finally {
    libc().close(fd);
  }
}

/** Adds those of `struct dirent64` whose names are numbers and not known. */
function collectEntries(
  list: DataView,
  known: Map<number, number>,
  entries: Entry[],
): void {
  let length = 0;
  for (let start = 0; start < list.byteLength; start += length) {
    length = list.getUint16(start + 16, true);
    const pid = readNumber(list, start + 19);
    // Inodes of procfs are 32 bits wide.
    const inode = list.getUint32(start, true);
    if (pid === 0 || known.get(pid) === inode) continue;
    known.set(pid, inode);
    entries.push({ pid, inode });
  }
}

/** A number that ends with a NUL, or 0 for any other name. */
function readNumber(text: DataView, start: number): number {
  let number = 0;
  for (let i = start;; i++) {
    const code = text.getUint8(i);
    if (code === 0) return number;
    // "0" is 48, and the digits follow.
    if (code < 48 || code > 57) return 0;
    number = number * 10 + code - 48;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
