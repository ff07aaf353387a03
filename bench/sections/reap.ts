// Copyright 2026 the @proc/group authors. MIT license.

import { gridChart, lineChart } from "../_chart.ts";
import { colorOf, find, type Section, table } from "../_section.ts";
import { digits, time } from "../_stats.ts";
import { OURS } from "../_stoppers.ts";
import type { ReapResult, ReapTable } from "../experiments/reap.ts";
import type { PairResult } from "../pairs.ts";

const METHOD =
  "SIGTERM, one second of grace where the tool has one, then SIGKILL. Each " +
  "cell: median time from the first signal until the tool said that it was " +
  "done; in bold how many lived on, the most of all runs; *early* if some were " +
  "alive at that moment, but died of the signal within a quarter of a second. " +
  "Each tool is used as its documentation says, with one call.";

const COST =
  "CPU time of the tool and of the programs that it starts, mean; and zombies " +
  "(Z) at the moment at which it said that it was done. Those are left to " +
  "process 1; the subreaper has none, since it reaps all by itself.";

const NEAR =
  "Flat groups, SIGKILL, in turns. *killGroup + waitGone* does what the C " +
  "program does; *stopGroup* looks for daemons as well. The ratio is the median " +
  "of those of the pairs.";

/** The whole job: time, survivors and CPU. */
export async function reapSection(
  tables: readonly ReapTable[],
  pairs: readonly PairResult[],
): Promise<Section> {
  const names = tables[0]!.results.map(({ contestant }) => contestant);
  const clean = names.filter((name) =>
    cells(tables, name).every(({ early }) => early === 0)
  );
  const hundred = tables.filter(({ tree }) => tree === "flat, 100");
  const ms = (name: string) => time(cells(hundred, name)[0]!.ms);
  return {
    title: "The whole job: stopped and gone",
    advice: `**Choose** by what may be left: only ${list(clean)} were done ` +
      "with every tree when they said so. Where all obey SIGTERM and stay in " +
      "their group, GNU timeout and execa are enough. **This package loses** to " +
      "those by the time that it takes to make sure, for a hundred processes " +
      `${ms(OURS.ffi)} with FFI and ${ms(OURS.portable)} without it, to ${
        ms("GNU timeout")
      } of GNU timeout, which looks at the leader alone, and ${
        ms("C, pidfds")
      } of C.`,
    charts: {
      survivors: await drawGrid(tables, names),
      reap: await drawLines(tables, names),
    },
    body: [
      METHOD,
      timeTable(tables, names),
      COST,
      cpuTable(tables, names),
      "### How near to C",
      NEAR,
      pairTable(pairs),
    ].join("\n\n"),
  };
}

/** One contestant's results, tree by tree. */
function cells(tables: readonly ReapTable[], name: string): ReapResult[] {
  return tables.map(({ results }) =>
    find(results, ({ contestant }) => contestant === name)
  );
}

function list(names: readonly string[]): string {
  if (names.length < 2) return names[0] ?? "no contestant";
  return `${names.slice(0, -1).join("; ")}; and ${names.at(-1)}`;
}

function timeTable(
  tables: readonly ReapTable[],
  names: readonly string[],
): string {
  const rounds = tables.map(({ results }) => `${results[0]!.n}`);
  return table(["", ...tables.map(({ tree }) => tree)], [
    ...names.map((name) => [name, ...cells(tables, name).map(outcome)]),
    ["n", ...rounds],
  ]);
}

function outcome({ ms, survivors, early, gaveUp }: ReapResult): string {
  const limit = gaveUp ? ` after ${time(ms)}` : "";
  if (survivors > 0) return `**${survivors} alive${limit}**`;
  if (gaveUp) return `> ${time(ms)}`;
  return early > 0 ? `${time(ms)}, *${early} early*` : time(ms);
}

function cpuTable(
  tables: readonly ReapTable[],
  names: readonly string[],
): string {
  return table(
    ["", ...tables.map(({ tree }) => tree)],
    names.map((name) => [
      name,
      ...cells(tables, name).map(({ cpuMs, zombies }) =>
        Number.isFinite(cpuMs) ? `${digits(cpuMs)} ms, ${zombies} Z` : "-"
      ),
    ]),
  );
}

function pairTable(pairs: readonly PairResult[]): string {
  return table(
    [
      "members",
      "C, pidfds",
      "killGroup + waitGone",
      "ratio",
      "stopGroup",
      "ratio",
      "pairs",
    ],
    pairs.map((pair) => [
      `${pair.members}`,
      time(pair.floorMs),
      time(pair.waitMs),
      pair.waitRatio.toFixed(2),
      time(pair.stopMs),
      pair.stopRatio.toFixed(2),
      `${pair.pairs}`,
    ]),
  );
}

async function drawGrid(
  tables: readonly ReapTable[],
  names: readonly string[],
): Promise<string> {
  const title = "Processes that live on after the tool said that it was done";
  return await gridChart(title, {
    rows: names,
    columns: tables.map(({ tree }) => tree),
    cells: names.map((name) =>
      cells(tables, name).map(({ survivors }) => ({
        text: `${survivors}`,
        good: survivors === 0,
      }))
    ),
    good: "nothing left alive",
    bad: "number of processes left alive",
  });
}

/** Times of the flat trees, of those that left nothing in them. */
async function drawLines(
  tables: readonly ReapTable[],
  names: readonly string[],
): Promise<string> {
  const flat = tables.filter(({ tree }) => tree.startsWith("flat"));
  const members = flat.map(({ tree }) => Number(tree.replace(/\D/g, "")));
  const panel = (title: string, value: (result: ReapResult) => number) => ({
    x: { title: "members of a flat tree", log: true },
    y: { title, log: true },
    lines: names.flatMap((name) => {
      const points = cells(flat, name).flatMap((result, i) =>
        result.survivors === 0 && value(result) > 0
          ? [[members[i]!, value(result)] as const]
          : []
      );
      return points.length > 0 ? { name, color: colorOf(name), points } : [];
    }),
  });
  return await lineChart("Stopping a flat tree, where nothing was left alive", [
    panel("time until it says gone, ms", ({ ms }) => ms),
    panel("CPU time, ms", ({ cpuMs }) => cpuMs),
  ]);
}
