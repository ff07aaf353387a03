// Copyright 2026 the @proc/group authors. MIT license.

/** The command line of the timeout command, whatever is typed. */

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  parseDuration,
  parseSignal,
  parseTimeoutArgs,
  type TimeoutRequest,
  type TimeoutRun,
  UsageError,
} from "../_timeout_args.ts";
import { signalName, signalNumber } from "../_platform/signals.ts";
import { runs } from "./_fuzz.ts";

const UNITS = {
  "": 1000,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** What a parser gives, or undefined where it rejects the text as it should. */
function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    assert(error.message.length > 10);
    assert(!error.message.includes("\n"), error.message);
    return undefined;
  }
}

/** Texts that look like durations, and anything else. */
const durationLike = fc.oneof(
  fc.string({ unit: fc.constantFrom(..."0123456789.eE+- infmshdxN\n\t") }),
  fc.string(),
  fc.string({ unit: "binary" }),
);

/** A number as people write it, and its value. */
const decimal = fc.record({
  whole: fc.nat({ max: 99_999 }).map(String),
  fraction: fc.option(fc.nat({ max: 999 }).map(String), { nil: undefined }),
  exponent: fc.option(fc.integer({ min: -3, max: 3 }), { nil: undefined }),
  zeros: fc.constantFrom("", "0", "00"),
  sign: fc.constantFrom("", "+"),
}).map(({ whole, fraction, exponent, zeros, sign }) => {
  const digits = fraction === undefined ? whole : `${whole}.${fraction}`;
  const power = exponent === undefined ? "" : `e${exponent}`;
  return { text: sign + zeros + digits + power, value: Number(digits + power) };
});

const duration = fc.tuple(
  decimal,
  fc.constantFrom(...Object.keys(UNITS) as (keyof typeof UNITS)[]),
).map(([{ text, value }, unit]) => ({
  text: text + unit,
  // Zero means that there is no limit.
  ms: value === 0 ? Infinity : value * UNITS[unit],
}));

const signal = fc.constantFrom<Deno.Signal>(
  "SIGTERM",
  "SIGINT",
  "SIGHUP",
  "SIGKILL",
  "SIGUSR1",
).chain((name) =>
  fc.constantFrom(
    name,
    name.slice(3),
    name.toLowerCase(),
    `${signalNumber(name)}`,
    `${128 + signalNumber(name)}`,
  ).map((text) => ({ text, name }))
);

interface TypedOption {
  readonly typed: readonly string[];
  readonly means: Partial<TimeoutRun>;
}

/** An option of a value, in each form that there is. */
function withValue(
  short: string,
  long: string,
  text: string,
  means: Partial<TimeoutRun>,
): fc.Arbitrary<TypedOption> {
  return fc.constantFrom<readonly string[]>(
    [`-${short}${text}`],
    [`-${short}`, text],
    [`--${long}=${text}`],
    [`--${long}`, text],
    [`--${long.slice(0, -2)}=${text}`],
    [`-v${short}${text}`],
    [`-pv${short}`, text],
  ).map((typed) => ({
    typed,
    means: {
      ...means,
      ...(typed[0]!.startsWith("-v") ? { verbose: true } : {}),
      ...(typed[0]!.startsWith("-pv")
        ? { verbose: true, preserveStatus: true }
        : {}),
    },
  }));
}

const flag: fc.Arbitrary<TypedOption> = fc.constantFrom<TypedOption>(
  { typed: ["-v"], means: { verbose: true } },
  { typed: ["--verbose"], means: { verbose: true } },
  { typed: ["--verb"], means: { verbose: true } },
  { typed: ["-p"], means: { preserveStatus: true } },
  { typed: ["--preserve-status"], means: { preserveStatus: true } },
  { typed: ["--keep-leftovers"], means: { keepLeftovers: true } },
  { typed: ["-pv"], means: { preserveStatus: true, verbose: true } },
);

const option = fc.oneof(
  flag,
  signal.chain(({ text, name }) =>
    withValue("s", "signal", text, { killSignal: name })
  ),
  duration.chain(({ text, ms }) =>
    withValue("k", "kill-after", text, { graceMs: ms, graceGiven: true })
  ),
);

Deno.test("parseDuration() gives a time above 0 or rejects, for any text", () => {
  fc.assert(
    fc.property(durationLike, (text) => {
      const ms = attempt(() => parseDuration(text));
      assert(ms === undefined || ms > 0, `${ms}`);
    }),
    runs(2000),
  );
});

Deno.test("parseDuration() reads each number in each unit", () => {
  fc.assert(
    fc.property(duration, ({ text, ms }) => {
      assertEquals(parseDuration(text), ms);
    }),
    runs(2000),
  );
});

Deno.test("parseSignal() gives a signal that can be sent or rejects, for any text", () => {
  const signalLike = fc.oneof(
    fc.string({
      unit: fc.constantFrom(..."SIGTERMKLHUPsigtermkl0123456789+-"),
    }),
    fc.string(),
    fc.constantFrom("__proto__", "constructor", "toString", "SIG", "sigsig"),
  );
  fc.assert(
    fc.property(signalLike, (text) => {
      const name = attempt(() => parseSignal(text));
      if (name === undefined) return;
      assertEquals(signalName(signalNumber(name)), name);
    }),
    runs(2000),
  );
  fc.assert(
    fc.property(signal, ({ text, name }) => {
      assertEquals(parseSignal(text), name);
    }),
    runs(100),
  );
});

Deno.test("parseTimeoutArgs() gives a request or rejects, for any arguments", () => {
  const anything = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom(..."-=vkspf1.5smKILL") }),
    fc.constantFrom("-", "--", "--=", "-k", "-s", "--k", "--s=", "5", "1s"),
  );
  fc.assert(
    fc.property(fc.array(anything, { maxLength: 8 }), (args) => {
      const copy = [...args];
      const request = attempt((): TimeoutRequest => parseTimeoutArgs(args));
      assertEquals(args, copy);
      if (request?.kind !== "run") return;
      const { ms, graceMs, command, args: rest } = request;
      assert(ms > 0 && graceMs > 0);
      assertEquals([command, ...rest], args.slice(-rest.length - 1));
    }),
    runs(3000),
  );
});

Deno.test("parseTimeoutArgs() reads options in each form and hands the rest over untouched", () => {
  const typed = fc.record({
    options: fc.array(option, { maxLength: 5 }),
    separator: fc.boolean(),
    limit: duration,
    // A command that looks like an option is one only behind the duration.
    command: fc.string(),
    args: fc.array(fc.oneof(fc.string(), fc.constantFrom("--", "-v", "-k5")), {
      maxLength: 5,
    }),
  });
  fc.assert(
    fc.property(typed, ({ options, separator, limit, command, args }) => {
      const request = parseTimeoutArgs([
        ...options.flatMap(({ typed }) => typed),
        ...(separator ? ["--"] : []),
        limit.text,
        command,
        ...args,
      ]);
      const plain = parseTimeoutArgs(["1", "x"]);
      const means = Object.assign({}, ...options.map(({ means }) => means));
      assertEquals(request, {
        ...plain,
        ms: limit.ms,
        command,
        args,
        ...means,
      });
    }),
    runs(2000),
  );
});
