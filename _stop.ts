// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Stopping: the loop that looks, signals, waits and looks again until nothing
 * is left, the same for every kind of target.
 */

import { Looks, memberQuery } from "./_looks.ts";
import type {
  EscapeeSource,
  MemberSource,
  ProcessInfo,
  ScanQuery,
  Snapshot,
} from "./_platform/platform.ts";
import type { Target } from "./_target.ts";
import { isGone } from "./_wait.ts";

/** How much longer than the grace period a stop may take, in milliseconds. */
export const STOP_MARGIN_MS = 2000;

/** Wait for a command that is just being started, in milliseconds. */
const START_ROUND_MS = 5;

/** How long SIGKILL is tried at least, in milliseconds. */
const KILL_MARGIN_MS = 500;

/** Longest wait between two rounds of SIGKILL: a fork may have been in flight. */
const KILL_ROUND_MS = 50;

/**
 * First wait for the effect of the first signal, in milliseconds; doubles each
 * round. Who changed the session right then, or was born, has not got it yet.
 */
const FIRST_ASK_MS = 50;

/** What {@linkcode stopGroup} did and what it found. */
export interface StopReport {
  /** Time from the first call to the end, in milliseconds. */
  durationMs: number;
  /** Whether SIGKILL was sent. */
  forced: boolean;
  /** Processes found outside the session by the group's mark. */
  escaped: ProcessInfo[];
  /** Processes that are still alive, because they could not be ended. */
  survivors: ProcessInfo[];
  /** How the members were found. */
  members: MemberSource;
  /** How escapees were looked for; `"none"` if they were not, or could not be. */
  escapees: EscapeeSource;
  /** Whether a guard would have ended the group had this process died. */
  guarded: boolean;
}

/** What to do about processes that left the session of their group. */
export type EscapeePolicy = "stop" | "report" | "ignore";

/** When and how a stop escalates; a later call can only bring it forward. */
export class StopPlan {
  readonly killSignal: Deno.Signal;
  readonly escapees: EscapeePolicy;
  /** Whether to look who is there before anybody is signalled. */
  readonly looksFirst: boolean;
  readonly startedAt: number = performance.now();
  #killAt: number;
  #wait = new AbortController();

  constructor(
    options: {
      killSignal: Deno.Signal;
      graceMs: number;
      escapees: EscapeePolicy;
      looksFirst?: boolean;
    },
  ) {
    this.looksFirst = options.looksFirst ?? false;
    this.killSignal = options.killSignal;
    this.escapees = options.escapees;
    const graceMs = options.killSignal === "SIGKILL" ? 0 : options.graceMs;
    this.#killAt = this.startedAt + graceMs;
  }

  /** When SIGKILL is due, on the clock of `performance.now()`. */
  get killAt(): number {
    return this.#killAt;
  }

  /** When whoever is left counts as a survivor, on the same clock. */
  get endAt(): number {
    return this.#killAt + STOP_MARGIN_MS;
  }

  /** Moves the SIGKILL to `graceMs` from now unless it is due earlier. */
  bringForward(graceMs: number): void {
    const killAt = performance.now() + graceMs;
    if (killAt >= this.#killAt) return;
    this.#killAt = killAt;
    this.#wait.abort();
  }

  /** Aborts when the plan changes during a wait. */
  waitSignal(): AbortSignal {
    this.#wait = new AbortController();
    return this.#wait.signal;
  }
}

/** A report, and whom the stop saw alive: members and escapees. */
export interface StopResult {
  report: StopReport;
  seen: ProcessInfo[];
}

/** Stops a target: signal, grace period, SIGKILL, until nothing is left. */
export function stop(target: Target, plan: StopPlan): Promise<StopResult> {
  return new Stop(target, plan).run();
}

class Stop {
  #target: Target;
  #plan: StopPlan;
  /** At the start: with its last group a guard ends, too. */
  #isGuarded: boolean;
  #forced = false;
  #killedAt = Infinity;
  #reachedSomebody = false;
  #denied = new Set<string>();
  #escaped = new Map<string, ProcessInfo>();
  #seen = new Map<string, ProcessInfo>();
  #signalledGroups = new Set<number>();
  #signalledEscapees = new Set<string>();

  constructor(target: Target, plan: StopPlan) {
    this.#target = target;
    this.#plan = plan;
    this.#isGuarded = target.isGuarded();
  }

