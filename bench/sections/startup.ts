// Copyright 2026 the @proc/group authors. MIT license.

import { barChart } from "../_chart.ts";
import { find, type Section, table } from "../_section.ts";
import { time } from "../_stats.ts";
import type { StartupResult } from "../experiments/startup.ts";

/** Start-up of the module and of the timeout command. */
export async function startupSection(
  results: readonly StartupResult[],
): Promise<Section> {
  const by = (what: string) => find(results, (r) => r.what.startsWith(what)).ms;
  const empty = by("deno run, empty");
  return {
    title: "Start-up",
    advice:
      "**Choose** GNU timeout in a loop over thousands of short commands: it " +
      `takes ${time(by("GNU timeout"))}, \`timeout.ts\` ${
        time(by("timeout.ts 9 true, FFI"))
      }, of which ${time(empty)} are Deno's own. **This package loses** that ` +
      `by its nature. The import of the module costs ${
        time(by("deno run, import") - empty)
      }.`,
    charts: { startup: await draw(results) },
    body: table(
      ["command", "time", "n"],
      results.map(({ what, ms, n }) => [what, time(ms), `${n}`]),
    ),
  };
}

async function draw(results: readonly StartupResult[]): Promise<string> {
  return await barChart("Start-up", results.map(({ what }) => what), [{
    title: "time from start to end, ms",
    color: "blue",
    values: results.map(({ ms }) => ms),
  }]);
}
