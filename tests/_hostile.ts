// Copyright 2026 the @proc/group authors. MIT license.

/** Runs a program with groups where something that it needs is missing. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  alive,
  assertNoneAlive,
  decode,
  fromRoot,
  importMap,
  isPortable,
  skipIf,
  textOf,
  uniqueSleep,
  until,
} from "./_util.ts";

/** A PID namespace of its own whose init reaps. */
export const NAMESPACE = [
  ...["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"],
  ...["sh", "-c", '"$0" "$@"; exit $?'],
];

const works = Deno.build.os === "linux" &&
  await textOf(...NAMESPACE as [string], "echo", "up") === "up\n";

/** Options of a test that does what must be kept from everybody else. */
export const DISPOSABLE = {
  ...skipIf(!works, "no PID namespace can be made"),
  timeout: 60_000,
};

/** What came of one step. */
export interface Step {
  readonly ms: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** What came of all steps, and how the program ended. */
export interface Life {
  readonly steps: ReadonlyMap<string, Step>;
  readonly code: number;
  readonly stderr: string;
}

/** Runs a program of `tests/testdata/` below a wrapper. */
export async function runBelow(
  wrapper: readonly string[],
  program: string,
  args: readonly string[],
): Promise<{ code: number; stdout: string; stderr: string }> {
  const [command = "", ...rest] = [
    ...wrapper,
    ...[Deno.execPath(), "run", "-A", "--no-prompt", ...importMap],
    ...[fromRoot(`tests/testdata/${program}`), ...args],
  ];
  const child = new Deno.Command(command, {
    args: rest,
    env: { NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), 50_000);
  const { code, stdout, stderr } = await child.output();
  clearTimeout(timer);
  return { code, stdout: decode(stdout), stderr: decode(stderr) };
}

/** Lives through a condition of `hostile_life.ts`. */
export async function live(
  condition: string,
  wrapper: readonly string[] = NAMESPACE,
): Promise<Life> {
  const unique = uniqueSleep();
  const platform = isPortable ? "portable" : "linux";
  const { code, stdout, stderr } = await runBelow(wrapper, "hostile_life.ts", [
    condition,
    platform,
    unique,
  ]);
  const steps = new Map<string, Step>();
  for (const line of stdout.trim().split("\n")) {
    const { name, ...step } = JSON.parse(line || '{"name":""}');
    steps.set(name, step);
  }
  // What a fallback does not see ends with the program, by the guard.
  await until("nobody is left", async () => (await alive(unique)).length === 0)
    .catch(() => assertNoneAlive(unique));
  return { steps, code, stderr };
}

/** What a condition changes about a life. */
export interface Expectation {
  /** What starting a command rejects with; it works where that is left out. */
  readonly spawnError?: RegExp;
  /** How members may be found. */
  readonly members: readonly string[];
}

/** Checks that groups were stopped, in time, and that the truth was told. */
export function assertLife(
  { steps, code, stderr }: Life,
  { spawnError, members }: Expectation,
): void {
  const of = (name: string): Step => {
    const step = steps.get(name);
    if (!step) throw new Error(`${name} was not reached: ${stderr}`);
    return step;
  };
  const value = (name: string): unknown => {
    assertEquals(of(name).error, undefined, `${name}: ${of(name).error}`);
    return of(name).value;
  };
  for (const name of ["spawn", "spawnPiped"]) {
    // Without pipes the descriptor that is kept in reserve may be enough.
    const isRejected = spawnError && (name !== "spawn" || of(name).error);
    if (isRejected) assertMatch(of(name).error ?? "", spawnError);
    else assertEquals(value(name), name === "spawn" ? 0 : "hi\n");
  }
  assert(Number(value("list")) >= 1);
  assertEquals(value("kill"), true);
  assertEquals(value("status"), "SIGKILL");
  value("waitGone");
  assertEquals(value("killGone"), false);
  assertEquals(value("output"), "bye\n");
  value("waitEnding");
  assertMatch(of("deadline").error ?? "", /^DeadlineExceededError/);
  for (const name of ["stop", "stopProof", "stopHeadless", "stopJobs"]) {
    const report = value(name) as Record<string, unknown>;
    assertEquals(report.survivors, [], name);
    assert(members.includes(report.members as string), `${report.members}`);
    const isProof = name === "stopProof" || name === "stopHeadless";
    assertEquals(report.forced, isProof, name);
    assert(of(name).ms < 5000, `${name} took ${of(name).ms} ms`);
  }
  value("dispose");
  value("end");
  assertEquals([code, stderr], [0, ""]);
}
