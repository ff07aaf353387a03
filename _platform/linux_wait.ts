// Copyright 2026 the @proc/group authors. MIT license.

import { C, SIZEOF } from "./constants.ts";
import { libc } from "./libc.ts";
import { openVerified } from "./pidfd.ts";
import type { ProcessInfo } from "./platform.ts";
import { ReactorGroup, type Watch } from "./reactor.ts";

/** First pause where pidfds are refused, in milliseconds; doubles each round. */
const FIRST_PAUSE_MS = 5;

/** Longest such pause. */
const LONGEST_PAUSE_MS = 1000;

/** Longest timer that there is; a wait that it cuts short is made again. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Resolves when all of the processes have ended, after `ms` milliseconds, or
 * when the signal aborts; earlier where the kernel gives no pidfds for them.
 */
export async function ended(
  processes: readonly ProcessInfo[],
  options: { ms: number; round: number; signal: AbortSignal },
): Promise<void> {
  if (options.signal.aborted) return;
  const pidfds: number[] = [];
  let refused = false;
  try {
    for (const process of processes) {
      const pidfd = openVerified(process);
      if (pidfd === null) refused = true;
      else if (pidfd !== "gone") pidfds.push(pidfd);
    }
    if (pidfds.length > 0) await waitForAll(pidfds, options);
    else if (refused) await pause(options);
  } finally {
    for (const pidfd of pidfds) libc().close(pidfd);
  }
}

/**
 * Waits for one process after another, as long as one lives. Most end at the
 * same time, so this wakes up a few times for any number of them.
 */
async function waitForAll(
  pidfds: readonly number[],
  { ms, signal }: { ms: number; signal: AbortSignal },
): Promise<void> {
  const reactor = new ReactorGroup();
  let watch: Watch | undefined;
  let isOver = false;
  let canceled: Promise<void> | undefined;
  const end = () => {
    isOver = true;
    canceled = watch?.cancel();
  };
  signal.addEventListener("abort", end, { once: true });
  const timer = startTimer(end, ms);
  try {
    for (;;) {
      const live = findLive(pidfds);
      if (isOver || live === undefined) return;
      watch = reactor.watch(live, "read");
      await watch.ready;
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    await canceled;
  }
}

/** The pidfd of a process that has not ended. */
function findLive(pidfds: readonly number[]): number | undefined {
  // struct pollfd: int fd, short events, short revents.
  const polls = new Int32Array(new ArrayBuffer(pidfds.length * SIZEOF.pollfd));
  for (const [i, pidfd] of pidfds.entries()) {
    polls[2 * i] = pidfd;
    polls[2 * i + 1] = C.POLLIN;
  }
  libc().poll(polls, pidfds.length, 0);
  return pidfds.findLast((_, i) => (polls[2 * i + 1]! >> 16) === 0);
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
