// Copyright 2026 the @proc/group authors. MIT license.

/** The search for patterns in text while it grows. */

import type { PtyPattern } from "./pty.ts";

/** UTF-16 units of earlier text on which a RegExp is tried again. */
export const RESCAN_LENGTH = 8192;

/** What one pattern matched. */
interface Match {
  /** What was matched. */
  readonly text: string;
  /** Capture groups of a RegExp, from the first one. */
  readonly captures: readonly (string | undefined)[];
  /** Named capture groups of a RegExp. */
  readonly groups: Readonly<Record<string, string | undefined>>;
}

/** Which pattern was found, and where. */
export interface Found extends Match {
  /** Index of the pattern among those looked for. */
  readonly index: number;
  /** UTF-16 units from the start of the match to the end of the text so far. */
  readonly fromEnd: number;
}

/** Looks for one pattern. */
interface Finder {
  /** How far back a match may start that new text completes. */
  readonly back: number;
  /** The first match that starts at or after an index. */
  find(text: string, from: number): Match & { start: number } | null;
}

/**
 * Looks for patterns in text that arrives in pieces. Of all matches in what
 * has arrived the earliest wins, and of several that start together the one of
 * the first pattern.
 *
 * No text is looked at more than a bounded number of times: with each piece a
 * string is tried from its own length before the piece, and a RegExp from
 * {@linkcode RESCAN_LENGTH} before it.
 */
export class PatternSearch {
  #finders: Finder[];
  #keep: number;
  #window = "";

  constructor(patterns: readonly PtyPattern[]) {
    this.#finders = patterns.map(toFinder);
    const back = Math.max(0, ...this.#finders.map((finder) => finder.back));
    // Twice as much as is searched again: a lookbehind, a word boundary and an
    // anchor need to see text before the place where a match may start.
    this.#keep = back * 2;
  }

  /** Takes the next piece of text and gives the best match so far, or null. */
  push(piece: string): Found | null {
    const fresh = this.#window.length;
    const window = this.#window + piece;
    let best: Found | null = null;
    for (const [index, finder] of this.#finders.entries()) {
      const found = finder.find(window, Math.max(0, fresh - finder.back));
      if (found === null) continue;
      const { start, ...match } = found;
      const fromEnd = window.length - start;
      if (!best || fromEnd > best.fromEnd) best = { index, fromEnd, ...match };
    }
    this.#window = window.slice(Math.max(0, window.length - this.#keep));
    return best;
  }
}

function toFinder(pattern: PtyPattern): Finder {
  if (typeof pattern === "string") return stringFinder(pattern);
  if (pattern instanceof RegExp) return regExpFinder(pattern);
  throw new TypeError(
    `Cannot wait for a pattern: current value is ${
      String(pattern)
    }, not a string or RegExp`,
  );
}

function stringFinder(pattern: string): Finder {
  if (pattern === "") {
    throw new RangeError("Cannot wait for an empty string: it always matches");
  }
  return {
    back: pattern.length - 1,
    find(text, from) {
      const start = text.indexOf(pattern, from);
      if (start < 0) return null;
      return { start, text: pattern, captures: [], groups: {} };
    },
  };
}

function regExpFinder(pattern: RegExp): Finder {
  // The flag "g" makes exec() start at lastIndex and still see the text before
  // it; a sticky expression would be tried at one place only.
  const flags = pattern.flags.replace(/[gy]/g, "") + "g";
  const expression = new RegExp(pattern.source, flags);
  return {
    back: RESCAN_LENGTH,
    find(text, from) {
      expression.lastIndex = from;
      const match = expression.exec(text);
      if (match === null) return null;
      const [whole, ...captures] = match;
      return {
        start: match.index,
        text: whole,
        captures,
        groups: { ...match.groups },
      };
    },
  };
}
