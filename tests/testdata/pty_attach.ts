// Copyright 2026 the @proc/group authors. MIT license.

// Runs a shell script on a terminal that is attached to this program's own, and
// prints how it ended. Keys that detach are given by a variable.
import { attachPty, spawnPty } from "../../pty.ts";

const [script = "exec sh -i"] = Deno.args;
const detachKeys = Deno.env.get("DETACH_KEYS");
const after = Deno.env.get("AFTER");
await using pty = spawnPty("bash", ["-c", script], { graceMs: 1000 });
if (after !== undefined) await pty.waitFor("ready", 20_000);
if (after === "throw") setTimeout(throwLater, 100);
if (after === "reject") setTimeout(() => Promise.reject(new Error("no")), 100);
if (after === "exit") setTimeout(() => Deno.exit(9), 100);
const status = detachKeys === undefined
  ? await attachPty(pty)
  : await attachPty(pty, { detachKeys });
console.log(`ended ${status && (status.signal ?? status.code)}`);
if (status === null) {
  await pty.write("after the detachment\n");
  const { before } = await pty.waitFor("\n", 10_000);
  console.log(`then ${before.trim()}`);
}

function throwLater(): never {
  throw new Error("uncaught");
}
