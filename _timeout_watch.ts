// Copyright 2026 the @proc/group authors. MIT license.

/** What happens while a command runs under the timeout command, and after it. */

import { delay } from "@std/async/delay";
import { DEFAULT_GRACE_MS } from "./_options.ts";
import { signalNumber } from "./_platform/signals.ts";
import type { TimeoutRun } from "./_timeout_args.ts";
import {
  after,
  hasJobControl,
  ignoredSignals,
  type Job,
  type Stopped,
} from "./_timeout_job.ts";
import { complain, quote } from "./_timeout_text.ts";

const TIMED_OUT = 124;

/** Exit status for a failure of this program itself. */
export const FAILED = 125;

const KILLED = 137;

/** Signals that are passed on, and that kill when they come again. */
const FORWARDED: readonly Deno.Signal[] = [
  "SIGINT",
  "SIGTERM",
  "SIGHUP",
  "SIGQUIT",
];

/** One Ctrl-C can arrive twice within this time, from terminal and parent. */
const REPEAT_MS = 500;

/** Time for a change of a signal's disposition to take effect. */
export const SETTLE_MS = 20;

/** How the program is to end: by a signal where there is one. */
export interface Ending {
  /** Exit status; 128 + n where a signal is named that cannot be sent. */
  readonly code: number;
  /** The signal that ended the command. */
  readonly signal?: Deno.Signal;
}

/** One run of a command: its time limit, the signals that come in, its end. */
export class Watch {
  /** What was started; set before the event loop runs again. */
  job!: Job;
  readonly #request: TimeoutRun;
  readonly #isIgnored = ignoredSignals();
  readonly #listeners = new Map<Deno.Signal, () => void>();
  readonly #cancels: (() => void)[] = [];
  readonly #firstAt = new Map<Deno.Signal, number>();
  /** Settles where the command cannot be ended, or stopping it failed. */
  readonly #stuck = Promise.withResolvers<null>();
  #stopping: Promise<Stopped> | null = null;
  #timedOut = false;
  #toldKill = false;
  #isSuspended = false;
  #ended = false;

  constructor(request: TimeoutRun) {
    this.#request = request;
  }

