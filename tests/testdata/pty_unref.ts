// Copyright 2026 the @proc/group authors. MIT license.

// Starts a program on a terminal, waits for its first output and lets it be.
import { spawnPty } from "../../pty.ts";

const [unique = "40"] = Deno.args;
const pty = spawnPty("sh", ["-c", `echo ready; exec sleep ${unique}`]);
await pty.waitFor("ready", 20_000);
pty.unref();
