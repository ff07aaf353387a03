// Copyright 2026 the @proc/group authors. MIT license.

/** Linux signal numbers, signal(7), for x86 and ARM; alias after standard name. */
const NUMBERS = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGSTKFLT: 16,
  SIGCHLD: 17,
  SIGCONT: 18,
  SIGSTOP: 19,
  SIGTSTP: 20,
  SIGTTIN: 21,
  SIGTTOU: 22,
  SIGURG: 23,
  SIGXCPU: 24,
  SIGXFSZ: 25,
  SIGVTALRM: 26,
  SIGPROF: 27,
  SIGWINCH: 28,
  SIGIO: 29,
  SIGPWR: 30,
  SIGSYS: 31,
  SIGIOT: 6,
  SIGUNUSED: 31,
  SIGPOLL: 29,
} as const;

const BY_NUMBER: ReadonlyMap<number, Deno.Signal> = new Map(
  Object.entries(NUMBERS).reverse().map((
    [name, number],
  ) => [number, name as Deno.Signal]),
);

/** Highest signal number of Linux, SIGRTMAX. */
const MAX_SIGNAL = 64;

/** The number of a signal on Linux. Throws like `Deno.kill` for an unknown one. */
export function signalNumber(signal: Deno.Signal | number): number {
  if (typeof signal === "number") return checkSignal(signal);
  const number = (NUMBERS as Record<string, number>)[signal];
  if (number === undefined || !Object.hasOwn(NUMBERS, signal)) {
    const full = `SIG${String(signal).toUpperCase()}`;
    const hint = Object.hasOwn(NUMBERS, full) ? `, its name is ${full}` : "";
    throw new TypeError(`Invalid signal: ${String(signal)}${hint}`);
  }
  return number;
}

/** The name of a signal number of Linux; undefined for a real-time signal. */
export function signalName(number: number): Deno.Signal | undefined {
  return BY_NUMBER.get(number);
}

/** Gives the signal back if it is a name or a number, else throws. */
export function checkSignal<T extends Deno.Signal | number>(signal: T): T {
  if (typeof signal !== "number") {
    signalNumber(signal);
  } else if (!Number.isInteger(signal) || signal < 0 || signal > MAX_SIGNAL) {
    throw new RangeError(
      `Cannot use signal: current value is ${signal}, not 0 to ${MAX_SIGNAL}`,
    );
  }
  return signal;
}
