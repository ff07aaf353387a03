// Copyright 2026 the @proc/group authors. MIT license.

/**
 * What stands behind every spawned group, with pipes or on a terminal: its
 * leader, its state, and the one stop sequence that all callers share.
 */

import { findHousehold } from "./_contain.ts";
import { platformFor } from "./_platform/mod.ts";
import type {
  Leader,
  Platform,
  ProcessInfo,
  ScanQuery,
  SignalResult,
  Snapshot,
} from "./_platform/platform.ts";
import { signalGroupNumber } from "./_platform/portable.ts";
import { checkSignal } from "./_platform/signals.ts";
import { isLive } from "./_platform/stat.ts";
import { OutputReader } from "./_output.ts";
import { Looks, overlooked, unlisted } from "./_looks.ts";
import {
  type EscapeePolicy,
  isGone,
  stop,
  StopPlan,
  type StopReport,
  type StopResult,
  type Target,
} from "./_stop.ts";

/** How a group is stopped. */
export interface StopSettings {
  killSignal: Deno.Signal;
  graceMs: number;
  escapees: EscapeePolicy;
  /** Whether it runs in a PID namespace, which nobody leaves. */
  contain?: boolean;
}

/** What stands behind each public group, so that no public type shows it. */
const handles = new WeakMap<object, GroupHandle>();

/** Makes an object one that all functions take as a group. */
export function registerGroup(group: object, handle: GroupHandle): void {
  handles.set(group, handle);
}

/** What stands behind a public group; undefined for any other object. */
export function handleOf(group: object): GroupHandle | undefined {
  return handles.get(group);
}

/**
 * Highest value of pid_t. The system is given its 32 low bits, so that 2 ** 40
 * would be 0, which is the caller's own group, and 2 ** 32 + 1 everybody.
 */
const MAX_PID = 2 ** 31 - 1;

/** Time for the init of a namespace to end, in milliseconds. */
const LOOK_AGAIN_MS = 50;

let lastGroup = 0;

/** A number for a new group, unique in this module instance and never 0. */
export function nextGroup(): number {
  return ++lastGroup;
}

