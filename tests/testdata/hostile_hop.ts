// Copyright 2026 the @proc/group authors. MIT license.

// Waits for groups of one process that forks and exits all the time, so that it
// has another pid whenever somebody looks. Prints how often it was taken for
// gone. Arguments: "linux" or "portable", and a text that nobody else has.

import { spawnGroup, stopGroup, waitGone } from "../../mod.ts";

const [platform, unique = ""] = Deno.args;

/** It ends by itself after some seconds. */
const HOP = "$end = time + 6; while (time < $end) { exit if fork; }";
const ROUNDS = 8;

if (platform === "portable") Deno.permissions.revokeSync({ name: "ffi" });

let wrong = 0;
for (let i = 0; i < ROUNDS; i++) {
  const group = spawnGroup("perl", ["-e", HOP, unique], {
    stdin: "null",
    stdout: "null",
    graceMs: 0,
  });
  const startedAt = performance.now();
  await group.status;
  // It is the leader's, whoever goes on.
  if (performance.now() - startedAt > 5000) wrong++;
  const signal = AbortSignal.timeout(150);
  try {
    await waitGone(group, { signal });
    wrong++;
  } catch (error) {
    if (error !== signal.reason) throw error;
  }
  const { survivors } = await stopGroup(group);
  if (survivors.length > 0) wrong++;
}
console.log(`${ROUNDS} rounds, ${wrong} wrong`);
