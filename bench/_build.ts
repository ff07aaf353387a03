// Copyright 2026 the @proc/group authors. MIT license.

/** Compiles the C programs, where there is a compiler. */

/** Where the C programs are. */
export interface Programs {
  readonly floor: string;
  readonly tools: string;
  /** First line of `cc --version`. */
  readonly compiler: string;
}

const built = new Map<string, Promise<Programs | null>>();

/** The C programs in the given folder; null without a compiler. */
export function build(directory: string): Promise<Programs | null> {
  const known = built.get(directory) ?? compileAll(directory);
  built.set(directory, known);
  return known;
}

async function compileAll(directory: string): Promise<Programs | null> {
  const version = await run(["--version"]);
  if (version === null) return null;
  const [floor, tools] = await Promise.all([
    compile(directory, "floor"),
    compile(directory, "tools"),
  ]);
  return { floor, tools, compiler: version.split("\n")[0]! };
}

async function compile(directory: string, name: string): Promise<string> {
  const source = new URL(`${name}.c`, import.meta.url).pathname;
  const program = `${directory}/${name}`;
  if (await run(["-O2", "-o", program, source]) === null) {
    throw new Error(`Cannot compile "${source}"`);
  }
  return program;
}

/** Output of the C compiler; null if there is none or it fails. */
async function run(args: string[]): Promise<string | null> {
  try {
    const { success, stdout } = await new Deno.Command("cc", {
      args,
      stderr: "inherit",
    }).output();
    return success ? new TextDecoder().decode(stdout) : null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
