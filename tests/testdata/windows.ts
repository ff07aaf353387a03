// Copyright 2026 the @proc/group authors. MIT license.

// Says which errors the functions throw where the system claims to be Windows.

Object.defineProperty(Deno, "build", {
  value: { ...Deno.build, os: "windows" },
});

const { killGroup, listGroup, spawnGroup, stopGroup, waitGone } = await import(
  "../../mod.ts"
);

const calls = [
  () => spawnGroup("true"),
  () => killGroup(99999, 0),
  () => waitGone(99999),
  () => stopGroup(99999),
  () => listGroup(99999),
];
for (const call of calls) {
  try {
    await call();
    console.log("no error");
  } catch (error) {
    console.log(error instanceof Deno.errors.NotSupported, `${error}`);
  }
}
