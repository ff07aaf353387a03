// Copyright 2026 the @proc/group authors. MIT license.

/** Checking what callers pass in, before anything is started. */

import { fromFileUrl } from "@std/path/posix/from-file-url";
import { checkContainedSignal } from "./_contain.ts";
import { nextGroup, type StopSettings } from "./_group.ts";
import type { SpawnRequest } from "./_platform/platform.ts";
import { checkSignal } from "./_platform/signals.ts";
import type { EscapeePolicy } from "./_stop.ts";
import type { SpawnGroupOptions, StopGroupOptions } from "./process_group.ts";

/** Grace period between the first signal and SIGKILL, in milliseconds. */
export const DEFAULT_GRACE_MS = 5000;

/**
 * How long pipes are waited for once the leader has exited, in milliseconds:
 * somebody else may hold them for ever.
 */
export const DEFAULT_DRAIN_MS = 100;

const STDIO = ["piped", "inherit", "null"] as const;
const POLICIES = ["stop", "report", "ignore"] as const;

/** A checked request to spawn, and how the group is to be stopped. */
export interface PreparedSpawn {
  request: SpawnRequest;
  settings: StopSettings;
  signal: AbortSignal | undefined;
}

/** Checks all that does not need the system. An aborted signal throws its reason. */
export function prepareSpawn(
  command: string | URL,
  argsOrOptions: string[] | SpawnGroupOptions,
  lastOptions: SpawnGroupOptions,
): PreparedSpawn {
  const [args, options] = sortArguments(argsOrOptions, lastOptions);
  const env = Object.fromEntries(
    Object.entries(options.env ?? {}).map((
      [name, value],
    ) => [noNul("env", name), noNul(`env.${name}`, String(value))]),
  );
  const request: SpawnRequest = {
    command: noNul("command", toPath("command", command)),
    args: Array.from(args, (arg, i) => noNul(`args[${i}]`, String(arg))),
    cwd: options.cwd === undefined
      ? undefined
      : noNul("cwd", toPath("cwd", options.cwd)),
    clearEnv: options.clearEnv ?? false,
    env,
    uid: options.uid,
    gid: options.gid,
    stdin: oneOf("stdin", options.stdin, STDIO, "inherit"),
    stdout: oneOf("stdout", options.stdout, STDIO, "inherit"),
    stderr: oneOf("stderr", options.stderr, STDIO, "inherit"),
    group: nextGroup(),
    outlive: options.outlive ?? false,
    contain: options.contain ?? false,
  };
  const settings = stopSettings(options);
  const signal = checkAbortSignal(options.signal);
  signal?.throwIfAborted();
  return { request, settings, signal };
}

/** Checks how to stop; what is left out is the target's own, or the default. */
export function stopSettings(
  options: StopGroupOptions & { contain?: boolean },
  own?: StopSettings,
): StopSettings {
  const { contain = false } = own ?? options;
  const killSignal = options.killSignal ?? own?.killSignal ?? "SIGTERM";
  if (typeof killSignal !== "string") {
    throw new TypeError(
      `Cannot use killSignal: current value is ${
        Deno.inspect(killSignal)
      }, not a signal's name`,
    );
  }
  return {
    killSignal: contain
      ? checkContainedSignal(checkSignal(killSignal))
      : checkSignal(killSignal),
    contain,
    graceMs: checkMs(
      "graceMs",
      options.graceMs ?? own?.graceMs ?? DEFAULT_GRACE_MS,
    ),
    escapees: oneOf<EscapeePolicy>(
      "escapees",
      options.escapees,
      POLICIES,
      own?.escapees ?? "stop",
    ),
  };
}

/** Gives a finite time of at least 0 back, else throws. */
export function checkMs(name: string, value: unknown): number {
  const ms = checkAtLeast0(name, "milliseconds", value);
  if (ms < Infinity) return ms;
  throw new RangeError(
    `Cannot use ${name} as milliseconds: current value is ${ms}, not finite`,
  );
}

/** Gives a time limit of at least 0, or Infinity for none, back, else throws. */
export function checkLimit(ms: unknown): number {
  return checkAtLeast0("ms", "milliseconds", ms);
}

/** Gives a number of bytes of at least 0, or Infinity, back, else throws. */
export function checkBytes(name: string, value: unknown = Infinity): number {
  return checkAtLeast0(name, "bytes", value);
}

/** Gives a signal to abort with back, or undefined, else throws. */
export function checkAbortSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw new TypeError(
    `Cannot use signal: current value is ${
      Deno.inspect(signal)
    }, not an AbortSignal`,
  );
}

function checkAtLeast0(name: string, unit: string, value: unknown): number {
  if (typeof value !== "number") {
    throw new TypeError(
      `Cannot use ${name} as ${unit}: current value is ${
        Deno.inspect(value)
      }, not a number`,
    );
  }
  if (!(value >= 0)) {
    throw new RangeError(
      `Cannot use ${name} as ${unit}: current value is ${value}, not at least 0`,
    );
  }
  return value;
}

function sortArguments(
  argsOrOptions: string[] | SpawnGroupOptions,
  lastOptions: SpawnGroupOptions,
): [string[], SpawnGroupOptions] {
  if (typeof argsOrOptions !== "object" || argsOrOptions === null) {
    throw new TypeError(
      `Cannot use args: current value is ${
        Deno.inspect(argsOrOptions)
      }, neither an array nor options`,
    );
  }
  if (!Array.isArray(argsOrOptions)) {
    const { args = [] } = argsOrOptions;
    if (Array.isArray(args)) return [args, argsOrOptions];
    throw new TypeError(
      `Cannot use args: current value is ${Deno.inspect(args)}, not an array`,
    );
  }
  if (lastOptions.args !== undefined) {
    throw new TypeError("Cannot use args: they are given twice");
  }
  return [argsOrOptions, lastOptions];
}

function toPath(name: string, value: string | URL): string {
  if (typeof value === "string") return value;
  if (!(value instanceof URL)) {
    throw new TypeError(
      `Cannot use ${name}: current value is ${
        Deno.inspect(value)
      }, neither a string nor a URL`,
    );
  }
  if (value.protocol !== "file:") {
    throw new TypeError(
      `Cannot use ${name}: current value is ${value}, not a file URL`,
    );
  }
  if (value.host !== "") {
    throw new TypeError(
      `Cannot use ${name}: current value is ${value}, a file URL with a host`,
    );
  }
  return fromFileUrl(value);
}

/** C strings end at a NUL, so a value that holds one would be cut there. */
function noNul(name: string, value: string): string {
  if (value.includes("\0")) {
    throw new TypeError(
      `Cannot use ${name}: current value is ${
        Deno.inspect(value)
      }, which holds a NUL`,
    );
  }
  return value;
}

function oneOf<T extends string>(
  name: string,
  value: T | undefined,
  allowed: readonly T[],
  standard: T,
): T {
  if (value === undefined) return standard;
  if (allowed.includes(value)) return value;
  throw new TypeError(
    `Cannot use ${name}: current value is ${Deno.inspect(value)}, not one of ${
      allowed.join(", ")
    }`,
  );
}
