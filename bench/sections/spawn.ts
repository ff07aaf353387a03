// Copyright 2026 the @proc/group authors. MIT license.

import { lineChart } from "../_chart.ts";
import { colorOf, find, type Section, table } from "../_section.ts";
import { time } from "../_stats.ts";
import { OURS } from "../_stoppers.ts";
import type { SpawnResult } from "../experiments/spawn.ts";

const PLAIN = "Deno.Command";
const DETACHED = "Deno.Command, detached";

/** Spawning: stall of the event loop and time until the program runs. */
export async function spawnSection(
  results: readonly SpawnResult[],
): Promise<Section> {
  const ways = [...new Set(results.map(({ way }) => way))];
  const sizes = [...new Set(results.map(({ gigabytes }) => gigabytes))];
  const largest = Math.max(...sizes);
  const stall = (way: string) => time(at(results, way, largest).stallMs);
  return {
    title: "Spawning from a large process",
    advice:
      `**Choose** FFI where the parent is large: at ${largest} GB ${
        stall(OURS.ffi)
      } stall against ${stall(PLAIN)} of plain \`Deno.Command\` and ${
        stall(DETACHED)
      } of its \`detached\` option, which copies page tables. **This package ` +
      "loses** without FFI, since it has only that option then; setsid(1) as a " +
      "wrapper avoids it, but hides that a program is missing.",
    charts: { spawn: await draw(results, ways) },
    body:
      "*Stall* is how long the call itself takes, in which the event loop " +
      "stands still; *runs* is the time from the call until the program runs " +
      "and looks at the clock. Medians.\n\n" +
      table(
        ["way", ...sizes.flatMap((size) => [`${size} GB: stall`, "runs"]), "n"],
        ways.map((way) => row(results, way, sizes)),
      ) + `\n\n${ratios(results, sizes)}`,
  };
}

function at(
  results: readonly SpawnResult[],
  way: string,
  gigabytes: number,
): SpawnResult {
  return find(results, (r) => r.way === way && r.gigabytes === gigabytes);
}

function row(
  results: readonly SpawnResult[],
  way: string,
  sizes: readonly number[],
): string[] {
  const cells = sizes.flatMap((size) => {
    const { stallMs, untilRunsMs } = at(results, way, size);
    return [time(stallMs), time(untilRunsMs)];
  });
  return [way, ...cells, `${at(results, way, sizes[0]!).n}`];
}

function ratios(
  results: readonly SpawnResult[],
  sizes: readonly number[],
): string {
  const texts = sizes.map((size) => {
    const ours = at(results, OURS.ffi, size).stallMs;
    const ratio = ours / at(results, PLAIN, size).stallMs;
    return `${ratio.toFixed(2)} at ${size} GB`;
  });
  return `Stall of this package with FFI as a multiple of plain \`Deno.Command\`'s: ${
    texts.join(", ")
  }.`;
}

async function draw(
  results: readonly SpawnResult[],
  ways: readonly string[],
): Promise<string> {
  const panel = (title: string, value: (result: SpawnResult) => number) => ({
    x: { title: "resident memory of the parent, GB" },
    y: { title, log: true },
    lines: ways.map((name) => ({
      name,
      color: colorOf(name),
      points: results.filter(({ way }) => way === name).map((result) =>
        [result.rssBytes / 1e9, value(result)] as const
      ),
    })),
  });
  return await lineChart("Spawning from a process that has grown", [
    panel("stall of the event loop, ms", ({ stallMs }) => stallMs),
    panel("time until it runs, ms", ({ untilRunsMs }) => untilRunsMs),
  ]);
}
