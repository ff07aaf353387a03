// Copyright 2026 the @proc/group authors. MIT license.

// Waits for what never comes, which must not keep the program alive.

import { C } from "../../_platform/constants.ts";
import { libc } from "../../_platform/libc.ts";
import { ReactorGroup } from "../../_platform/reactor.ts";

const ends = new Int32Array(2);
libc().pipe2(ends, C.O_CLOEXEC);
const group = new ReactorGroup();
group.watch(ends[0]!, "read").ready.then(() => console.log("ready"));
group.unref();
addEventListener("unload", () => console.log("ended"));
