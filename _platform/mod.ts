// Copyright 2026 the @proc/group authors. MIT license.

import { linux, linuxAvailable } from "./linux.ts";
import type { Platform } from "./platform.ts";
import { portable } from "./portable.ts";

/**
 * The implementation for a new group: libc where FFI is already granted on
 * Linux, else the portable one, which also serves what only `Deno.Command`
 * can do (`uid` and `gid`). Never asks for a permission.
 */
export function platformFor(
  options: { uid?: number | undefined; gid?: number | undefined } = {},
): Platform {
  if (Deno.build.os === "windows") {
    throw new Deno.errors.NotSupported(
      "Cannot manage process groups on Windows: it has no process groups and sessions",
    );
  }
  const needsCommand = options.uid !== undefined || options.gid !== undefined;
  return !needsCommand && linuxAvailable() ? linux : portable;
}
