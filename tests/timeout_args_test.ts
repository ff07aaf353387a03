// Copyright 2026 the @proc/group authors. MIT license.

import { assertEquals, assertThrows } from "@std/assert";
import {
  parseDuration,
  parseSignal,
  parseTimeoutArgs,
  type TimeoutRun,
  UsageError,
} from "../_timeout_args.ts";
import { quote } from "../_timeout_text.ts";
import { GNU_TIMEOUT, hasGnuTimeout } from "./_gnu_timeout.ts";

/** What the parser gives where nothing but the operands is there. */
const PLAIN: TimeoutRun = {
  kind: "run",
  ms: 5000,
  command: "cmd",
  args: [],
  killSignal: "SIGTERM",
  graceMs: 5000,
  graceGiven: false,
  preserveStatus: false,
  verbose: false,
  foreground: false,
  keepLeftovers: false,
  pty: false,
  contain: false,
};

/** Durations that mean the same to GNU timeout, in milliseconds. */
const DURATIONS: [string, number][] = [
  ["10", 10_000],
  ["1.5", 1500],
  [".5", 500],
  ["5.", 5000],
  ["+5", 5000],
  [" 5", 5000],
  ["007", 7000],
  ["1e3", 1_000_000],
  ["1E-1", 100],
  ["2.5e+1m", 1_500_000],
  ["30s", 30_000],
  ["5m", 300_000],
  ["2h", 7_200_000],
  ["1d", 86_400_000],
  ["30d", 2_592_000_000],
  ["1e30d", 8.64e37],
  ["0", Infinity],
  ["0.00d", Infinity],
  ["-0", Infinity],
  ["0e5", Infinity],
  ["inf", Infinity],
  ["Infinity", Infinity],
  ["INFd", Infinity],
  ["1e400", Infinity],
  // Too small for a double, yet a limit.
  ["1e-400", Number.MIN_VALUE],
];

/** What GNU timeout rejects too. */
const NO_DURATIONS = [
  "",
  " ",
  ".",
  "-1",
  "-0.1",
  "-inf",
  "NaN",
  "nan",
  "1x",
  "1e",
  "1e+",
  "0x",
  "5S",
  "5M",
  "5 ",
  "5 s",
  "5sx",
  "5ss",
  "1_0",
  "5,5",
  "s",
  "e5",
  "--5",
  "five",
];

Deno.test("parseDuration() reads numbers with suffixes as milliseconds", () => {
  for (const [text, ms] of DURATIONS) {
    assertEquals(parseDuration(text), ms, text);
  }
});

Deno.test("parseDuration() reads 500ms as half a second", () => {
  assertEquals(parseDuration("500ms"), 500);
  assertEquals(parseDuration("1.5ms"), 1.5);
  assertEquals(parseDuration("0ms"), Infinity);
});

Deno.test("parseDuration() rejects what is none and names it", () => {
  // Hexadecimal, which GNU timeout takes, would make 0x1d mean 29 seconds.
  for (const text of [...NO_DURATIONS, "0x10", "5MS", "-1e-400"]) {
    const message = `cannot use ${quote(text)} as a duration`;
    assertThrows(() => parseDuration(text), UsageError, message);
  }
});

Deno.test({
  name: "parseDuration() agrees with GNU timeout on what a duration is",
  ignore: !hasGnuTimeout(),
  async fn() {
    const accepted = async (text: string) => {
      const { code } = await new Deno.Command(GNU_TIMEOUT, {
        args: ["--", text, "true"],
        stderr: "null",
      }).output();
      return code !== 125;
    };
    for (const [text] of DURATIONS) {
      assertEquals(await accepted(text), true, text);
    }
    for (const text of NO_DURATIONS) {
      assertEquals(await accepted(text), false, text);
    }
  },
});

Deno.test("parseSignal() reads names and numbers", () => {
  const signals: [string, Deno.Signal][] = [
    ["TERM", "SIGTERM"],
    ["SIGTERM", "SIGTERM"],
    ["sigint", "SIGINT"],
    ["Hup", "SIGHUP"],
    ["9", "SIGKILL"],
    ["015", "SIGTERM"],
    ["137", "SIGKILL"],
    ["CLD", "SIGCHLD"],
    ["IOT", "SIGABRT"],
  ];
  for (const [text, signal] of signals) {
    assertEquals(parseSignal(text), signal, text);
  }
});

Deno.test("parseSignal() rejects what is none and names it", () => {
  const texts = ["", "0", "32", "99", "128", "999", "-1", "+15", " 15", "15x"];
  for (const text of [...texts, "FOO", "SIG", "TERM ", "SIGSIGTERM", "RTMIN"]) {
    const message = `cannot use ${quote(text)} as a signal`;
    assertThrows(() => parseSignal(text), UsageError, message);
  }
});

