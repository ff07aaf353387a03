// Copyright 2026 the @proc/group authors. MIT license.

import { barChart } from "../_chart.ts";
import { find, type Section, table } from "../_section.ts";
import { time } from "../_stats.ts";
import type { SignalResult } from "../experiments/signal.ts";

/** Signalling: time and reach. */
export async function signalSection(
  results: readonly SignalResult[],
): Promise<Section> {
  const [small, large] = [...Map.groupBy(results, (r) => r.members).values()];
  const ways = small!.map(({ way }) => way);
  const walk = find(large!, ({ way }) => way === "walk of ps(1)");
  const group = find(large!, ({ way }) => way === "killGroup()");
  return {
    title: "Signalling",
    advice:
      `**Choose** one signal to the process group: it takes ${
        time(group.ms)
      } for ${group.reached} processes, where a walk of ps(1) takes ${
        time(walk.ms)
      } and misses whoever is born meanwhile. It does not reach jobs in groups ` +
      "of their own and daemons, for which `stopGroup` looks afterwards; a " +
      "cgroup reaches all, where one can be made. **This package loses** to a " +
      "bare `Deno.kill(-pgid)` by the time of its checks.",
    charts: { signal: await draw(ways, small!, large!) },
    body:
      "The tree is a shell with so many children, one more in a job of its " +
      "own, and a daemon. *Reached* counts those that a SIGSTOP stopped (for " +
      "the cgroup: that were killed); the time is that of a SIGCONT.\n\n" +
      table(
        ["way", "10 children", "reached", "100 children", "reached", "n"],
        ways.map((way) => row(way, small!, large!)),
      ),
  };
}

function row(
  name: string,
  small: readonly SignalResult[],
  large: readonly SignalResult[],
): string[] {
  const a = find(small, ({ way }) => way === name);
  const b = find(large, ({ way }) => way === name);
  return [name, time(a.ms), reach(a), time(b.ms), reach(b), `${a.n}`];
}

function reach({ reached, size }: SignalResult): string {
  return `${reached} of ${size}`;
}

async function draw(
  ways: readonly string[],
  small: readonly SignalResult[],
  large: readonly SignalResult[],
): Promise<string> {
  const panel = (results: readonly SignalResult[], color: "blue" | "sky") => {
    const sorted = ways.map((way) => find(results, (r) => r.way === way));
    return {
      title: `time for ${results[0]!.members} children, ms`,
      log: true,
      color,
      values: sorted.map(({ ms }) => ms),
      labels: sorted.map((r) => `${time(r.ms)}, ${reach(r)}`),
    };
  };
  return await barChart(
    "Signalling a tree: time, and how many it reached",
    ways,
    [panel(small, "blue"), panel(large, "sky")],
  );
}
