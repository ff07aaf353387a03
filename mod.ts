// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Process groups that end: commands in a session of their own that are killed
 * whole at a deadline or an abort, and known to be gone afterwards.
 *
 * ```ts
 * import { spawnGroup, withDeadline } from "@proc/group";
 * import { assertEquals } from "@std/assert";
 *
 * await using group = spawnGroup("sh", ["-c", "echo hi; sleep 60 &"], {
 *   stdout: "piped",
 * });
 * const output = await withDeadline(group, 10_000);
 * assertEquals(new TextDecoder().decode(output.stdout), "hi\n");
 * assertEquals(output.leftovers.map((process) => process.command), ["sleep"]);
 * ```
 *
 * @module
 */

export * from "./process_group.ts";
export * from "./pty.ts";
export * from "./timeout.ts";