  /** Whether whoever started this program had signals ignored, as nohup(1). */
  get isCallerIgnoring(): boolean {
    return FORWARDED.some((signal) => this.#isIgnored(signalNumber(signal)));
  }

  /** Waits for the end of the command, or brings it about, and cleans up. */
  async end(): Promise<Ending> {
    try {
      this.#arm(this.#request.ms, () => this.#expire());
      const status = await Promise.race([this.job.status, this.#stuck.promise]);
      this.#ended = true;
      await this.#finish();
      return this.#ending(status);
    } catch (error) {
      this.abandon();
      throw error;
    }
  }

  /** Kills at once, where a failure leaves no better way. Never throws. */
  abandon(): void {
    try {
      const job: Job | undefined = this.job;
      job?.signal("SIGKILL");
    } catch {
      // The failure that led here is the one to be told.
    }
  }

  /**
   * Starts to listen to the signals that are to be passed on. Those that the
   * caller ignores are listened to as well, and nothing is done about them.
   */
  listen(): void {
    const add = (signal: Deno.Signal, action: () => void) => {
      const listener = this.#isIgnored(signalNumber(signal))
        ? () => {}
        : action;
      this.#listeners.set(signal, listener);
      Deno.addSignalListener(signal, listener);
    };
    for (const signal of FORWARDED) add(signal, () => this.#onSignal(signal));
    const { killSignal, foreground } = this.#request;
    if (!foreground) add("SIGTSTP", () => this.#suspend());
    if (this.#listeners.has(killSignal)) return;
    try {
      add(killSignal, () => this.#forward(killSignal));
    } catch {
      // Not a signal that can be listened to, such as SIGKILL.
      this.#listeners.delete(killSignal);
    }
  }

  #arm(ms: number, action: () => void): void {
    this.#cancels.push(after(ms, action));
  }

  /** Lets signals and timers go. Idempotent. */
  release(): void {
    for (const [signal, listener] of this.#listeners) {
      Deno.removeSignalListener(signal, listener);
    }
    this.#listeners.clear();
    for (const cancel of this.#cancels) cancel();
  }

  #onSignal(signal: Deno.Signal): void {
    const now = performance.now();
    const firstAt = this.#firstAt.get(signal);
    if (firstAt === undefined) {
      this.#firstAt.set(signal, now);
      this.#forward(signal);
      const { graceGiven, graceMs } = this.#request;
      if (graceGiven) this.#arm(graceMs, () => this.#kill());
    } else if (now - firstAt >= REPEAT_MS) {
      this.#kill();
    }
  }

  #forward(signal: Deno.Signal): void {
    this.#tell(signal);
    this.job.signal(signal);
    // Somebody who is stopped cannot obey.
    if (!this.#request.foreground) this.job.signal("SIGCONT");
  }

  #expire(): void {
    if (this.#ended) return;
    this.#timedOut = true;
    const { killSignal, graceMs } = this.#request;
    this.#tell(killSignal);
    this.#stop(killSignal, graceMs);
  }

  #kill(): void {
    this.#tell("SIGKILL");
    this.#stop("SIGKILL", 0);
  }

  #stop(signal: Deno.Signal, graceMs: number): void {
    const stopping = this.job.stop(signal, graceMs);
    this.#stopping ??= stopping;
    stopping.then(({ survivors }) => {
      const lives = survivors.some(({ pid }) => pid === this.job.pid);
      if (lives) this.#stuck.resolve(null);
    }, this.#stuck.reject);
  }

  /** Once the command has exited: stops all that it started, or joins the stop. */
  async #finish(): Promise<void> {
    const { keepLeftovers, graceMs, verbose } = this.#request;
    const interrupted = this.#timedOut || this.#firstAt.size > 0;
    if (keepLeftovers && !interrupted) return;
    // SIGKILL is ruled out for the command, and not for these.
    const limitMs = graceMs === Infinity ? DEFAULT_GRACE_MS : graceMs;
    const rest = this.job.stop("SIGTERM", limitMs, verbose);
    const [stopped] = await Promise.all([this.#stopping ?? rest, rest]);
    if (stopped.survivors.length > 0) {
      complain(`cannot end ${names(stopped.survivors)}`);
    }
    if (this.#stopping) {
      if (stopped.forced && !this.#toldKill) this.#tell("SIGKILL");
      return;
    }
    const left = stopped.seen.filter(({ pid }) => pid !== this.job.pid);
    if (verbose && left.length > 0) {
      complain(`stopped what was left behind: ${names(left)}`);
    }
  }

  #ending(status: Deno.CommandStatus | null): Ending {
    if (!this.#timedOut) {
      if (status === null) return { code: FAILED };
      const { code, signal } = status;
      return signal === null ? { code } : { code, signal };
    }
    if (status !== null && this.#request.preserveStatus) {
      return { code: status.code };
    }
    return { code: status?.signal === "SIGKILL" ? KILLED : TIMED_OUT };
  }

  /**
   * ^Z reaches this program and not the command: stops both. If no shell comes
   * back to continue this program, ^Z does nothing, and time limit and Ctrl-C
   * stay in force.
   */
  async #suspend(): Promise<void> {
    if (this.#isSuspended) return;
    this.#isSuspended = true;
    this.job.signal("SIGSTOP");
    // The parent may get the signal a little later.
    await delay(SETTLE_MS);
    if (hasJobControl()) await this.#stopItself();
    this.job.signal("SIGCONT");
    this.#isSuspended = false;
  }

  async #stopItself(): Promise<void> {
    const listener = this.#listeners.get("SIGTSTP");
    if (listener === undefined) return;
    this.#listeners.delete("SIGTSTP");
    Deno.removeSignalListener("SIGTSTP", listener);
    await delay(SETTLE_MS);
    Deno.kill(Deno.pid, "SIGTSTP");
    await delay(SETTLE_MS);
    if (this.#ended) return;
    this.#listeners.set("SIGTSTP", listener);
    Deno.addSignalListener("SIGTSTP", listener);
  }

  #tell(signal: Deno.Signal): void {
    if (signal === "SIGKILL") this.#toldKill = true;
    if (!this.#request.verbose) return;
    const name = signal.replace(/^SIG/, "");
    complain(
      `sending signal ${name} to command ${quote(this.#request.command)}`,
    );
  }
}

function names(processes: Stopped["seen"]): string {
  return processes.map(({ pid, command }) => `${pid} ${quote(command)}`)
    .join(", ");
}
