// Copyright 2026 the @proc/group authors. MIT license.

/** From what callers pass in to what stands behind it. */

import type { GroupHandle } from "./_group.ts";
import { NumberTarget } from "./_number_target.ts";

/** What stands behind each public group, so that no public type shows it. */
const handles = new WeakMap<object, GroupHandle>();

/** Makes an object one that all functions take as a group. */
export function registerGroup(group: object, handle: GroupHandle): void {
  handles.set(group, handle);
}

/** What stands behind a public group; undefined for any other object. */
export function handleOf(group: object): GroupHandle | undefined {
  return handles.get(group);
}

/** The internal side of what a public function was given. */
export function targetOf(target: object | number): GroupHandle | NumberTarget {
  const known = typeof target === "object" && target !== null
    ? handles.get(target)
    : undefined;
  return known ?? new NumberTarget(target as number);
}
