// Copyright 2026 the @proc/group authors. MIT license.

// Starts a group as root and is root no more: it may not signal its own group.

import process from "node:process";
import { killGroup, spawnGroup, stopGroup } from "../../process_group.ts";
import { SurvivorsError } from "../../process_group.ts";

const group = spawnGroup("sleep", Deno.args, {
  graceMs: 10_000,
  // A guard is still root.
  outlive: true,
  stdout: "null",
  stderr: "null",
});
process.setuid!(65534);
group.unref();

const report = await stopGroup(group);
const disposed = await group[Symbol.asyncDispose]().catch((error) => error);
console.log(JSON.stringify({
  pid: group.pid,
  killed: nameOf(() => killGroup(group)),
  survivors: report.survivors.map(({ pid }) => pid),
  isQuick: report.durationMs < 5000,
  disposed: disposed?.name,
  disposedSurvivors: disposed instanceof SurvivorsError
    ? disposed.report.survivors.map(({ pid }) => pid)
    : [],
  message: disposed?.message,
}));

function nameOf(call: () => void): string {
  try {
    call();
    return "";
  } catch (error) {
    return (error as Error).name;
  }
}
