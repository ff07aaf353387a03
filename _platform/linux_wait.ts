// Copyright 2026 the @proc/group authors. MIT license.

import { C } from "./constants.ts";
import { Errno } from "./errno.ts";
import { libc } from "./libc.ts";
import { isKnownSame, openPidfd } from "./pidfd.ts";
import type { ProcessInfo } from "./platform.ts";
import { ReactorGroup, type Watch } from "./reactor.ts";

/** First pause where pidfds are refused, in milliseconds; doubles each round. */
const FIRST_PAUSE_MS = 5;

/** Longest such pause. */
const LONGEST_PAUSE_MS = 1000;

/** Longest timer that there is; a wait that it cuts short is made again. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** By pid, what waits for the leaders that are not reaped yet. */
export const leaderReactors = new Map<number, ReactorGroup>();

/**
 * Resolves when all of the processes have ended, after `ms` milliseconds, or
 * when the signal aborts; earlier where the kernel gives no pidfds for them.
 *
 * They are waited for one after another. Most end at the same time, so this
 * wakes up a few times for any number of them.
 */
export async function ended(
  processes: readonly ProcessInfo[],
  options: { ms: number; round: number; signal: AbortSignal },
): Promise<void> {
  if (options.signal.aborted) return;
  const leader = processes.find(({ pid }) => leaderReactors.has(pid));
  // The thread of that wait is there, and another one may not be to be had.
  const reactor = new ReactorGroup(leader && leaderReactors.get(leader.pid));
  const wait = new ExitWait(reactor, options);
  let [hasWaited, isRefused] = [false, false];
  try {
    for (const process of processes) {
      const pidfd = openRunning(process);
      if (pidfd === null) isRefused = true;
      if (typeof pidfd !== "number") continue;
      hasWaited = true;
      if (!await wait.until(pidfd)) return;
    }
  } finally {
    await wait.end();
  }
  if (isRefused && !hasWaited) await pause(options);
}

/** A pidfd of this very process while it runs; see {@linkcode openVerified}. */
function openRunning(process: ProcessInfo): number | "gone" | null {
  const pidfd = openPidfd(process.pid);
  // Who only stands in for others may be dead while they live.
  const isKnown = process.startTime !== 0;
  if (pidfd < 0) return isKnown && -pidfd === Errno.ESRCH ? "gone" : null;
  // The start time is looked at once the number cannot change hands, and only
  // of those who run: right after a SIGKILL there are few.
  const isIt = isKnown && hasEnded(pidfd) ? false : isKnownSame(process);
  if (isIt) return pidfd;
  libc().close(pidfd);
  return isIt === null ? null : "gone";
}

/** Waits for exits until its time is up or its signal aborts. */
class ExitWait {
  readonly #reactor: ReactorGroup;
  readonly #signal: AbortSignal;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  #watch: Watch | undefined;
  #isOver = false;
  #canceled: Promise<void> | undefined;

  constructor(
    reactor: ReactorGroup,
    { ms, signal }: { ms: number; signal: AbortSignal },
  ) {
    this.#reactor = reactor;
    this.#signal = signal;
    this.#timer = startTimer(this.#cut, ms);
    signal.addEventListener("abort", this.#cut, { once: true });
  }

  /** Waits for the exit and closes the pidfd; false if the wait was cut. */
  async until(pidfd: number): Promise<boolean> {
    try {
      while (!this.#isOver && !hasEnded(pidfd)) {
        this.#watch = this.#reactor.watch(pidfd, "read");
        await this.#watch.ready;
      }
      return !this.#isOver;
    } finally {
      libc().close(pidfd);
    }
  }

  /** Lets go of timer and listener; nothing is pending afterwards. */
  async end(): Promise<void> {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener("abort", this.#cut);
    await this.#canceled;
  }

  readonly #cut = (): void => {
    this.#isOver = true;
    this.#canceled = this.#watch?.cancel();
  };
}

/** Whether the process of a pidfd has ended, reaped or not. */
function hasEnded(pidfd: number): boolean {
  // struct pollfd: int fd, short events, short revents.
  const poll = new Int32Array([pidfd, C.POLLIN]);
  return libc().poll(poll, 1, 0) === 1;
}

async function pause(
  { ms, round, signal }: { ms: number; round: number; signal: AbortSignal },
): Promise<void> {
  const backoff = FIRST_PAUSE_MS * 2 ** Math.min(round, 10);
  await new Promise<void>((resolve) => {
    const pauseMs = Math.min(ms, backoff, LONGEST_PAUSE_MS);
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, pauseMs);
    signal.addEventListener("abort", end);
  });
}

function startTimer(
  callback: () => void,
  ms: number,
): ReturnType<typeof setTimeout> | undefined {
  if (ms === Infinity) return undefined;
  return setTimeout(callback, Math.min(ms, LONGEST_TIMER_MS));
}
