// Copyright 2026 the @proc/group authors. MIT license.

/** Parts of the report. */

import type { Color } from "./_palette.ts";
import { OURS } from "./_stoppers.ts";

/** One question with its answer; charts are files beside the report. */
export interface Section {
  readonly title: string;
  /** What to choose and when. */
  readonly advice: string;
  /** By file name without its ending. */
  readonly charts: Readonly<Record<string, string>>;
  /** Tables and notes. */
  readonly body: string;
}

const COLORS: readonly [name: string, color: Color][] = [
  [OURS.ffi, "blue"],
  [OURS.portable, "sky"],
  ["this package", "blue"],
  ["Deno.Command, detached", "orange"],
  ["Deno.Command", "grey"],
  ["GNU timeout", "orange"],
  ["setsid(1)", "brown"],
  ["execa", "purple"],
  ["zx", "pink"],
  ["tree-kill", "brown"],
  ["C, pidfds", "green"],
  ["C, subreaper", "lime"],
];

/** The colour of a contestant, the same in all charts. */
export function colorOf(contestant: string): Color {
  return COLORS.find(([name]) => contestant.startsWith(name))?.[1] ?? "grey";
}

/** A table; numbers stand on the right. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, i) => i === 0 ? "---" : "---:");
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}

/** The part of the report as Markdown. */
export function render({ title, advice, charts, body }: Section): string {
  const images = Object.keys(charts).map((name) =>
    `![${title}](charts/${name}.svg)`
  );
  return [`## ${title}`, advice, ...images, body].join("\n\n");
}

/** The result that is looked for; throws if there is none. */
export function find<T>(
  results: readonly T[],
  test: (result: T) => boolean,
): T {
  const found = results.find(test);
  if (found === undefined) {
    throw new Error("Cannot report: a result is missing");
  }
  return found;
}
