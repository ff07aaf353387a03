// Copyright 2026 the @proc/group authors. MIT license.

import type { GuardHold } from "./guard.ts";
import { libc } from "./libc.ts";
import { bootTicks, type Span } from "./linux_birth.ts";
import { reap } from "./linux_exit.ts";
import type { SpawnedChild } from "./linux_spawn.ts";
import { openChildPidfd, signalNumbered, signalPidfdGroup } from "./pidfd.ts";
import type {
  Leader,
  ProcessInfo,
  SignalResult,
  Snapshot,
} from "./platform.ts";
import { lookAtGroup } from "./procfs.ts";
import { leaderReactors } from "./linux_wait.ts";
import type { ReactorGroup, Watch } from "./reactor.ts";
import { signalNumber } from "./signals.ts";
import {
  FdReadableStream,
  FdReader,
  fdWritableStream,
  FdWriter,
} from "./streams.ts";

/** How often a child is looked at where nothing tells of its end. */
const POLL_MS = 20;

/** A leader that this process has started and reaps itself. */
export class LinuxLeader implements Leader {
  readonly pid: number;
  /** At most one clock tick or two before what procfs tells. */
  readonly startTime: number;
  readonly stdin: Leader["stdin"];
  readonly stdout: Leader["stdout"];
  readonly stderr: Leader["stderr"];
  readonly status: Promise<Deno.CommandStatus>;
  readonly #group: number;
  readonly #reactor: ReactorGroup;
  readonly #born: Span;
  /** Null for a group that outlives this process. */
  readonly #guard: GuardHold | null;
  /** Stays with the group when the leader is dead and reaped. */
  #pidfd: number | null;
  /** When the leader was reaped; null before. */
  #reapedAt: number | null = null;
  #isGone = false;
  /** The wait for the exit. */
  #watch: Watch | null = null;

  constructor(
    child: SpawnedChild,
    options: {
      group: number;
      guard: GuardHold | null;
      reactor: ReactorGroup;
      born: Span;
    },
  ) {
    this.pid = child.pid;
    this.#group = options.group;
    this.#guard = options.guard;
    this.#reactor = options.reactor;
    // The child is not reaped yet, so the number is its own.
    this.#pidfd = openChildPidfd(this.pid);
    this.#born = options.born;
    this.startTime = this.#born.from;
    const { stdin, stdout, stderr } = child.pipes;
    this.stdin = this.#writable(stdin);
    this.stdout = this.#readable(stdout);
    this.stderr = this.#readable(stderr);
    leaderReactors.set(this.pid, this.#reactor);
    this.status = this.#exit();
  }

  isGuarded(): boolean {
    return this.#guard?.isGuarded() ?? false;
  }

  signalGroup(signal: Deno.Signal | number): SignalResult {
    if (this.#isGone) return "gone";
    const number = signalNumber(signal);
    const result = this.#signalThroughPidfd(number) ??
      this.#signalByNumber(number);
    // The number may be given to anybody from now on.
    if (result === "gone" && this.#reapedAt !== null) this.release();
    return result;
  }

  owns(snapshot: Snapshot): boolean {
    if (this.#reapedAt === null) return true;
    if (snapshot.processes.some((other) => this.#isStranger(other))) {
      return false;
    }
    const group = this.#isGone ? "gone" : this.#signalThroughPidfd(0);
    if (group === "sent" || group === "denied") return true;
    return this.#isOurs(snapshot, { groupIsGone: group === "gone" });
  }

  ref(): void {
    this.#reactor.ref();
  }

  unref(): void {
    this.#reactor.unref();
  }

  async release(): Promise<void> {
    this.#isGone = true;
    if (this.#reapedAt !== null) this.#closePidfd();
    // Nobody is left to be waited for, so it is looked at once: where no thread
    // is left the wait would tell nothing.
    else await this.#watch?.cancel();
    await this.#guard?.standDown();
  }

  /** Null where there is no pidfd or the kernel knows no groups of one. */
  #signalThroughPidfd(signal: number): SignalResult | null {
    return this.#pidfd === null ? null : signalPidfdGroup(this.#pidfd, signal);
  }

  /** The number is ours until the leader is reaped; later it may be anybody's. */
  #signalByNumber(signal: number): SignalResult {
    if (this.#reapedAt !== null && !this.owns(lookAtGroup(this.pid))) {
      return "gone";
    }
    return signalNumbered(-this.pid, signal);
  }

  /** Whether a process has got the leader's number after it was reaped. */
  #isStranger({ pid, startTime }: ProcessInfo): boolean {
    const { from, to } = this.#born;
    return pid === this.pid && (startTime < from || startTime > to);
  }

  /**
   * Whether a member carries the mark or is older than the leader's end. Other
   * groups of the session hold the number when the leader's own is gone; who is
   * in that one then is a stranger, or has ended since the snapshot.
   */
  #isOurs(
    { processes, marks }: Snapshot,
    { groupIsGone }: { groupIsGone: boolean },
  ): boolean {
    const { pid } = this;
    const reapedAt = this.#reapedAt ?? Infinity;
    return processes.some((process) =>
      (process.pgid === pid ? !groupIsGone : process.sid === pid) &&
      (process.startTime <= reapedAt ||
        marks.get(process.pid)?.includes(this.#group))
    );
  }

  async #exit(): Promise<Deno.CommandStatus> {
    let status: Deno.CommandStatus | null;
    do {
      await this.#pause();
      status = reap(this.pid);
    } while (status === null);
    this.#reapedAt = bootTicks();
    leaderReactors.delete(this.pid);
    // Whoever awaits nothing but the status must not keep a descriptor open.
    if (this.#isGone || this.#isEmpty()) await this.release();
    return status;
  }

  /** Whether no process has the group's number any more, as far as can be told. */
  #isEmpty(): boolean {
    try {
      return this.signalGroup(0) === "gone";
    } catch {
      // A status never rejects; whoever stops or waits finds out.
      return false;
    }
  }

  /** Waits until the leader may have exited. */
  async #pause(): Promise<void> {
    if (this.#pidfd !== null) {
      this.#watch = this.#reactor.watch(this.#pidfd, "read");
      await this.#watch.ready;
      this.#watch = null;
      return;
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, POLL_MS);
      if (!this.#reactor.isRef) Deno.unrefTimer(timer);
    });
  }

  #closePidfd(): void {
    if (this.#pidfd !== null) libc().close(this.#pidfd);
    this.#pidfd = null;
  }

  #readable(fd: number | null): FdReadableStream | null {
    if (fd === null) return null;
    return new FdReadableStream(new FdReader(fd, { group: this.#reactor }));
  }

  #writable(fd: number | null): Leader["stdin"] {
    if (fd === null) return null;
    return fdWritableStream(new FdWriter(fd, { group: this.#reactor }));
  }
}
