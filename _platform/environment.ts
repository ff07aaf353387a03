// Copyright 2026 the @proc/group authors. MIT license.

/**
 * This process's environment, environ(7), as a child inherits it: where the
 * strings are, so that they arrive byte by byte.
 *
 * Another thread, a Worker's, may be in the middle of a setenv(3) that moves the
 * array of addresses. So the array is copied by the kernel, which refuses what
 * is not there any more, and what does not hold together is read again. The
 * strings themselves are neither changed nor freed.
 */

import { C } from "./constants.ts";
import { Errno } from "./errno.ts";
import { addressOf, errno, libc } from "./libc.ts";

/** This process's environment. */
export interface Environment {
  /** Value of each variable by its name. */
  readonly values: ReadonlyMap<string, string>;
  /** Names in the order of the addresses; one may be there twice. */
  readonly names: readonly string[];
  /** Where the C strings are. */
  readonly addresses: BigUint64Array<ArrayBuffer>;
}

/** What was read last. */
interface Reading extends Environment {
  /** All that `environ` led to, NULL included. */
  readonly pointers: BigUint64Array<ArrayBuffer>;
  /** `NAME=value` by its address. */
  readonly entries: ReadonlyMap<bigint, string>;
}

const PAGE_BYTES = 4096;

/** How often what does not hold together is read again. */
const MAX_READS = 100;

let last: Reading = {
  values: new Map(),
  names: [],
  addresses: new BigUint64Array(),
  pointers: new BigUint64Array(),
  entries: new Map(),
};

/** The array of addresses as it was copied last, and where that is. */
let room = new BigUint64Array(PAGE_BYTES / 8);
let roomAddress = 0n;

/** Two `struct iovec` of process_vm_readv(2): address and length of each side. */
const LOCAL = new BigUint64Array(2);
const REMOTE = new BigUint64Array(2);

/**
 * All variables of this process, as a child of `Deno.Command` inherits them:
 * without the permission to read them, which nobody gets here either.
 */
export function inheritedEnvironment(): Environment {
  for (let reads = 1;; reads++) {
    const isLast = reads >= MAX_READS;
    const count = copyPointers({ trusting: isLast });
    if (count === null) continue;
    if (isLastCopied(last, count)) return last;
    const reading = read(room.slice(0, count), { strict: !isLast });
    if (reading && (isLast || isLastCopied(reading, copyPointers()))) {
      last = reading;
      return last;
    }
  }
}

/** Whether what was copied last is what was read: then all values are, too. */
function isLastCopied({ pointers }: Reading, count: number | null): boolean {
  return pointers.length === count &&
    libc().memcmp(room, pointers, pointers.byteLength) === 0;
}

/**
 * Copies what `environ` leads to, NULL included, and gives the number of it;
 * null if it is not there any more, unless the environment is trusted to be.
 */
function copyPointers({ trusting = false } = {}): number | null {
  const base = new Deno.UnsafePointerView(libc().environ).getBigUint64();
  if (base === 0n) return 0;
  for (let count = 0;;) {
    const address = base + BigInt(8 * count);
    // What comes after the end of the array may be another page, or none.
    const more = (PAGE_BYTES - Number(address % BigInt(PAGE_BYTES))) / 8;
    if (!copyMemory(address, count, more, trusting)) return null;
    const end = room.indexOf(0n, count);
    count += more;
    if (end !== -1 && end < count) return end + 1;
  }
}

/** Copies so many addresses into the room; false if they are not there. */
function copyMemory(
  address: bigint,
  from: number,
  count: number,
  trusting: boolean,
): boolean {
  makeRoom(from + count);
  LOCAL[0] = roomAddress + BigInt(8 * from);
  REMOTE[0] = address;
  LOCAL[1] = REMOTE[1] = BigInt(8 * count);
  const result = libc().process_vm_readv(Deno.pid, LOCAL, 1, REMOTE, 1, 0);
  if (result !== -1) return result === 8 * count;
  if (errno() === Errno.EFAULT && !trusting) return false;
  // A filter refuses the call: the memory is read as it is.
  const memory = new Deno.UnsafePointerView(
    Deno.UnsafePointer.create(address)!,
  );
  memory.copyInto(room.subarray(from, from + count));
  return true;
}

function makeRoom(count: number): void {
  if (roomAddress !== 0n && count <= room.length) return;
  const larger = new BigUint64Array(Math.max(room.length, 2 * count));
  larger.set(room);
  room = larger;
  roomAddress = addressOf(room);
}

/** Reads the strings; null if one is none, unless that has to do. */
function read(
  pointers: BigUint64Array<ArrayBuffer>,
  { strict }: { strict: boolean },
): Reading | null {
  const values = new Map<string, string>();
  const entries = new Map<bigint, string>();
  const names: string[] = [];
  for (const address of pointers.subarray(0, -1)) {
    const entry = last.entries.get(address) ?? readEntry(address);
    const split = entry?.indexOf("=", 1) ?? -1;
    if (entry === undefined || split < 0) {
      if (strict) return null;
      continue;
    }
    const name = entry.slice(0, split);
    names.push(name);
    entries.set(address, entry);
    // Of two, getenv(3) finds the first.
    if (!values.has(name)) values.set(name, entry.slice(split + 1));
  }
  const addresses = pointers.filter((address) => entries.has(address));
  return { values, names, addresses, pointers, entries };
}

/** The C string at an address; undefined if nothing can be read there. */
function readEntry(address: bigint): string | undefined {
  const pointer = Deno.UnsafePointer.create(address);
  if (pointer === null) return undefined;
  // The kernel refuses what this process must not touch. Relative to no
  // directory it does not look for such a file.
  const result = libc().faccessat_pointer(-1, pointer, C.F_OK, 0);
  if (result === -1 && errno() === Errno.EFAULT) return undefined;
  return new Deno.UnsafePointerView(pointer).getCString();
}
