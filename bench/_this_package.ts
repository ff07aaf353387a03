// Copyright 2026 the @proc/group authors. MIT license.

/** The name of this package's contestant in `Deno.bench` files. */

import { OURS } from "./_stoppers.ts";

const { state } = Deno.permissions.querySync({ name: "ffi" });

/** It tells which implementation runs: `--deny-ffi` selects the portable one. */
export const thisPackage: string = state === "granted"
  ? OURS.ffi
  : OURS.portable;
