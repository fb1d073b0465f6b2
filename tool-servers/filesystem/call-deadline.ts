// The time limit of every call. A disk may hang (a network file system, a provider that fetches a file when it is
// touched), and what hangs there cannot be taken back; but the caller is answered, and its place in the line is free.
//
// 1. Only the time limit gives a place back before the work has ended: a call that is cancelled tells its work so, and
//    keeps its place until that listens. 2. Time spent in the line is not the disk's, and is not counted.

import type { CallGate } from '../call-gate.ts';
import type { Tool, ToolCall } from '../tool.ts';
import { ToolError } from '../tool-error.ts';
import { CALL_SECONDS } from './limits.ts';

/** `tool` with calls that wait in `line` for their turn and then end after `limitMs`, whatever their work does. */
export function inLine(tool: Tool, line: CallGate, limitMs = CALL_SECONDS * 1_000): Tool {
  const run: Tool['run'] = (input, { signal, report }) =>
    line.run(signal, () =>
      inTime({ signal }, limitMs, tool.hints.readOnlyHint, (signal) => tool.run(input, { signal, report })),
    );
  return { ...tool, run };
}

/**
 * Runs `work` for `limitMs` at most; its signal is aborted then, and when the call is cancelled.
 * @throws ToolError when the time is over; the reason of the signal when the call is cancelled before it begins
 */
export async function inTime<Result>(
  { signal }: Pick<ToolCall, 'signal'>,
  limitMs: number,
  isReading: boolean,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  const late = new AbortController();
  const { promise: end, reject } = ending();
  const doubt = isReading ? '' : ' Whether it took effect is not known: look before you try again.';
  const timer = setTimeout(() => {
    const reason = new ToolError(
      `The disk did not answer within ${limitMs / 1_000} seconds; the call was given up.${doubt}`,
    );
    late.abort(reason);
    reject(reason);
  }, limitMs);
  try {
    return await Promise.race([work(AbortSignal.any([signal, late.signal])), end]);
  } finally {
    clearTimeout(timer);
  }
}

function ending(): { promise: Promise<never>; reject: (reason: unknown) => void } {
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<never>((_, no) => {
    reject = no;
  });
  return { promise, reject };
}
