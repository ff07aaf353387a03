// Copyright 2026 the @proc/group authors. MIT license.

/**
 * The command line of the timeout command: a small parser of its own, since
 * options must end at the first operand, short options attach their values,
 * and nothing that belongs to COMMAND may be touched.
 */

import { isContainedSignal } from "./_contain.ts";
import { DEFAULT_GRACE_MS } from "./_options.ts";
import { signalName, signalNumber } from "./_platform/signals.ts";
import { quote } from "./_timeout_text.ts";

/** What the command line asks for. */
export type TimeoutRequest =
  | { readonly kind: "help" }
  | { readonly kind: "version" }
  | TimeoutRun;

/** A command to run under a time limit. */
export interface TimeoutRun {
  readonly kind: "run";
  /** Time limit in milliseconds; Infinity for none. */
  readonly ms: number;
  readonly command: string;
  readonly args: readonly string[];
  readonly killSignal: Deno.Signal;
  /** From the first signal to SIGKILL in milliseconds; Infinity for never. */
  readonly graceMs: number;
  /** Whether the grace period was asked for, or is the default. */
  readonly graceGiven: boolean;
  readonly preserveStatus: boolean;
  readonly verbose: boolean;
  readonly foreground: boolean;
  readonly keepLeftovers: boolean;
  readonly pty: boolean;
  readonly contain: boolean;
}

/** A command line that cannot be understood; its message is for the user. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

type Settings = { -readonly [Key in keyof TimeoutRun]: TimeoutRun[Key] };

interface Option {
  /** The letter of the short form; empty where there is none. */
  readonly short: string;
  readonly takesValue: boolean;
  /** Whether GNU timeout has it too; its abbreviations come first then. */
  readonly gnu: boolean;
}

type OptionName =
  | "contain"
  | "foreground"
  | "help"
  | "keep-leftovers"
  | "kill-after"
  | "preserve-status"
  | "pty"
  | "signal"
  | "verbose"
  | "version";

const OPTIONS: Readonly<Record<OptionName, Option>> = {
  "contain": { short: "", takesValue: false, gnu: false },
  "foreground": { short: "f", takesValue: false, gnu: true },
  "help": { short: "", takesValue: false, gnu: true },
  "keep-leftovers": { short: "", takesValue: false, gnu: false },
  "kill-after": { short: "k", takesValue: true, gnu: true },
  "preserve-status": { short: "p", takesValue: false, gnu: true },
  "pty": { short: "", takesValue: false, gnu: false },
  "signal": { short: "s", takesValue: true, gnu: true },
  "verbose": { short: "v", takesValue: false, gnu: true },
  "version": { short: "", takesValue: false, gnu: true },
};

const NAMES = Object.keys(OPTIONS) as OptionName[];

