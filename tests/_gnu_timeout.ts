// Copyright 2026 the @proc/group authors. MIT license.

/** GNU timeout, with which the timeout command is compared. */

/** Where GNU timeout is looked for. */
export const GNU_TIMEOUT = "/usr/bin/timeout";

/** Whether GNU timeout is here to be compared with; says so if it is not. */
export function hasGnuTimeout(): boolean {
  try {
    const { stdout } = new Deno.Command(GNU_TIMEOUT, {
      args: ["--version"],
      stderr: "null",
    }).outputSync();
    if (new TextDecoder().decode(stdout).includes("GNU coreutils")) return true;
  } catch {
    // Said below, for both reasons.
  }
  console.warn(`A test is skipped: ${GNU_TIMEOUT} is not GNU timeout`);
  return false;
}
