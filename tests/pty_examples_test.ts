// Copyright 2026 the @proc/group authors. MIT license.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { install } from "../examples/expect.ts";
import { ask } from "../examples/plexer.ts";
import { type Pty, PtyWaitError, spawnPty } from "../pty.ts";
import { denoRun, NEEDS_FFI } from "./_pty_util.ts";
import { assertNoneAlive, uniqueSleep, until, watchLeaks } from "./_util.ts";

watchLeaks();

/** Runs the plexer with arguments, on a terminal. */
function plexer(...args: string[]): Pty {
  const [command, ...rest] = denoRun("examples/plexer.ts", ...args);
  return spawnPty(command, rest, { env: { NO_COLOR: "1", PS1: "% " } });
}

/** A server with a shell, in a directory of its own. */
async function withSession(
  use: (dir: string, server: Pty) => Promise<void>,
): Promise<void> {
  const parent = await Deno.makeTempDir();
  const dir = `${parent}/session`;
  {
    await using server = plexer("start", dir, "bash", "--norc", "-i");
    await until(
      "the session answers",
      () => request(dir, { op: "status" }).then(() => true, () => false),
      30_000,
    );
    await use(dir, server);
  }
  await Deno.remove(parent, { recursive: true });
}

async function request(
  dir: string,
  message: unknown,
): Promise<Record<string, unknown>> {
  return JSON.parse(await ask(dir, message));
}

/** Waits until the output has a text. */
async function shown(dir: string, text: string): Promise<void> {
  await until(`the session shows ${text}`, async () => {
    const { base64 } = await request(dir, { op: "read" });
    const bytes = Uint8Array.fromBase64(String(base64));
    return new TextDecoder().decode(bytes).includes(text);
  }, 20_000);
}

Deno.test(
  "install() answers an installer and keeps the password to itself",
  NEEDS_FFI,
  async () => {
    const transcript = await Deno.makeTempFile();
    const answers = {
      accept: true,
      directory: "/tmp/x y",
      password: "hunter2",
    };
    const result = await install(answers, transcript);
    assertEquals(result, { directory: "/tmp/x y", number: 4711 });
    const text = await Deno.readTextFile(transcript);
    const [header, ...events] = text.trimEnd().split("\n").map((line) =>
      JSON.parse(line)
    );
    assertEquals([header.version, header.width, header.height], [2, 80, 24]);
    const typed = events.filter(([, kind]) => kind === "i");
    assertEquals(typed.map(([, , data]) => data), ["y\n", "/tmp/x y\n"]);
    assert(text.includes("Copying... 100%"));
    assert(!text.includes("hunter2"));
    await Deno.remove(transcript);
  },
);

Deno.test("install() tells why an installer gave up", NEEDS_FFI, async () => {
  const answers = { accept: false, directory: "", password: "" };
  const error = await assertRejects(() => install(answers), PtyWaitError);
  assertEquals(error.status?.code, 2);
  assert(error.tail.includes("Not accepted"), error.tail);
});

Deno.test(
  "plexer.ts keeps a session private and answers requests",
  NEEDS_FFI,
  async () => {
    const unique = uniqueSleep();
    await withSession(async (dir, server) => {
      assertEquals((await Deno.stat(dir)).mode! & 0o777, 0o700);
      assertEquals((await Deno.stat(`${dir}/sock`)).mode! & 0o777, 0o600);
      assertEquals((await Deno.stat(`${dir}/log`)).mode! & 0o777, 0o600);
      await request(dir, {
        op: "send",
        data: `sleep ${unique} & echo o''ne\n`,
      });
      await shown(dir, "one");
      const { size } = await request(dir, {
        op: "resize",
        columns: 61,
        rows: 17,
      });
      assertEquals(size, { columns: 61, rows: 17 });
      await request(dir, { op: "send", data: "stty size\n" });
      await shown(dir, "17 61");
      // A request may be of any size: this one is a comment of 3 MB.
      await request(dir, { op: "status", comment: "x".repeat(3_000_000) });
      const { status } = await request(dir, { op: "stop" });
      assertEquals((status as Deno.CommandStatus).signal, "SIGHUP");
      assertEquals((await server.status).code, 0);
    });
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "plexer.ts answers a malformed request and serves the others on",
  NEEDS_FFI,
  async () => {
    await withSession(async (dir) => {
      for (
        const wrong of [
          "{bad",
          "null",
          '{"op":"none"}',
          '{"op":"read","from":-1}',
        ]
      ) {
        assertEquals(typeof (await request(dir, wrong)).error, "string");
      }
      // A client that announces four gigabytes and goes.
      const conn = await Deno.connect({
        transport: "unix",
        path: `${dir}/sock`,
      });
      await conn.write(new Uint8Array([255, 255, 255, 255, 1]));
      assertEquals((await request(dir, { op: "status" })).status, null);
      conn.close();
      assertEquals((await request(dir, { op: "status" })).status, null);
    });
  },
);

Deno.test("plexer.ts lets clients attach and detach", NEEDS_FFI, async () => {
  await withSession(async (dir) => {
    for (const word of ["first", "second"]) {
      await using client = plexer("attach", dir);
      await client.waitNoEcho(30_000, { raw: true });
      await client.write(`echo ${word[0]}''${word.slice(1)}\r`);
      await client.waitFor(word, 20_000);
      await client.write("\x01d");
      assertEquals((await client.status).code, 0);
    }
    await shown(dir, "second");
    await request(dir, { op: "send", data: "exit 5\n" });
    await until(
      "the program has ended",
      async () => (await request(dir, { op: "status" })).status !== null,
    );
  });
});
