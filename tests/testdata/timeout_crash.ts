// Copyright 2026 the @proc/group authors. MIT license.

// The timeout command in a program in which something else fails: by an
// exception, or by a rejection that nobody handles.

import { main } from "../../_timeout_command.ts";

const [how, ...args] = Deno.args;
setTimeout(() => {
  const error = new Error("out of order\nin two lines");
  if (how === "throw") throw error;
  Promise.reject(error);
}, 500);
await main(args);
