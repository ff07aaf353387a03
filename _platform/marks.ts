// Copyright 2026 the @proc/group authors. MIT license.

/**
 * The environment marks by which processes are found wherever they went.
 *
 * Each module instance (a Worker has its own) draws one random token. A group
 * is marked by a variable of its own name, so that nested groups add up and
 * never overwrite each other; a second variable, the same for all groups of
 * the instance, lets the guard find everything once this process is dead.
 */

const PREFIX = "PROC_GROUP";

const token = crypto.randomUUID().replaceAll("-", "").slice(0, 16);

/** Name of the variable that every guarded process of this instance carries. */
export const parentMark = `${PREFIX}_PARENT_${token}`;

/** Extended regular expression for a whole `NAME=value` of any group's mark. */
export const groupMarkPattern = `${PREFIX}_${token}_[0-9]+=1`;

/** Bytes by which every group mark of this instance starts. */
export const groupMarkPrefix = `${PREFIX}_${token}_`;

/** The variables to add to the environment of a group's leader. */
export function markEnv(
  group: number,
  outlive: boolean,
): Record<string, string> {
  const marks = { [`${groupMarkPrefix}${group}`]: "1" };
  return outlive ? marks : { ...marks, [parentMark]: "1" };
}

/** The group's number in a `NAME=value` entry, or null if it is no mark. */
export function parseGroupMark(entry: string): number | null {
  if (!entry.startsWith(groupMarkPrefix) || !entry.endsWith("=1")) return null;
  const digits = entry.slice(groupMarkPrefix.length, -2);
  return /^[0-9]+$/.test(digits) ? Number(digits) : null;
}