Deno.test("parseTimeoutArgs() reads options in every form", () => {
  const graceful = { graceMs: 2000, graceGiven: true };
  const rows: [string[], Partial<TimeoutRun>][] = [
    [[], {}],
    [["-k2"], graceful],
    [["-k", "2s"], graceful],
    [["-k2000ms"], graceful],
    [["--kill-after=2"], graceful],
    [["--kill-after", "2"], graceful],
    [["--k=2"], graceful],
    [["--ki", "2"], graceful],
    [["-k0"], { graceMs: Infinity, graceGiven: true }],
    [["-sINT"], { killSignal: "SIGINT" }],
    [["-s", "2"], { killSignal: "SIGINT" }],
    [["--signal=int"], { killSignal: "SIGINT" }],
    [["--si", "INT"], { killSignal: "SIGINT" }],
    [["-s", "HUP", "-s", "INT"], { killSignal: "SIGINT" }],
    [["-v"], { verbose: true }],
    [["--verb"], { verbose: true }],
    [["-p"], { preserveStatus: true }],
    [["--p"], { preserveStatus: true }],
    [["-f"], { foreground: true }],
    [["--fore"], { foreground: true }],
    [["--keep-leftovers"], { keepLeftovers: true }],
    [["--pty"], { pty: true }],
    [["--contain"], { contain: true }],
    [["--ke"], { keepLeftovers: true }],
    [["-vk2", "-sINT"], { ...graceful, verbose: true, killSignal: "SIGINT" }],
    [["-fpvs", "INT"], {
      foreground: true,
      preserveStatus: true,
      verbose: true,
      killSignal: "SIGINT",
    }],
    [["-v", "--"], { verbose: true }],
  ];
  for (const [options, expected] of rows) {
    const actual = parseTimeoutArgs([...options, "5", "cmd"]);
    assertEquals(actual, { ...PLAIN, ...expected }, options.join(" "));
  }
});

Deno.test("parseTimeoutArgs() leaves every argument of the command alone", () => {
  const rows = [
    ["--", "-x", "file"],
    ["-v", "--help", "-k5", "--foo=bar", "--version"],
    ["", "a\nb", "-", "--", "é", "'"],
  ];
  for (const args of rows) {
    assertEquals(parseTimeoutArgs(["5", "cmd", ...args]), { ...PLAIN, args });
  }
  assertEquals(parseTimeoutArgs(["--", "5", "-v"]), {
    ...PLAIN,
    command: "-v",
  });
  assertEquals(parseTimeoutArgs(["5", "--"]), { ...PLAIN, command: "--" });
});

Deno.test("parseTimeoutArgs() stops at --help and --version", () => {
  assertEquals(parseTimeoutArgs(["--help", "--foo"]), { kind: "help" });
  assertEquals(parseTimeoutArgs(["-v", "--vers"]), { kind: "version" });
});

Deno.test("parseTimeoutArgs() names what is wrong in one line", () => {
  const rows: [string[], string][] = [
    [[], "DURATION is missing"],
    [["-v"], "DURATION is missing"],
    [["5"], `COMMAND is missing after duration ${quote("5")}`],
    [["-", "cmd"], `cannot use ${quote("-")} as a duration`],
    [["-z", "5", "cmd"], `unknown option ${quote("-z")}`],
    [["-vz", "5", "cmd"], `unknown option ${quote("-z")}`],
    [["-1", "cmd"], `unknown option ${quote("-1")}`],
    [["--foo=1", "5", "cmd"], `unknown option ${quote("--foo")}`],
    [["--ver"], `option ${quote("--ver")} is ambiguous: --verbose, --version`],
    [["--help=1"], `option ${quote("--help")} takes no value`],
    [["-k"], `option ${quote("-k")} needs a value`],
    [["-vs"], `option ${quote("-s")} needs a value`],
    [["--kill-after"], `option ${quote("--kill-after")} needs a value`],
    [["-kv", "5", "cmd"], `cannot use ${quote("v")} as a duration`],
    [["-k", "-1", "5", "cmd"], `cannot use ${quote("-1")} as a duration`],
    [["--kill-after=", "5", "cmd"], `cannot use ${quote("")} as a duration`],
    [["-sFOO", "5", "cmd"], `cannot use ${quote("FOO")} as a signal`],
    [["--si=", "5", "cmd"], `cannot use ${quote("")} as a signal`],
    [["-z\n", "5", "cmd"], `unknown option ${quote("-z")}`],
    [["a\nb\x1b[2J", "cmd"], "a\\nb\\033[2J"],
  ];
  for (const [args, part] of rows) {
    const error = assertThrows(() => parseTimeoutArgs(args), UsageError, part);
    assertEquals((error as Error).message.includes("\n"), false);
  }
});

Deno.test("quote() uses the quotation marks of the locale and escapes", () => {
  assertEquals(quote("it's é\n\x01\\’", true), "‘it's é\\n\\001\\\\\\’’");
  assertEquals(
    quote("it's é\t\x7f’", false),
    "'it\\'s \\303\\251\\t\\177\\342\\200\\231'",
  );
});
