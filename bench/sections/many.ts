// Copyright 2026 the @proc/group authors. MIT license.

import { lineChart } from "../_chart.ts";
import { colorOf, find, type Section, table } from "../_section.ts";
import { cpuTime, digits, time } from "../_stats.ts";
import { OURS } from "../_stoppers.ts";
import type { ManyResult } from "../experiments/many.ts";

const HEAD = [
  "groups",
  "contestant",
  "spawn each",
  "CPU a second",
  "threads",
  "read",
  "p99",
  "memory each",
  "stop all",
  "alive",
];

/** Many groups: threads, CPU, memory, and how responsive the rest is. */
export async function manySection(
  results: readonly ManyResult[],
): Promise<Section> {
  const most = Math.max(...results.map(({ groups }) => groups));
  const at = (name: string) =>
    find(results, (r) => r.contestant === name && r.groups === most);
  const ffi = at(OURS.ffi);
  const plain = at("Deno.Command");
  const cpu = (name: string) => `${cpuOf(at(name))} of CPU time a second`;
  return {
    title: "Many groups at once",
    advice:
      `**Choose** FFI for many groups: waiting for ${count(most)} takes ${
        cpu(OURS.ffi)
      } and ${ffi.threads} threads in all (plain \`Deno.Command\`: ${plain.threads}), and a file is read in ${
        time(ffi.readMs)
      } meanwhile. **This package ` +
      "loses** to plain `Deno.Command` in memory for each group (" +
      `${memory(ffi)} against ${memory(plain)}) and in the time to stop all (${
        time(ffi.stopMs)
      } against ${
        time(plain.stopMs)
      }), since it makes sure who is left; without ` +
      `FFI it waits as cheaply, but each spawn takes ${
        time(at(OURS.portable).spawnMs)
      }.`,
    charts: { many: await draw(results) },
    body:
      "Each group is one `sleep`. *Threads* are all of the process; *read* is " +
      "the time to read a small file meanwhile, median and 99th percentile; " +
      "*memory* is what the parent's resident memory has grown by, for each " +
      "group; with few of them that is mostly what is made once.\n\n" +
      table(HEAD, results.map(row)),
  };
}

/** The kernel counts CPU time in steps of 10 milliseconds. */
function cpuOf({ idleCpuMsPerSecond, idleSeconds }: ManyResult): string {
  return cpuTime(idleCpuMsPerSecond, 10 / idleSeconds);
}

function row(result: ManyResult): string[] {
  return [
    count(result.groups),
    result.contestant,
    time(result.spawnMs),
    cpuOf(result),
    `${result.threads}`,
    time(result.readMs),
    time(result.readP99Ms),
    memory(result),
    time(result.stopMs),
    `${result.survivors}`,
  ];
}

function memory({ bytesPerGroup }: ManyResult): string {
  return `${digits(bytesPerGroup / 1000)} kB`;
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}

async function draw(results: readonly ManyResult[]): Promise<string> {
  const names = [...new Set(results.map(({ contestant }) => contestant))];
  const panel = (
    title: string,
    log: boolean,
    value: (result: ManyResult) => number,
  ) => ({
    x: { title: "groups", log: true },
    y: { title, log },
    lines: names.map((name) => ({
      name,
      color: colorOf(name),
      points: results.filter(({ contestant }) => contestant === name).map((r) =>
        [r.groups, value(r)] as const
      ),
    })),
  });
  return await lineChart("Many groups at once", [
    panel("threads while waiting", false, (r) => r.threads),
    panel("memory for each group, kB", true, (r) => r.bytesPerGroup / 1000),
    panel("time to stop all, ms", true, (r) => r.stopMs),
  ]);
}