/** Milliseconds of each suffix of a duration. */
const UNITS: Readonly<Record<string, number>> = {
  "": 1000,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const DURATION =
  /^\s*([+-]?)(?:((?:\d+\.?\d*|\.\d+))(e[+-]?\d+)?|inf(?:inity)?)(ms|s|m|h|d)?$/i;

/** Signals whose numbers are the same on every system. */
const COMMON_NUMBERS: readonly number[] = [1, 2, 3, 6, 9, 14, 15];

/** Reads the arguments of the timeout command. Throws {@linkcode UsageError}. */
export function parseTimeoutArgs(args: readonly string[]): TimeoutRequest {
  const settings: Settings = {
    kind: "run",
    ms: Infinity,
    command: "",
    args: [],
    killSignal: "SIGTERM",
    graceMs: DEFAULT_GRACE_MS,
    graceGiven: false,
    preserveStatus: false,
    verbose: false,
    foreground: false,
    keepLeftovers: false,
    pty: false,
    contain: false,
  };
  const rest = args.values();
  for (const arg of rest) {
    if (arg === "--") break;
    if (!arg.startsWith("-") || arg === "-") {
      return withOperands(settings, [arg, ...rest]);
    }
    const end = arg.startsWith("--")
      ? readLong(arg.slice(2), rest, settings)
      : readCluster(arg.slice(1), rest, settings);
    if (end !== null) return end;
  }
  return withOperands(settings, [...rest]);
}

/**
 * Reads a DURATION such as `1.5`, `500ms`, `5m` or `1e3`, in seconds where it
 * has no suffix, and gives it in milliseconds. 0 means no limit: Infinity.
 */
export function parseDuration(text: string): number {
  const match = DURATION.exec(text);
  if (match === null) throw badDuration(text);
  const [, sign, digits, exponent = "", suffix = ""] = match;
  // The expression ignores case for the sake of "E" and "INF" alone.
  const unit = UNITS[suffix];
  if (unit === undefined) throw badDuration(text);
  if (digits === undefined) {
    if (sign === "-") throw badDuration(text);
    return Infinity;
  }
  if (!/[1-9]/.test(digits)) return Infinity;
  if (sign === "-") throw badDuration(text);
  // A number too small for a double is short, and must not become "no limit".
  return Math.max(Number(digits + exponent) * unit, Number.MIN_VALUE);
}

/**
 * Reads a signal: a name with or without `SIG`, in any case, its number, or the
 * exit status of a process that it ended.
 */
export function parseSignal(text: string): Deno.Signal {
  if (/^\d+$/.test(text)) {
    const number = Number(text) > 128 ? Number(text) - 128 : Number(text);
    const name = signalName(number);
    const known = Deno.build.os === "linux" || COMMON_NUMBERS.includes(number);
    if (name !== undefined && known) return name;
    throw badSignal(text);
  }
  const upper = text.toUpperCase().replace(/^SIG/, "");
  try {
    const number = signalNumber(
      (upper === "CLD" ? "SIGCHLD" : `SIG${upper}`) as Deno.Signal,
    );
    return signalName(number) ?? `SIG${upper}` as Deno.Signal;
  } catch {
    // Said again in the words of the command line.
    throw badSignal(text);
  }
}

function badDuration(text: string): UsageError {
  return new UsageError(
    `cannot use ${quote(text)} as a duration: expected a number, 0 or more, ` +
      "with an optional suffix ms, s, m, h or d",
  );
}

function badSignal(text: string): UsageError {
  return new UsageError(
    `cannot use ${quote(text)} as a signal: expected a name such as TERM, ` +
      "or a number, of one that this program can send",
  );
}

/** Reads `name`, `name=value`, or `name` and the next argument. */
function readLong(
  text: string,
  rest: Iterator<string>,
  settings: Settings,
): TimeoutRequest | null {
  const equals = text.indexOf("=");
  const typed = equals < 0 ? text : text.slice(0, equals);
  const attached = equals < 0 ? undefined : text.slice(equals + 1);
  const name = findLong(typed);
  if (!OPTIONS[name].takesValue) {
    if (attached !== undefined) {
      throw new UsageError(`option ${quote(`--${name}`)} takes no value`);
    }
    return apply(name, "", settings);
  }
  return apply(name, attached ?? nextValue(`--${name}`, rest), settings);
}

/** Reads the short options behind one dash; a value takes up the rest of it. */
function readCluster(
  letters: string,
  rest: Iterator<string>,
  settings: Settings,
): TimeoutRequest | null {
  const [letter] = letters;
  if (letter === undefined) return null;
  const name = NAMES.find((name) => OPTIONS[name].short === letter);
  if (name === undefined) {
    throw new UsageError(`unknown option ${quote(`-${letter}`)}`);
  }
  const attached = letters.slice(letter.length);
  if (OPTIONS[name].takesValue) {
    return apply(name, attached || nextValue(`-${letter}`, rest), settings);
  }
  return apply(name, "", settings) ?? readCluster(attached, rest, settings);
}

function nextValue(option: string, rest: Iterator<string>): string {
  const next = rest.next();
  if (next.done) throw new UsageError(`option ${quote(option)} needs a value`);
  return next.value;
}

/** The option of this name, or the one that it abbreviates without doubt. */
function findLong(typed: string): OptionName {
  const matches = NAMES.filter((name) => name.startsWith(typed));
  // What abbreviates an option of GNU timeout keeps that meaning here.
  const known = matches.filter((name) => OPTIONS[name].gnu);
  const found = known.length > 0 ? known : matches;
  const exact = matches.find((name) => name === typed);
  const [name, ...others] = exact === undefined ? found : [exact];
  if (name === undefined) {
    throw new UsageError(`unknown option ${quote(`--${typed}`)}`);
  }
  if (others.length > 0) {
    const list = found.map((name) => `--${name}`).join(", ");
    throw new UsageError(`option ${quote(`--${typed}`)} is ambiguous: ${list}`);
  }
  return name;
}

function apply(
  name: OptionName,
  value: string,
  settings: Settings,
): TimeoutRequest | null {
  switch (name) {
    case "help":
    case "version":
      return { kind: name };
    case "contain":
      settings.contain = true;
      return null;
    case "foreground":
      settings.foreground = true;
      return null;
    case "keep-leftovers":
      settings.keepLeftovers = true;
      return null;
    case "kill-after":
      settings.graceMs = parseDuration(value);
      settings.graceGiven = true;
      return null;
    case "preserve-status":
      settings.preserveStatus = true;
      return null;
    case "pty":
      settings.pty = true;
      return null;
    case "signal":
      settings.killSignal = parseSignal(value);
      return null;
    case "verbose":
      settings.verbose = true;
      return null;
  }
}

function withOperands(
  settings: Settings,
  operands: readonly string[],
): TimeoutRun {
  const [duration, command, ...args] = operands;
  if (duration === undefined) throw new UsageError("DURATION is missing");
  if (command === undefined) {
    throw new UsageError(
      `COMMAND is missing after duration ${quote(duration)}`,
    );
  }
  if (settings.contain) checkContained(settings);
  if (settings.pty && settings.foreground) {
    throw new UsageError(
      "options --pty and --foreground exclude each other: a terminal of its own is a session of its own",
    );
  }
  return { ...settings, ms: parseDuration(duration), command, args };
}

/** What cannot go with a PID namespace is said before anything is started. */
function checkContained({ foreground, killSignal }: Settings): void {
  if (foreground) {
    throw new UsageError(
      "options --contain and --foreground exclude each other: what COMMAND starts is not stopped in the foreground",
    );
  }
  if (!isContainedSignal(killSignal)) {
    throw new UsageError(
      `cannot use ${
        quote(killSignal)
      } with --contain: expected TERM, INT or KILL`,
    );
  }
}
