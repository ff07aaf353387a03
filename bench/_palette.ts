// Copyright 2026 the @proc/group authors. MIT license.

/** The colours of the charts. */

/** Light and dark of each colour. The light one is in the picture itself. */
export const PAIRS = {
  paper: ["#ffffff", "#0d1117"],
  ink: ["#1f2328", "#f0f6fc"],
  soft: ["#59636e", "#9198a1"],
  line: ["#d8dee4", "#30363d"],
  blue: ["#0550ae", "#58a6ff"],
  sky: ["#54aeff", "#1f6feb"],
  grey: ["#6e7781", "#8b949e"],
  orange: ["#bc4c00", "#f0883e"],
  purple: ["#8250df", "#bc8cff"],
  red: ["#cf222e", "#f85149"],
  pink: ["#bf3989", "#f778ba"],
  brown: ["#7d4e00", "#d29922"],
  green: ["#1a7f37", "#3fb950"],
  lime: ["#4ac26b", "#2ea043"],
  fine: ["#dafbe1", "#12361f"],
  bad: ["#ffd7d5", "#67060c"],
} as const;

/** Name of a colour. */
export type Color = keyof typeof PAIRS;

/** The light colour, which stands in the picture. */
export function paint(color: Color): string {
  return PAIRS[color][0];
}
