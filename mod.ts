// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Process groups that end: commands in a session of their own that are killed
 * whole at a deadline or an abort, and known to be gone afterwards.
 *
 * - {@linkcode spawnGroup} starts a command as `Deno.Command` does, as the
 *   leader of a group. `await using` stops all of it at the end of the scope.
 * - {@linkcode withDeadline} waits for a group or a task, collects the output,
 *   and stops what is left, in time or too late.
 * - {@linkcode stopGroup} is the stop itself: signal, grace period, SIGKILL. It
 *   reports who was there and who is left. {@linkcode killGroup} only sends a
 *   signal, {@linkcode waitGone} only waits, {@linkcode listGroup} only looks.
 * - {@linkcode spawnPty} runs a program on a terminal, to answer its prompts,
 *   and {@linkcode attachPty} connects it with the user's own.
 * - {@linkcode canContain} tells whether a command can run in a PID namespace,
 *   which nothing leaves.
 *
 * When this process dies, in whatever way, a guard ends its groups; it needs the
 * permission to run `sh`.
 *
 * @example What a command leaves behind
 * ```ts
 * import { spawnGroup, withDeadline } from "@proc/group";
 * import { assertEquals } from "@std/assert";
 *
 * await using group = spawnGroup("sh", ["-c", "echo hi; sleep 60 &"], {
 *   stdout: "piped",
 * });
 * const output = await withDeadline(group, 10_000);
 * assertEquals(new TextDecoder().decode(output.stdout), "hi\n");
 * const names = output.leftovers.map(({ command }) => command);
 * assertEquals(names, ["sleep"]);
 * ```
 *
 * @module
 */

export * from "./process_group.ts";
export * from "./pty.ts";
export * from "./timeout.ts";
