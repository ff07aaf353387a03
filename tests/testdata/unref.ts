// Copyright 2026 the @proc/group authors. MIT license.

// Starts the group of its arguments, calls `ref` or `unref` and does no more.

import { spawnGroup } from "../../process_group.ts";

const [method, command = "", ...args] = Deno.args;
const group = spawnGroup(command, args, { stdin: "null", stderr: "null" });
group.unref();
if (method === "ref") group.ref();
console.log("spawned");
