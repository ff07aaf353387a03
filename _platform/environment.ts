// Copyright 2026 the @proc/group authors. MIT license.

import { libc } from "./libc.ts";

/** This process's environment, environ(7). */
export interface Environment {
  /** Value of each variable by its name. */
  readonly values: ReadonlyMap<string, string>;
  /** Names in the order of the addresses; one may be there twice. */
  readonly names: readonly string[];
  /** Where the C strings are, for a child to inherit them byte by byte. */
  readonly addresses: BigUint64Array<ArrayBuffer>;
}

/** What was read last, and all pointers that `environ` led to, NULL included. */
interface Reading extends Environment {
  readonly base: Deno.PointerValue;
  readonly pointers: BigUint64Array<ArrayBuffer>;
}

let last: Reading | null = null;

/**
 * All variables of this process, as a child of `Deno.Command` inherits them:
 * without the permission to read them, which nobody gets here either.
 */
export function inheritedEnvironment(): Environment {
  const base = new Deno.UnsafePointerView(libc().environ).getPointer();
  if (last !== null && isUnchanged(last, base)) return last;
  last = base === null ? nothing() : read(base);
  return last;
}

/**
 * Whether the pointers are the same as before. setenv(3) never writes into a
 * string that is there, so then all the values are, too.
 */
function isUnchanged(
  { base, pointers }: Reading,
  now: Deno.PointerValue,
): boolean {
  if (base === null || now === null) return base === now;
  return Deno.UnsafePointer.equals(base, now) &&
    libc().memcmp(now, pointers, pointers.byteLength) === 0;
}

function nothing(): Reading {
  return {
    values: new Map(),
    names: [],
    addresses: new BigUint64Array(),
    base: null,
    pointers: new BigUint64Array(),
  };
}

function read(base: Deno.PointerObject): Reading {
  const array = new Deno.UnsafePointerView(base);
  const values = new Map<string, string>();
  const names: string[] = [];
  const addresses: bigint[] = [];
  const pointers: bigint[] = [];
  for (let offset = 0;; offset += 8) {
    const address = array.getBigUint64(offset);
    pointers.push(address);
    if (address === 0n) break;
    const entry = new Deno.UnsafePointerView(array.getPointer(offset)!)
      .getCString();
    const split = entry.indexOf("=", 1);
    if (split < 0) continue;
    const name = entry.slice(0, split);
    names.push(name);
    addresses.push(address);
    // Of two, getenv(3) finds the first.
    if (!values.has(name)) values.set(name, entry.slice(split + 1));
  }
  return {
    values,
    names,
    addresses: BigUint64Array.from(addresses),
    base,
    pointers: BigUint64Array.from(pointers),
  };
}