/** A spawned group. */
export class GroupHandle implements Target {
  readonly platform: Platform;
  readonly leader: Leader;
  readonly group: number;
  readonly settings: StopSettings;
  readonly hangsUp: boolean;
  /** The command line, for messages. */
  readonly commandLine: string;
  /** Resolves after the exit, and what has to be looked at then. */
  readonly status: Promise<Deno.CommandStatus>;
  #sources: Pick<StopReport, "members" | "escapees"> = {
    members: "signal0",
    escapees: "none",
  };
  #gone = false;
  /** Whether the command of a contained group was seen, or its end. */
  #wasInside = false;
  /** Whether nobody but the init was seen in the namespace. */
  #onlyHolds = false;
  /** Inits that counted as members: the caller has not started them. */
  #holders = new WeakSet<ProcessInfo>();
  #hasExited = false;
  #settling: Promise<void> | null = null;
  #stopping: { plan: StopPlan; result: Promise<StopResult> } | null = null;
  #reader: OutputReader | null = null;
  #removeAbortListener: () => void = () => {};

  constructor(
    init: {
      platform: Platform;
      leader: Leader;
      group: number;
      settings: StopSettings;
      commandLine: string;
      signal: AbortSignal | undefined;
      hangsUp?: boolean;
    },
  ) {
    this.platform = init.platform;
    this.leader = init.leader;
    this.group = init.group;
    this.settings = init.settings;
    this.hangsUp = init.hangsUp ?? false;
    this.commandLine = init.commandLine;
    if (init.signal) this.#listen(init.signal);
    this.status = this.leader.status.then((status) => this.#onExit(status));
  }

  get pgid(): number {
    return this.leader.pid;
  }

  get guarded(): boolean {
    return this.leader.guarded;
  }

  get gone(): boolean {
    return this.#gone;
  }

  get certain(): boolean {
    return this.platform.holdsIdentity || !this.#hasExited;
  }

  get exited(): Promise<unknown> {
    return this.status;
  }

  get contained(): boolean {
    return this.settings.contain ?? false;
  }

  get ready(): boolean {
    return !this.contained || this.#wasInside;
  }

  get lookAgainMs(): number {
    return this.#onlyHolds ? LOOK_AGAIN_MS : Infinity;
  }

  get query(): ScanQuery {
    const certain = this.platform.holdsIdentity && this.signal(0) !== "gone";
    return {
      marks: !this.contained,
      since: this.leader.startTime,
      // Once the group is gone only marks tell whose the session is.
      sessions: certain ? [this.pgid] : [],
    };
  }

  signal(signal: Deno.Signal | number): SignalResult {
    return this.#gone ? "gone" : this.leader.signalGroup(signal);
  }

  members(snapshot: Snapshot): ProcessInfo[] {
    this.#sources = { members: snapshot.members, escapees: snapshot.escapees };
    if (this.#gone) return [];
    if (snapshot.members === "signal0") return unlisted(this);
    if (!this.leader.owns(snapshot, this.group)) return [];
    if (this.contained) return this.#household(snapshot);
    const members = snapshot.processes.filter((process) =>
      isLive(process) && this.#isMember(process)
    );
    return members.length > 0 ? members : overlooked(this, snapshot);
  }

  dead(snapshot: Snapshot): ProcessInfo[] {
    const isOurs = !this.#gone && this.leader.owns(snapshot, this.group);
    return snapshot.processes.filter((process) =>
      isOurs && !isLive(process) && this.#isMember(process)
    );
  }

  escapees(snapshot: Snapshot): ProcessInfo[] {
    if (snapshot.marks.size === 0) return [];
    const family = ancestors(snapshot);
    return snapshot.processes.filter((process) =>
      snapshot.marks.get(process.pid)?.includes(this.group) &&
      isLive(process) && !family.has(process.pid) &&
      (this.#gone || !this.#isMember(process))
    );
  }

  setGone(): void {
    this.#gone = true;
    this.#removeAbortListener();
  }

  settle(): Promise<void> {
    this.setGone();
    this.#settling ??= this.leader.release();
    return this.#settling;
  }

  /**
   * Stops the group, or joins the stop that is under way. With `looksFirst`,
   * `seen` is complete: whoever a signal ends at once cannot be seen later.
   */
  async stop(
    settings: StopSettings & { looksFirst?: boolean } = this.settings,
  ): Promise<StopResult> {
    if (this.#stopping) {
      const { plan, result } = this.#stopping;
      const atOnce = settings.killSignal === "SIGKILL";
      plan.bringForward(atOnce ? 0 : settings.graceMs);
      return await result;
    }
    if (this.#settling) {
      await this.#settling;
      return { report: this.#emptyReport(), seen: [] };
    }
    const plan = new StopPlan(settings);
    const result = this.#runStop(plan);
    this.#stopping = { plan, result };
    return await result;
  }

  /** Reads what is piped and not locked, once for all who ask. */
  read(): OutputReader {
    this.#reader ??= new OutputReader(this.leader);
    return this.#reader;
  }

  /** Whether {@linkcode GroupHandle.read} was called: it locks the streams. */
  get isRead(): boolean {
    return this.#reader !== null;
  }

  /** Closes the pipes that nobody uses, so that nothing stays open. */
  async closeStreams(): Promise<void> {
    const { stdin, stdout, stderr } = this.leader;
    if (stdin && !stdin.locked) {
      await stdin.abort().catch(() => {
        // It was closed or broken before, which is all that is wanted.
      });
    }
    for (const stream of [stdout, stderr]) {
      if (stream && !stream.locked) await stream.cancel();
    }
  }

  /** The leader and all inside; whoever holds the namespace, when alone. */
  #household(snapshot: Snapshot): ProcessInfo[] {
    const { leader, inside, helpers } = findHousehold(
      snapshot.processes,
      this.pgid,
    );
    this.#wasInside ||= !leader || inside.length > 0;
    if (leader) return [leader, ...inside];
    this.#onlyHolds = inside.length === 0 && helpers.length > 0;
    if (!this.#onlyHolds) return inside;
    // The init looks for itself whether it is alone, and ends then.
    this.signal("SIGURG");
    for (const helper of helpers) this.#holders.add(helper);
    return helpers;
  }

  #isMember(process: ProcessInfo): boolean {
    return process.sid === this.pgid || process.pgid === this.pgid;
  }

  async #runStop(plan: StopPlan): Promise<StopResult> {
    try {
      const { report, seen } = await stop(this, plan);
      const result = {
        report,
        seen: seen.filter((process) => !this.#holders.has(process)),
      };
      const leaderLives = result.report.survivors.some(({ pid }) =>
        pid === this.pgid
      );
      // The leader may be dead and not reaped yet.
      if (!leaderLives) await this.status;
      return result;
    } finally {
      // Whoever calls again starts over, if there is still something to stop.
      this.#stopping = null;
    }
  }

  /** The outcome of stopping what was seen empty before. */
  #emptyReport(): StopReport {
    return {
      durationMs: 0,
      forced: false,
      escaped: [],
      survivors: [],
      ...this.#sources,
      guarded: this.guarded,
    };
  }

  async #onExit(status: Deno.CommandStatus): Promise<Deno.CommandStatus> {
    this.#hasExited = true;
    try {
      if (!this.platform.holdsIdentity) {
        if (!this.#stopping) await this.#settleIfGone();
      } else if (this.signal(0) === "gone") {
        this.#removeAbortListener();
      }
    } catch {
      // A status never rejects; stopping and waiting report what is wrong.
    }
    return status;
  }

  /** Lets everything go if the leader was the last, without a signal. */
  async #settleIfGone(): Promise<void> {
    const looks = new Looks(this);
    for (let empty = 0;;) {
      const snapshot = await this.platform.scan(this.query);
      if (snapshot.failed || this.members(snapshot).length > 0) return;
      empty = looks.members(snapshot).length === 0 ? empty + 1 : 0;
      if (!isGone(this, empty, snapshot)) continue;
      this.setGone();
      if (this.escapees(snapshot).length === 0) await this.settle();
      return;
    }
  }

  #listen(signal: AbortSignal): void {
    const onAbort = () => {
      this.stop().catch(() => {
        // Nobody awaits this stop; the next one reports what is wrong.
      });
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#removeAbortListener = () =>
      signal.removeEventListener("abort", onAbort);
  }
}

