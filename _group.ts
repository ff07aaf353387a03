// Copyright 2026 the @proc/group authors. MIT license.

/**
 * What stands behind every spawned group, with pipes or on a terminal: its
 * leader, its state, and the one stop sequence that all callers share.
 */

import { findHousehold } from "./_contain.ts";
import { atMost } from "./_platform/at_most.ts";
import type {
  Leader,
  Platform,
  ProcessInfo,
  ScanQuery,
  SignalResult,
  Snapshot,
} from "./_platform/platform.ts";
import { isLive } from "./_platform/stat.ts";
import { OutputReader } from "./_output.ts";
import { lookAt, Looks, overlooked, unlisted } from "./_looks.ts";
import {
  type EscapeePolicy,
  stop,
  StopPlan,
  type StopReport,
  type StopResult,
} from "./_stop.ts";
import type { Target } from "./_target.ts";
import { isGone } from "./_wait.ts";

/** How a group is stopped. */
export interface StopSettings {
  killSignal: Deno.Signal;
  graceMs: number;
  escapees: EscapeePolicy;
  /** Whether it runs in a PID namespace, which nobody leaves. */
  contain?: boolean;
}

/** How long the leader's exit is held up by the others at most, in milliseconds. */
const LOOK_AT_EXIT_MS = 1000;

/** Time for the init of a namespace to end, in milliseconds. */
const LOOK_AGAIN_MS = 50;

/** A stop that is under way. */
interface Stopping {
  readonly plan: StopPlan;
  /** Ends when nobody is left, or too late. */
  readonly loop: Promise<StopResult>;
  /** Ends after the leader's status, too. */
  readonly result: Promise<StopResult>;
  /** Whether nobody waits for it, since a signal has aborted. */
  readonly isAbort: boolean;
}

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
  #stopping: Stopping | null = null;
  #reader: OutputReader | null = null;
  /** Null where there is none. */
  #removeAbortListener: (() => void) | null = null;

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

  isGuarded(): boolean {
    return this.leader.isGuarded();
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
    this.#stopListening();
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
    settings: StopSettings & { looksFirst?: boolean; isAbort?: boolean } =
      this.settings,
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
    const loop = stop(this, plan);
    const result = this.#finishStop(loop);
    const { isAbort = false } = settings;
    this.#stopping = { plan, loop, result, isAbort };
    return await result;
  }

  /** Reads what is piped and not locked, once for all who ask and then cancel. */
  read(): OutputReader {
    this.#reader ??= new OutputReader(this.leader);
    return this.#reader.use();
  }

  /** Whether {@linkcode GroupHandle.read} was called: it locks the streams. */
  get isRead(): boolean {
    return this.#reader !== null;
  }

  /** Closes the pipes that nobody uses, so that nothing stays open. */
  async closeStreams(): Promise<void> {
    const { stdin, stdout, stderr } = this.leader;
    const ignore = () => {
      // It was closed or broken before, which is all that is wanted.
    };
    if (stdin && !stdin.locked) await stdin.abort().catch(ignore);
    for (const stream of [stdout, stderr]) {
      if (stream && !stream.locked) await stream.cancel().catch(ignore);
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

  async #finishStop(loop: Promise<StopResult>): Promise<StopResult> {
    try {
      const { report, seen } = await loop;
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
      guarded: this.isGuarded(),
    };
  }

  async #onExit(status: Deno.CommandStatus): Promise<Deno.CommandStatus> {
    this.#hasExited = true;
    try {
      if (this.#stopping === null) await this.#lookAtExit();
      // Whoever has aborted awaits nothing but the status.
      const { isAbort, loop }: Partial<Stopping> = this.#stopping ?? {};
      if (isAbort && loop) await atMost(loop, LOOK_AT_EXIT_MS);
    } catch {
      // A status never rejects; stopping and waiting report what is wrong.
    }
    return status;
  }

  async #lookAtExit(): Promise<void> {
    if (!this.platform.holdsIdentity) await this.#settleIfGone();
    else if (this.#removeAbortListener && await this.#isSeenEmpty()) {
      this.#stopListening();
    }
  }

  /** Whether nobody is there, in whatever group of the session. */
  async #isSeenEmpty(): Promise<boolean> {
    if (this.signal(0) !== "gone") return false;
    const { snapshot, members } = await lookAt(this, () => this.query);
    return !snapshot.failed && members.length === 0;
  }

  /** Lets everything go if the leader was the last, without a signal. */
  async #settleIfGone(): Promise<void> {
    const looks = new Looks(this);
    let empty = 0;
    // Who forks and exits all the time is never seen, and must not hold the
    // status up.
    const endAt = performance.now() + LOOK_AT_EXIT_MS;
    while (performance.now() < endAt) {
      const { snapshot, members } = await looks.look(() => this.query);
      if (snapshot.failed || this.members(snapshot).length > 0) return;
      empty = members.length === 0 ? empty + 1 : 0;
      if (!isGone(this, empty, snapshot)) continue;
      this.setGone();
      if (this.escapees(snapshot).length === 0) await this.settle();
      return;
    }
  }

  #listen(signal: AbortSignal): void {
    const onAbort = () => {
      this.stop({ ...this.settings, isAbort: true }).catch(() => {
        // Nobody awaits this stop; the next one reports what is wrong.
      });
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#removeAbortListener = () =>
      signal.removeEventListener("abort", onAbort);
  }

  #stopListening(): void {
    this.#removeAbortListener?.();
    this.#removeAbortListener = null;
  }
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
