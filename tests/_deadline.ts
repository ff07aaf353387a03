// Copyright 2026 the @proc/group authors. MIT license.

/** What the tests of deadlines share. */

import { assertRejects } from "@std/assert";
import { type ProcessGroup, spawnGroup } from "../process_group.ts";
import {
  DeadlineExceededError,
  type DeadlineOptions,
  withDeadline,
} from "../timeout.ts";

/** A shell whose streams are all pipes. */
export function spawnPiped(script: string): ProcessGroup {
  return spawnGroup("sh", ["-c", script], {
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    graceMs: 5000,
  });
}

/** The error of a deadline that passes. */
export async function exceed(
  group: ProcessGroup,
  ms: number,
  options?: DeadlineOptions,
): Promise<DeadlineExceededError> {
  return await assertRejects(
    () => withDeadline(group, ms, options),
    DeadlineExceededError,
  );
}