/** A process group that the caller knows by its number alone. */
export class NumberTarget implements Target {
  readonly platform: Platform = platformFor();
  readonly pgid: number;
  readonly guarded = false;
  readonly certain = true;
  readonly exited = undefined;
  readonly query: ScanQuery = { marks: false, since: 0 };
  #gone = false;

  constructor(pgid: number) {
    this.pgid = checkPgid(pgid, this.platform);
  }

  get gone(): boolean {
    return this.#gone;
  }

  signal(signal: Deno.Signal | number): SignalResult {
    if (this.#gone) return "gone";
    const result = signalGroupNumber(this.pgid, signal);
    if (result === "gone") this.#gone = true;
    return result;
  }

  members(snapshot: Snapshot): ProcessInfo[] {
    if (this.#gone) return [];
    if (snapshot.members === "signal0") return unlisted(this);
    const members = snapshot.processes.filter((process) =>
      process.pgid === this.pgid && isLive(process)
    );
    return members.length > 0 ? members : overlooked(this, snapshot);
  }

  dead(snapshot: Snapshot): ProcessInfo[] {
    return snapshot.processes.filter((process) =>
      process.pgid === this.pgid && !isLive(process)
    );
  }

  escapees(): ProcessInfo[] {
    return [];
  }

  setGone(): void {
    this.#gone = true;
  }

  settle(): Promise<void> {
    this.setGone();
    return Promise.resolve();
  }
}

/** The internal side of what a public function was given. */
export function targetOf(target: object | number): GroupHandle | NumberTarget {
  const known = typeof target === "object" && target !== null
    ? handles.get(target)
    : undefined;
  return known ?? new NumberTarget(target as number);
}

/** One signal to the process group; false if it is gone. */
export function signalOrThrow(
  target: Target,
  signal: Deno.Signal | number,
): boolean {
  const result = target.signal(checkSignal(signal));
  if (result === "denied") {
    throw new Deno.errors.PermissionDenied(
      `Cannot signal process group ${target.pgid}: Operation not permitted`,
    );
  }
  return result === "sent";
}

/** Throws unless the value can be the id of somebody else's process group. */
function checkPgid(pgid: unknown, platform: Platform): number {
  if (typeof pgid !== "number") {
    throw new TypeError(
      `Cannot use target as process group: current value is ${
        Deno.inspect(pgid)
      }, neither a group nor a number`,
    );
  }
  if (!Number.isInteger(pgid) || pgid <= 1 || pgid > MAX_PID) {
    throw new RangeError(
      `Cannot use pgid as process group: current value is ${pgid}, not an integer from 2 to ${MAX_PID}`,
    );
  }
  if (pgid === platform.ownGroup() || pgid === Deno.pid) {
    throw new RangeError(
      `Cannot use pgid as process group: current value is ${pgid}, the caller's own group`,
    );
  }
  return pgid;
}

/** This process and all that it descends from, as far as the snapshot shows. */
function ancestors(snapshot: Snapshot): Set<number> {
  const parents = new Map(
    snapshot.processes.map(({ pid, ppid }) => [pid, ppid]),
  );
  const family = new Set<number>();
  for (
    let pid: number | undefined = Deno.pid;
    pid && !family.has(pid);
    pid = parents.get(pid)
  ) {
    family.add(pid);
  }
  return family;
}
