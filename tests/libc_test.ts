// Copyright 2026 the @proc/group authors. MIT license.

import { assert, assertEquals, assertFalse, assertThrows } from "@std/assert";
import { C } from "../_platform/constants.ts";
import { inheritedEnvironment } from "../_platform/environment.ts";
import {
  callError,
  check,
  describeErrno,
  Errno,
  systemError,
} from "../_platform/errno.ts";
import { cString, errno, libc, libcAvailable } from "../_platform/libc.ts";
import { isPortable, skipIf } from "./_util.ts";

const FFI = skipIf(isPortable, "it needs Linux and FFI");

Deno.test("errno() gives the number of the call before", FFI, () => {
  let kept: unknown[] = [];
  let wrong = 0;
  for (let i = 0; i < 20_000; i++) {
    const isEven = i % 2 === 0;
    const result = isEven
      ? libc().close(-1)
      : libc().open(cString("/nonexistent/file"), C.O_RDONLY, 0);
    const number = errno();
    const expected = isEven ? Errno.EBADF : Errno.ENOENT;
    if (result !== -1 || number !== expected) wrong++;
    // Garbage is collected now and then.
    kept = [...kept.slice(-50), { text: `${i}`.repeat(10) }];
  }
  assertEquals(wrong, 0);
});

Deno.test(
  "check() throws Deno's own class with the name of the call",
  FFI,
  () => {
    assertEquals(check("close", 0), 0);
    const error = assertThrows(
      () => check("open", libc().open(cString("/nonexistent"), C.O_RDONLY, 0)),
      Deno.errors.NotFound,
      "open: ENOENT",
    ) as Error & { code?: string };
    assertEquals(error.code, "ENOENT");
  },
);

Deno.test("callError() uses the class that Deno has for the number", () => {
  const classes = [
    [Errno.EACCES, Deno.errors.PermissionDenied],
    [Errno.EPERM, Deno.errors.PermissionDenied],
    [Errno.EEXIST, Deno.errors.AlreadyExists],
    [Errno.ENOTDIR, Deno.errors.NotADirectory],
    [Errno.EPIPE, Deno.errors.BrokenPipe],
    [Errno.EMFILE, Error],
  ] as const;
  for (const [number, expected] of classes) {
    assertEquals(callError("read", number).constructor, expected);
  }
  assertEquals(callError("posix_spawn", 24).message, "posix_spawn: EMFILE");
  assertEquals(callError("read", 9999).message, "read: 9999");
});

Deno.test("systemError() has the code that Deno's errors have", () => {
  const path = "/nonexistent/file";
  const ours = systemError(Errno.ENOENT, "x") as Error & { code?: string };
  const theirs = assertThrows(() => Deno.lstatSync(path)) as typeof ours;
  assertEquals(ours.code, theirs.code);
  assertEquals(ours.constructor, theirs.constructor);
});

Deno.test("describeErrno() words an error as Deno does", FFI, () => {
  const error = assertThrows(() => Deno.lstatSync("/nonexistent")) as Error;
  assert(error.message.startsWith(describeErrno(Errno.ENOENT)));
});

Deno.test(
  "inheritedEnvironment() shows what a child would inherit",
  FFI,
  () => {
    Deno.env.set("PROC_GROUP_TEST", "a=b=é");
    try {
      const own = Object.fromEntries(inheritedEnvironment().values);
      assertEquals(own, Deno.env.toObject());
      assertEquals(own.PROC_GROUP_TEST, "a=b=é");
      Deno.env.set("PROC_GROUP_TEST", "later");
      const { values } = inheritedEnvironment();
      assertEquals(values.get("PROC_GROUP_TEST"), "later");
    } finally {
      Deno.env.delete("PROC_GROUP_TEST");
    }
    assertFalse(inheritedEnvironment().names.includes("PROC_GROUP_TEST"));
  },
);

Deno.test({
  name: "libcAvailable() is false without the permission and never asks",
  permissions: { ffi: false },
  fn() {
    assertEquals(libcAvailable(), false);
  },
});

Deno.test({
  ...FFI,
  name: "libcAvailable() is true with the permission alone",
  permissions: { ffi: true },
  fn() {
    assert(libcAvailable());
  },
});
