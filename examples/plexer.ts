// Copyright 2026 the @proc/group authors. MIT license.

/**
 * A terminal session that goes on while clients come and go.
 *
 *     plexer.ts start DIRECTORY COMMAND ARG...   serves; makes the directory
 *     plexer.ts attach DIRECTORY                 Ctrl-A d detaches
 *     plexer.ts ask DIRECTORY '{"op":"send","data":"date\n"}'
 *
 * `plexer.ts` stands for
 * `deno run -A --import-map=std_from_npm.json examples/plexer.ts`.
 *
 * A message is JSON after its length in bytes (32 bits, big-endian). Requests:
 * `send` {data}, `read` {from?, follow?}, `status`, `resize` {columns, rows},
 * `stop`. `from` counts bytes of DIRECTORY/log, which has all output.
 *
 * @module
 */

import { stopGroup } from "@proc/group/process-group";
import { type Pty, spawnPty } from "@proc/group/pty";

/** How long requests are answered after the program's end, in milliseconds. */
const LINGER_MS = 10_000;
const READ_BYTES = 1 << 20;
const PREFIX = "\x01";

type Send = (message: unknown) => Promise<void>;

/** Runs a program and answers requests until some time after its end. */
export async function serve(dir: string, command: string[]): Promise<void> {
  Deno.mkdirSync(dir, { mode: 0o700 });
  const umask = Deno.umask(0o177);
  const listener = Deno.listen({ transport: "unix", path: `${dir}/sock` });
  const file = { read: true, append: true, create: true };
  using log = Deno.openSync(`${dir}/log`, file);
  Deno.umask(umask);
  await using pty = spawnPty(command[0] ?? "sh", command.slice(1));
  const session = new Session(pty, log);
  session.over.then(() => listener.close());
  for await (const conn of listener) session.serve(conn);
}

class Session {
  #pty: Pty;
  #log: Deno.FsFile;
  #size = 0;
  #hasEnded = false;
  #grown = Promise.withResolvers<void>();
  #over = Promise.withResolvers<void>();
  readonly over = this.#over.promise;

  constructor(pty: Pty, log: Deno.FsFile) {
    [this.#pty, this.#log] = [pty, log];
    this.#copyOutput();
  }

  /** Answers one client; whatever goes wrong with it is its own affair. */
  async serve(conn: Deno.Conn): Promise<void> {
    const send = sender(conn);
    this.over.then(() => conn.close()).catch(() => {});
    try {
      for await (const text of receive(conn)) {
        const answer = this.#answer(text, send);
        await answer.catch((error) => send({ error: error.message }));
      }
      conn.close();
    } catch {
      // The client has gone in the middle of something.
    }
  }

  async #answer(text: string, send: Send): Promise<void> {
    const { op, data, from = 0, follow, columns, rows } = JSON.parse(text);
    if (op === "send") await this.#pty.write(data);
    else if (op === "resize") this.#pty.resize({ columns, rows });
    else if (op === "read") return await this.#send(from, follow, send);
    else if (op === "stop") await stopGroup(this.#pty);
    else if (op !== "status") throw new TypeError(`Unknown request: ${op}`);
    const status = this.#hasEnded ? await this.#pty.status : null;
    await send({ pid: this.#pty.pid, size: this.#pty.size(), status });
    if (op === "stop") this.#over.resolve();
  }

  /** Sends what there is and, to follow, what comes as the client takes it. */
  async #send(from: number, follow: boolean, send: Send): Promise<void> {
    for (let next = from;;) {
      const bytes = new Uint8Array(Math.min(READ_BYTES, this.#size - next));
      this.#log.seekSync(next, Deno.SeekMode.Start);
      next += this.#log.readSync(bytes) ?? 0;
      const ended = this.#hasEnded && next === this.#size;
      // A character may be cut in two, which text would not survive.
      await send({ base64: bytes.toBase64(), next, ended });
      if (ended || !follow) return;
      if (next === this.#size && !this.#hasEnded) await this.#grown.promise;
    }
  }

  async #copyOutput(): Promise<void> {
    for await (const chunk of this.#pty.readable) {
      for (let at = 0; at < chunk.length;) {
        at += this.#log.writeSync(chunk.subarray(at));
      }
      this.#size += chunk.length;
      this.#grown.resolve();
      this.#grown = Promise.withResolvers();
    }
    this.#hasEnded = true;
    this.#grown.resolve();
    const timer = setTimeout(this.#over.resolve, LINGER_MS);
    this.over.then(() => clearTimeout(timer));
  }
}

/** Gives each message that comes, as text, until the other side has gone. */
async function* receive(conn: Deno.Conn): AsyncGenerator<string> {
  let held = new Blob();
  for await (const chunk of conn.readable) {
    held = new Blob([held, chunk]);
    while (held.size >= 4) {
      const head = new DataView(await held.slice(0, 4).arrayBuffer());
      const end = 4 + head.getUint32(0);
      if (held.size < end) break;
      yield await held.slice(4, end).text();
      held = held.slice(end);
    }
  }
}

/** Sends messages, as objects or as text, one after another. */
function sender(conn: Deno.Conn): Send {
  const writer = conn.writable.getWriter();
  return async (message) => {
    const isText = typeof message === "string";
    const body = new Blob([isText ? message : JSON.stringify(message)]);
    const head = new DataView(new ArrayBuffer(4));
    head.setUint32(0, body.size);
    await writer.write(await new Blob([head, body]).bytes());
  };
}

/** Sends one request as it is and gives the answer. */
export async function ask(dir: string, request: unknown): Promise<string> {
  const conn = await Deno.connect({ transport: "unix", path: `${dir}/sock` });
  await sender(conn)(request);
  for await (const answer of receive(conn)) return answer;
  throw new Error("The session has ended");
}

/** Shows all output so far and what comes, until the session ends. */
async function show(dir: string): Promise<void> {
  const conn = await Deno.connect({ transport: "unix", path: `${dir}/sock` });
  await sender(conn)({ op: "read", follow: true });
  for await (const text of receive(conn)) {
    const bytes = new Blob([Uint8Array.fromBase64(JSON.parse(text).base64)]);
    await bytes.stream().pipeTo(Deno.stdout.writable, { preventClose: true });
  }
}

/** Sends what is typed, until the prefix and d. */
async function copyKeys(dir: string): Promise<void> {
  let isPrefixed = false;
  const keys = Deno.stdin.readable.pipeThrough(new TextDecoderStream());
  for await (const typed of keys) {
    let data = "";
    for (const key of typed) {
      if (isPrefixed && key === "d") return;
      if (isPrefixed && key !== PREFIX) data += PREFIX;
      isPrefixed = key === PREFIX && !isPrefixed;
      if (!isPrefixed) data += key;
    }
    await ask(dir, { op: "send", data });
  }
}

async function attach(dir: string): Promise<void> {
  const resize = () => ask(dir, { op: "resize", ...Deno.consoleSize() });
  Deno.addSignalListener("SIGWINCH", resize);
  await resize();
  Deno.stdin.setRaw(true);
  await Promise.race([show(dir), copyKeys(dir)]).finally(() =>
    Deno.stdin.setRaw(false)
  );
}

if (import.meta.main) {
  const [verb, dir = "", ...rest] = Deno.args;
  if (verb === "start") await serve(dir, rest);
  else if (verb === "attach") await attach(dir);
  else if (verb === "ask") console.log(await ask(dir, rest[0]));
  else throw new Error("Usage: plexer.ts start|attach|ask DIRECTORY ...");
  // A read of the keyboard may still be under way.
  Deno.exit();
}
