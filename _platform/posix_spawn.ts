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
  /** Addresses of the variables that are this process's own. */
  readonly inherited?: BigUint64Array;
  /** The other variables, `NAME=value` each. */
  readonly env: readonly string[];
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
  const actions = actionsFor(c, plan);
  if (typeof actions === "number") return { pid: 0, errno: actions };
  const { path, argv, envp } = layOut(plan);
  const attributes = attributesFor(c, plan);
  const errno = c.posix_spawn(PID, path, actions, attributes, argv, envp);
  return errno === 0 ? { pid: PID[0]!, errno } : { pid: 0, errno };
}

/** Where the pid of a child is put, for one call at a time. */
const PID = new Int32Array(1);

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

/**
 * What was filled in before, by what it does: most children are started like
 * others before them, and each action takes a call.
 */
const actions = new Map<string, Uint8Array<ArrayBuffer>>();

const MAX_KEPT_ACTIONS = 16;

/** Tells the actions of two plans apart: no path holds a NUL. */
function keyOf({ cwd, actions = [] }: SpawnPlan): string {
  let key = cwd ?? "\0";
  for (const action of actions) {
    key += "open" in action
      ? `\0${action.fd}=${action.open}\0${action.flags}`
      : `\0${action.fd}<${action.from}`;
  }
  return key;
}

/** The file actions of a plan, or the error number of what failed. */
function actionsFor(c: Libc, plan: SpawnPlan): BufferSource | number {
  const key = keyOf(plan);
  const kept = actions.get(key);
  if (kept !== undefined) return kept;
  if (actions.size >= MAX_KEPT_ACTIONS) {
    actions.forEach((kept) => c.posix_spawn_file_actions_destroy(kept));
    actions.clear();
  }
  const filled = new Uint8Array(SIZEOF.posix_spawn_file_actions_t);
  c.posix_spawn_file_actions_init(filled);
  const errno = fillActions(c, filled, plan);
  if (errno !== 0) {
    c.posix_spawn_file_actions_destroy(filled);
    return errno;
  }
  actions.set(key, filled);
  return filled;
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

/** The texts of a plan as C has them; all are parts of one buffer. */
interface Layout {
  readonly path: BufferSource;
  readonly argv: BufferSource;
  readonly envp: BufferSource;
}

/** Room for one layout; the call is over before the next one is made. */
interface Room {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly pointers: BigUint64Array;
  readonly base: bigint;
}

let room: Room | null = null;

const NONE = new BigUint64Array();

function roomFor(size: number): Room {
  if (room === null || room.bytes.length < size) {
    const bytes = new Uint8Array(Math.max(2 ** 14, Math.ceil(size / 8) * 8));
    const pointers = new BigUint64Array(bytes.buffer);
    room = { bytes, pointers, base: addressOf(bytes) };
  }
  return room;
}

/** Two `char *const[]` that end with NULL, and the texts behind them. */
function layOut({ path, argv, env, inherited = NONE }: SpawnPlan): Layout {
  const text = [path, ...argv, ...env, ""].join("\0");
  const inheritedAt = argv.length + 1;
  const envAt = inheritedAt + inherited.length;
  const endAt = envAt + env.length;
  const textsAt = (endAt + 1) * 8;
  // A character takes three bytes at most.
  const { bytes, pointers, base } = roomFor(textsAt + 3 * text.length);
  encoder.encodeInto(text, bytes.subarray(textsAt));
  let offset = textsAt;
  const nextText = () => {
    offset = bytes.indexOf(0, offset) + 1;
    return base + BigInt(offset);
  };
  for (let i = 0; i < argv.length; i++) pointers[i] = nextText();
  pointers[argv.length] = 0n;
  pointers.set(inherited, inheritedAt);
  for (let i = envAt; i < endAt; i++) pointers[i] = nextText();
  pointers[endAt] = 0n;
  return {
    path: bytes.subarray(textsAt),
    argv: bytes,
    envp: bytes.subarray(inheritedAt * 8),
  };
}
