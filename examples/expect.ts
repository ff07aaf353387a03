// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Answers the questions of an interactive program: here an installer that asks
 * for a licence, a directory and a password, and shows its progress.
 *
 * ```sh
 * deno run --allow-ffi --allow-run --import-map=std_from_npm.json \
 *   examples/expect.ts
 * ```
 *
 * @module
 */

import { type Pty, PtyWaitError, spawnPty } from "@proc/group/pty";

/** Stands for the program that is to be installed. */
const INSTALLER = `
  read -rp 'Accept the licence? [y/N] ' answer
  [ "$answer" = y ] || { echo 'Not accepted'; exit 2; }
  read -rp 'Directory [/opt/thing]: ' directory
  until read -rsp 'Password: ' first && echo &&
        read -rsp 'Again: ' second && echo && [ "$first" = "$second" ]; do
    echo 'They differ.'
  done
  for percent in 20 40 60 80 100; do printf '\\rCopying... %3d%%' $percent; sleep .02; done
  printf '\\nInstalled to %s as number %d.\\n' "\${directory:-/opt/thing}" 4711
`;

/** What to answer. */
export interface Answers {
  accept: boolean;
  directory: string;
  password: string;
}

/** Runs the installer; gives its directory and number, or throws what it said. */
export async function install(
  answers: Answers,
  transcript?: string,
): Promise<{ directory: string; number: number }> {
  await using pty = spawnPty("bash", ["-c", INSTALLER], {
    ...(transcript === undefined ? {} : { transcript }),
  });
  await pty.waitFor("[y/N] ", 10_000);
  await pty.write(answers.accept ? "y\n" : "n\n");
  await pty.waitFor("Directory", 10_000);
  await pty.write(`${answers.directory}\n`);
  for (const prompt of ["Password: ", "Again: "]) {
    await pty.waitFor(prompt, 10_000);
    await typeSecret(pty, answers.password);
  }
  // Two ways to go on: the first pattern that comes decides.
  const { index } = await pty.waitFor(["100%", "They differ"], 60_000);
  if (index === 1) throw new Error("The installer took two passwords");
  const { captures } = await pty.waitFor(
    /Installed to (.+) as number (\d+)\./,
    10_000,
  );
  await pty.status;
  return { directory: captures[0] ?? "", number: Number(captures[1]) };
}

/** Types a secret once the terminal does not show it any more. */
async function typeSecret(pty: Pty, secret: string): Promise<void> {
  await pty.waitNoEcho(10_000);
  await pty.write(`${secret}\n`);
}

if (import.meta.main) {
  const password = "correct horse battery staple";
  const directory = "/tmp/thing";
  console.log(await install({ accept: true, directory, password }));
  try {
    await install({ accept: false, directory, password });
  } catch (error) {
    // The error tells how the program ended and what it said last.
    if (!(error instanceof PtyWaitError)) throw error;
    console.log(`code ${error.status?.code}: ${error.tail.trim()}`);
  }
}