  async run(): Promise<StopResult> {
    // A number that may be somebody else's by now is looked up first as well.
    const atOnce = this.#plan.killAt <= performance.now();
    const ready = atOnce || this.#target.ready !== false;
    if (this.#target.certain && !this.#plan.looksFirst && ready) {
      this.#signalLeaderGroup();
    }
    const looks = new Looks(this.#target);
    let withoutEscapees = 0;
    let empty = 0;
    for (let round = 0;; round++) {
      const { snapshot, members } = await looks.look(() => this.#query());
      const escapees = this.#escapees(snapshot);
      const alive = [...members, ...escapees];
      empty = members.length === 0 ? empty + 1 : 0;
      const gone = isGone(this.#target, empty, snapshot);
      if (gone && !snapshot.failed) this.#target.setGone();
      const leftInside = this.#signallable(members);
      const leftOutside = this.#signallable(escapees);
      const left = [...leftInside, ...leftOutside];
      withoutEscapees = leftOutside.length === 0 ? withoutEscapees + 1 : 0;
      const over = left.length === 0
        ? (gone || empty === 0) && this.#isOver(round, withoutEscapees)
        : this.#hasFailed();
      if (over) {
        // After a look that failed, the next call looks again.
        const isEmpty = alive.length === 0 && !snapshot.failed;
        if (isEmpty) await this.#target.settle();
        const report = this.#report(snapshot, alive);
        return { report, seen: [...this.#seen.values()] };
      }
      if (left.length > 0) {
        await this.#signalAndWait(members, escapees, left, round);
      }
    }
  }

  /**
   * Whether the time is up. A machine that stood still for long must not count
   * as processes that survive: SIGKILL has its time in any case.
   */
  #hasFailed(): boolean {
    const now = performance.now();
    return now >= this.#plan.endAt && now >= this.#killedAt + KILL_MARGIN_MS;
  }

  get #ignoresEscapees(): boolean {
    return this.#plan.escapees === "ignore";
  }

  get #looksForEscapees(): boolean {
    return !this.#ignoresEscapees && this.#target.query.marks;
  }

  #query(): ScanQuery {
    return this.#ignoresEscapees
      ? memberQuery(this.#target)
      : this.#target.query;
  }

  /**
   * A process that forks and exits during a scan can hide its child from that
   * one, so two scans must have seen no escapee that can be signalled. One is
   * enough if nobody was there who could have forked.
   */
  #isOver(round: number, withoutEscapees: number): boolean {
    const nobodyWasThere = round === 0 && !this.#reachedSomebody;
    return nobodyWasThere || withoutEscapees >= 2 || !this.#looksForEscapees;
  }

  #escapees(snapshot: Snapshot): ProcessInfo[] {
    if (this.#ignoresEscapees) return [];
    const escapees = this.#target.escapees(snapshot);
    for (const process of escapees) {
      // Whoever was a member a moment ago and called setsid is one as well.
      this.#escaped.set(identity(process), process);
    }
    return this.#plan.escapees === "report" ? [] : escapees;
  }

  /** Sorts out who may not be signalled: a survivor at once. */
  #signallable(processes: ProcessInfo[]): ProcessInfo[] {
    return processes.filter((process) => {
      const key = identity(process);
      if (!this.#seen.has(key)) {
        this.#seen.set(key, process);
        const result = this.#target.platform.signalProcess(process, 0);
        if (result === "denied") this.#denied.add(key);
      }
      return !this.#denied.has(key);
    });
  }

  async #signalAndWait(
    members: ProcessInfo[],
    escapees: ProcessInfo[],
    left: ProcessInfo[],
    round: number,
  ): Promise<void> {
    const { platform } = this.#target;
    const signal = this.#plan.waitSignal();
    const now = performance.now();
    if (now >= this.#plan.killAt) {
      this.#kill(members, escapees);
      await platform.ended(left, { ms: KILL_ROUND_MS, round: 0, signal });
    } else if (this.#target.ready === false) {
      await platform.ended(left, { ms: START_ROUND_MS, round: 0, signal });
    } else {
      this.#ask(members, escapees);
      const ms = Math.min(
        this.#plan.killAt - now,
        this.#target.lookAgainMs ?? Infinity,
        FIRST_ASK_MS * 2 ** round,
      );
      await platform.ended(left, { ms, round, signal });
    }
  }

  #signalLeaderGroup(): void {
    this.#signalledGroups.add(this.#target.pgid);
    const atOnce = this.#plan.killAt <= performance.now();
    const [signal, ...more] = atOnce
      ? ["SIGKILL" as const]
      : this.#firstSignals();
    this.#reachedSomebody = this.#target.signal(signal) === "sent";
    if (atOnce) this.#forced ||= this.#reachedSomebody;
    for (const signal of more) this.#target.signal(signal);
  }

  /** A stopped process acts on a signal only once it continues. */
  #firstSignals(): [Deno.Signal, ...Deno.Signal[]] {
    const { killSignal } = this.#plan;
    return this.#target.hangsUp
      ? ["SIGHUP", "SIGCONT", killSignal, "SIGCONT"]
      : [killSignal, "SIGCONT"];
  }

  /** The first signal, once to each group of the session and each escapee. */
  #ask(members: ProcessInfo[], escapees: ProcessInfo[]): void {
    const { platform, pgid } = this.#target;
    for (const [id, group] of Map.groupBy(members, (member) => member.pgid)) {
      if (this.#signalledGroups.has(id)) continue;
      if (id === pgid) {
        this.#signalLeaderGroup();
        continue;
      }
      this.#signalledGroups.add(id);
      for (const signal of this.#firstSignals()) {
        platform.signalGroup(group, signal);
      }
    }
    for (const process of escapees) {
      const key = identity(process);
      if (this.#signalledEscapees.has(key)) continue;
      this.#signalledEscapees.add(key);
      platform.signalProcess(process, this.#plan.killSignal);
      platform.signalProcess(process, "SIGCONT");
    }
  }

  #kill(members: ProcessInfo[], escapees: ProcessInfo[]): void {
    const { platform, pgid, contained } = this.#target;
    this.#forced = true;
    this.#killedAt = Math.min(this.#killedAt, performance.now());
    if (contained && this.#target.signal("SIGKILL") === "sent") return;
    for (const [id, group] of Map.groupBy(members, (member) => member.pgid)) {
      if (id === pgid) this.#target.signal("SIGKILL");
      else platform.signalGroup(group, "SIGKILL");
    }
    for (const process of escapees) platform.signalProcess(process, "SIGKILL");
  }

  #report(snapshot: Snapshot, survivors: ProcessInfo[]): StopReport {
    return {
      durationMs: performance.now() - this.#plan.startedAt,
      forced: this.#forced,
      escaped: [...this.#escaped.values()],
      survivors,
      members: snapshot.members,
      // A scan that others had asked for shows more.
      escapees: this.#looksForEscapees ? snapshot.escapees : "none",
      guarded: this.#isGuarded,
    };
  }
}

/** Tells processes apart, also when a pid is used again. */
function identity(process: ProcessInfo): string {
  return `${process.pid}:${process.startTime}`;
}
