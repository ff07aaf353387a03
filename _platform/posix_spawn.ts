// Copyright 2026 the @proc/group authors. MIT license.

/**
 * posix_spawn(3), which starts a program without copying this process's page
 * tables: its cost does not grow with the memory in use.
 */

import { C, SIZEOF } from "./constants.ts";
import { callError } from "./errno.ts";
import { addressOf, cString, type Libc, libc } from "./libc.ts";

/** What the child does to one of its descriptors before it runs the program. */
export type FileAction =
  | {
    /** The child's descriptor. */
    readonly fd: number;
    /** The descriptor of this process that it becomes a copy of. */
    readonly from: number;
  }
  | {
    /** The child's descriptor. */
    readonly fd: number;
    /** The file that it opens, absolute or relative to its directory. */
    readonly open: string;
    /** Flags of open(2). */
    readonly flags: number;
  };

/** A program to start. */
export interface SpawnPlan {
  /** Path of the program, absolute or relative to the child's directory. */
  readonly path: string;
  /** All arguments, the program's name first. */
  readonly argv: readonly string[];
  /** `NAME=value` each, or the address of one of this process's own. */
  readonly envp: readonly (string | bigint)[];
  /** The child's directory; this process's own if undefined. */
  readonly cwd?: string | undefined;
  /** Done in this order. Descriptors that are not named are inherited. */
  readonly actions?: readonly FileAction[];
  /** Whether the child leads a session and a process group of its own. */
  readonly newSession?: boolean;
  /**
   * Which signals get their default action: SIGPIPE alone, which Deno ignores,
   * or every one. None is blocked in the child.
   */
  readonly resetSignals?: "pipe" | "all";
}

/** Pid of the child, or the error number of what failed. */
export type SpawnResult =
  | { readonly pid: number; readonly errno: 0 }
  | { readonly pid: 0; readonly errno: number };

/**
 * Starts a program. A program that cannot be run or a file that cannot be
 * opened is an error here and leaves no child.
 */
export function posixSpawn(plan: SpawnPlan): SpawnResult {
  const c = libc();
  const actions = new Uint8Array(SIZEOF.posix_spawn_file_actions_t);
  c.posix_spawn_file_actions_init(actions);
  try {
    const errno = fillActions(c, actions, plan);
    return errno ? { pid: 0, errno } : spawn(c, plan, actions);
  } finally {
    c.posix_spawn_file_actions_destroy(actions);
  }
}

function spawn(c: Libc, plan: SpawnPlan, actions: BufferSource): SpawnResult {
  const pid = new Int32Array(1);
  const errno = c.posix_spawn(
    pid,
    cString(plan.path),
    actions,
    attributesFor(c, plan),
    pointerArray(plan.argv),
    pointerArray(plan.envp),
  );
  return errno === 0 ? { pid: pid[0]!, errno } : { pid: 0, errno };
}

/** One for each kind of child: it holds no memory of the C library's. */
const attributes = new Map<string, Uint8Array<ArrayBuffer>>();

function attributesFor(
  c: Libc,
  { newSession = false, resetSignals = "pipe" }: SpawnPlan,
): BufferSource {
  const key = `${newSession} ${resetSignals}`;
  let kept = attributes.get(key);
  if (kept === undefined) {
    kept = new Uint8Array(SIZEOF.posix_spawnattr_t);
    fillAttributes(c, kept, newSession, resetSignals);
    attributes.set(key, kept);
  }
  return kept;
}

function fillAttributes(
  c: Libc,
  attributes: BufferSource,
  newSession: boolean,
  resetSignals: "pipe" | "all",
): void {
  const session = newSession ? C.POSIX_SPAWN_SETSID : 0;
  const flags = C.POSIX_SPAWN_SETSIGDEF | C.POSIX_SPAWN_SETSIGMASK | session;
  const set = new Uint8Array(SIZEOF.sigset_t);
  c.posix_spawnattr_init(attributes);
  c.posix_spawnattr_setsigmask(attributes, set);
  // Signal 1 is the lowest bit of the first byte.
  if (resetSignals === "all") set.fill(0xff, 0, 8);
  else set[(C.SIGPIPE - 1) >> 3] = 1 << ((C.SIGPIPE - 1) & 7);
  c.posix_spawnattr_setsigdefault(attributes, set);
  // Of these only the flags can be refused, where SETSID is not known.
  const errno = c.posix_spawnattr_setflags(attributes, flags);
  if (errno !== 0) throw callError("posix_spawnattr_setflags", errno);
}

function fillActions(c: Libc, actions: BufferSource, plan: SpawnPlan): number {
  let errno = 0;
  if (plan.cwd !== undefined) {
    const cwd = cString(plan.cwd);
    errno = c.posix_spawn_file_actions_addchdir_np(actions, cwd);
  }
  for (const action of plan.actions ?? []) {
    errno ||= "open" in action
      ? c.posix_spawn_file_actions_addopen(
        actions,
        action.fd,
        cString(action.open),
        action.flags,
        0,
      )
      : c.posix_spawn_file_actions_adddup2(actions, action.from, action.fd);
  }
  return errno;
}

const encoder = new TextEncoder();

/**
 * A `char *const[]` that ends with NULL. The texts follow the pointers in the
 * same buffer, so that whoever holds the buffer holds all of it.
 */
function pointerArray(items: readonly (string | bigint)[]): BufferSource {
  const strings = items.filter((item) => typeof item === "string");
  const texts = encoder.encode(strings.join("\0"));
  const pointerBytes = (items.length + 1) * 8;
  // A small typed array can live where the garbage collector moves it.
  const size = Math.max(pointerBytes + texts.length + 1, 128);
  const bytes = new Uint8Array(new ArrayBuffer(size));
  bytes.set(texts, pointerBytes);
  const pointers = new BigUint64Array(bytes.buffer, 0, items.length + 1);
  const base = addressOf(bytes);
  let offset = pointerBytes;
  for (let i = 0; i < items.length; i++) {
    const item = items[i]!;
    if (typeof item === "bigint") {
      pointers[i] = item;
    } else {
      pointers[i] = base + BigInt(offset);
      offset = bytes.indexOf(0, offset) + 1;
    }
  }
  return bytes;
}
