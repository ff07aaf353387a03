// Copyright 2026 the @proc/group authors. MIT license.

// Starts the group of its arguments, waits for its first line, stops it and
// prints what was seen of it.

import {
  killGroup,
  listGroup,
  spawnGroup,
  stopGroup,
} from "../../process_group.ts";

const [command = "", ...args] = Deno.args;
const group = spawnGroup(command, args, { stdout: "piped", stdin: "null" });
const reader = group.stdout.getReader();
await reader.read();
const listed = (await listGroup(group)).map(({ command }) => command);
const report = await stopGroup(group);
await reader.cancel();
let refusesOwn = false;
try {
  killGroup(Deno.pid, 0);
} catch (error) {
  refusesOwn = error instanceof RangeError;
}
console.log(JSON.stringify({
  listed,
  refusesOwn,
  members: report.members,
  escapees: report.escapees,
  escaped: report.escaped.length,
  survivors: report.survivors.length,
}));
