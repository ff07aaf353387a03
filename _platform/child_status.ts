// Copyright 2026 the @proc/group authors. MIT license.

/**
 * The status of a child of the runtime, which rejects with "Invalid signal: 34"
 * where a real-time signal has ended the child.
 */
export async function childStatus(
  { status }: Deno.ChildProcess,
): Promise<Deno.CommandStatus> {
  try {
    return await status;
  } catch (error) {
    const number = /^Invalid signal: (\d+)$/.exec((error as Error).message)
      ?.[1];
    if (number === undefined) throw error;
    return { success: false, code: 128 + Number(number), signal: null };
  }
}
