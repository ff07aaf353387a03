// Copyright 2026 the @proc/group authors. MIT license.

import { barChart } from "../_chart.ts";
import { find, type Section, table } from "../_section.ts";
import { digits, time } from "../_stats.ts";
import type { PtyResult } from "../experiments/pty.ts";

const HEAD = [
  "contestant",
  "throughput",
  "most bytes lost",
  "round trip",
  "p99",
  "cut short",
  "stuck",
];

/** Pseudo-terminals: speed, completeness and manners. */
export async function ptySection(
  results: readonly PtyResult[],
): Promise<Section> {
  const ours = find(results, (r) => r.contestant === "this package");
  const peer = results.find((r) => r.contestant.startsWith("node-pty"));
  return {
    title: "Pseudo-terminals",
    advice:
      `**Choose** this package where every byte counts: at most ${ours.lostBytes} ` +
      `bytes lost and ${ours.cut} of ${ours.fastExits} outputs cut short, at ${
        digits(ours.megabytesPerSecond)
      } MB/s and ${time(ours.roundTripMs)} for a round trip.${
        describe(peer)
      } ` +
      `script(1) is enough where nothing is resized. ${losses(results, ours)}`,
    charts: { pty: await draw(results) },
    body:
      "*Throughput* of 32 MB from a program in raw mode; *round trip* of one " +
      "byte to a program that sends it back; *cut short* of programs that print " +
      "200 KB and end; *stuck* is the longest pause of the event loop while a " +
      "write of 1 MiB waits for a program that does not read. node-pty runs in " +
      "Node, the others in Deno.\n\n" + table(HEAD, results.map(row)),
  };
}

function describe(peer: PtyResult | undefined): string {
  if (peer === undefined) return "";
  const held = peer.stuckMs > 100
    ? `, and a stuck write held its event loop up for ${time(peer.stuckMs)}`
    : "";
  return ` ${peer.contestant} cut ${peer.cut} of ${peer.fastExits} short${held}.`;
}

function losses(results: readonly PtyResult[], ours: PtyResult): string {
  const texts = results.flatMap((r) => [
    ...r.megabytesPerSecond > ours.megabytesPerSecond
      ? [`${digits(r.megabytesPerSecond)} MB/s of ${r.contestant}`]
      : [],
    ...r.roundTripMs < ours.roundTripMs
      ? [`the round trip of ${time(r.roundTripMs)} of ${r.contestant}`]
      : [],
  ]);
  if (texts.length === 0) return "**This package loses** nothing here.";
  return `**This package loses** to ${texts.join(", ")}.`;
}

function row(result: PtyResult): string[] {
  return [
    result.contestant,
    `${digits(result.megabytesPerSecond)} MB/s`,
    result.lostBytes.toLocaleString("en-US"),
    time(result.roundTripMs),
    time(result.roundTripP99Ms),
    `${result.cut} of ${result.fastExits}`,
    time(result.stuckMs),
  ];
}

async function draw(results: readonly PtyResult[]): Promise<string> {
  return await barChart(
    "Pseudo-terminals",
    results.map(({ contestant }) => contestant),
    [
      {
        title: "throughput, MB/s",
        color: "blue",
        values: results.map((r) => r.megabytesPerSecond),
      },
      {
        title: "round trip, ms",
        color: "green",
        values: results.map((r) => r.roundTripMs),
      },
      {
        title: "outputs cut short, %",
        color: "orange",
        values: results.map((r) => 100 * r.cut / r.fastExits),
      },
    ],
  );
}
