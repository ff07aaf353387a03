// Copyright 2026 the @proc/group authors. MIT license.

/** Numbers: medians, quantiles and how to print them. */

/** The middle of the values; NaN if there is none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value below which the given part of the values lies; NaN for none. */
export function quantile(values: readonly number[], part: number): number {
  if (values.length === 0) return NaN;
  const sorted = values.toSorted((a, b) => a - b);
  const position = (sorted.length - 1) * part;
  const low = sorted[Math.floor(position)]!;
  const high = sorted[Math.ceil(position)]!;
  return low + (high - low) * (position - Math.floor(position));
}

/** Three significant digits, without an exponent. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return "-";
  if (value === 0) return "0";
  const magnitude = Math.abs(value);
  if (magnitude >= 100) return Math.round(value).toLocaleString("en-US");
  if (magnitude >= 10) return value.toFixed(1);
  return value.toFixed(magnitude >= 0.1 ? 2 : 3);
}

/** CPU time, which the kernel tells in steps. */
export function cpuTime(ms: number, step: number): string {
  if (!Number.isFinite(ms)) return "-";
  return ms < step ? `< ${digits(step)} ms` : `${digits(ms)} ms`;
}

/** A time in milliseconds with its unit: `850 us`, `12.3 ms`, `2.00 s`. */
export function time(ms: number): string {
  if (!Number.isFinite(ms)) return "-";
  if (Math.abs(ms) >= 1000) return `${digits(ms / 1000)} s`;
  return Math.abs(ms) >= 0.95 ? `${digits(ms)} ms` : `${digits(ms * 1000)} us`;
}
