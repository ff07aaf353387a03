// Copyright 2026 the @proc/group authors. MIT license.

import { libc } from "./libc.ts";

/** A variable of this process's environment, environ(7). */
export interface InheritedVariable {
  readonly name: string;
  readonly value: string;
  /** Where the C string is, for a child to inherit it byte by byte. */
  readonly address: bigint;
}

/**
 * All variables of this process, as a child of `Deno.Command` inherits them:
 * without the permission to read them, which nobody gets here either.
 */
export function inheritedEnvironment(): InheritedVariable[] {
  const variables: InheritedVariable[] = [];
  const environ = new Deno.UnsafePointerView(libc().environ).getPointer();
  if (environ === null) return variables;
  const array = new Deno.UnsafePointerView(environ);
  for (let offset = 0;; offset += 8) {
    const pointer = array.getPointer(offset);
    if (pointer === null) return variables;
    const entry = new Deno.UnsafePointerView(pointer).getCString();
    const split = entry.indexOf("=", 1);
    if (split < 0) continue;
    variables.push({
      name: entry.slice(0, split),
      value: entry.slice(split + 1),
      address: Deno.UnsafePointer.value(pointer),
    });
  }
}
