// Copyright 2026 the @proc/group authors. MIT license.

import { barChart } from "../_chart.ts";
import { find, type Section, table } from "../_section.ts";
import { cpuTime, time } from "../_stats.ts";
import { OURS } from "../_stoppers.ts";
import type { WaitResult } from "../experiments/wait.ts";

/** Below this an error cannot be told from the noise of two clocks. */
const NOISE_MS = 1;

/** Steps in which the kernel counts CPU time. */
const TICK_MS = 10;

const NOTES =
  "A shell, ten processes that end at once at SIGTERM, and one that takes " +
  '0.3 s. *Error* is the time at which the method said "gone" less the time at ' +
  "which the last process had ended, as seen by a separate program on pidfds. " +
  "*CPU* and *threads* are those of the whole process while it waits five " +
  "seconds for a group that lives; threads are in addition to those of an idle " +
  "Deno.";

/** Waiting: error and cost. */
export async function waitSection(
  results: readonly WaitResult[],
): Promise<Section> {
  const by = (name: string) => find(results, ({ method }) => method === name);
  const ffi = by(OURS.ffi);
  const late = (name: string) => time(Math.max(NOISE_MS, by(name).errorMs));
  return {
    title: "Waiting until gone",
    advice:
      `**Choose** pidfds, as this package does with FFI: it knew within ${
        late(OURS.ffi)
      } and used ${
        cpuTime(ffi.idleCpuMs, TICK_MS)
      } of CPU time in five seconds. ` +
      `Waiting for the leader says "gone" ${
        time(-by("status of the leader").errorMs)
      } too early, since another process took that long; signal 0 says so ${
        late("signal 0 every 10 ms")
      } too late, since it counts zombies for as long as process 1 takes to ` +
      "reap them (in many containers for ever). **This package loses** without " +
      `FFI: its pauses between scans made it ${late(OURS.portable)} late.`,
    charts: { wait: await draw(results) },
    body: `${NOTES}\n\n` +
      table(
        ["method", "said gone after", "error", "CPU in 5 s", "threads", "n"],
        results.map((result) => [
          result.method,
          time(result.saidMs),
          error(result),
          cpuTime(result.idleCpuMs, TICK_MS),
          Number.isFinite(result.threads) ? `+${result.threads}` : "-",
          `${result.n}`,
        ]),
      ),
  };
}

function error({ errorMs }: WaitResult): string {
  if (!Number.isFinite(errorMs)) return "**no answer in 15 s**";
  if (Math.abs(errorMs) < NOISE_MS) return "less than 1 ms";
  if (errorMs < 0) return `**${time(-errorMs)} too early**`;
  return `${time(errorMs)} late`;
}

async function draw(results: readonly WaitResult[]): Promise<string> {
  return await barChart(
    "Waiting until gone: how late it is known, and what waiting costs",
    results.map(({ method }) => method),
    [
      {
        title: "known so late, ms",
        log: true,
        color: "blue",
        values: results.map(({ errorMs }) => Math.max(errorMs, NOISE_MS)),
        alerts: results.map(({ errorMs }) => errorMs < -NOISE_MS),
        labels: results.map((result) => error(result).replaceAll("*", "")),
      },
      {
        title: "CPU in 5 s, ms",
        color: "orange",
        values: results.map(({ idleCpuMs }) => idleCpuMs),
      },
    ],
  );
}
