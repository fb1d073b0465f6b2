// The time limit of every call. A disk may hang (a network file system, a provider that fetches a file when it is
// touched), and what hangs there cannot be taken back; but the caller is answered, and its place in the line is free.

import type { Tool, ToolCall } from '../tool.ts';
import { ToolError } from '../tool-error.ts';
import { CALL_SECONDS } from './limits.ts';

/** `tool` with a call that ends after `limitMs`, or when it is cancelled, whatever its work does. */
export function withDeadline(tool: Tool, limitMs = CALL_SECONDS * 1_000): Tool {
  const run: Tool['run'] = (input, call) =>
    inTime(call, limitMs, tool.hints.readOnlyHint, (signal) =>
      tool.run(input, { signal, report: call.report }),
    );
  return { ...tool, run };
}

/**
 * Runs `work` for `limitMs` at most.
 * @throws ToolError when the time is over; the reason of the signal when the call is cancelled
 */
export async function inTime<Result>(
  call: Pick<ToolCall, 'signal'>,
  limitMs: number,
  isReading: boolean,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const ended = new AbortController();
  const { promise: end, reject } = ending();
  const stop = (reason: unknown) => {
    ended.abort(reason);
    reject(reason);
  };
  const late = isReading ? '' : ' Whether it took effect is not known: look before you try again.';
  const timer = setTimeout(() => {
    stop(
      new ToolError(
        `The disk did not answer within ${limitMs / 1_000} seconds; the call was given up.${late}`,
      ),
    );
  }, limitMs);
  const cancelled = () => stop(call.signal.reason);
  call.signal.addEventListener('abort', cancelled, { once: true });
  try {
    call.signal.throwIfAborted();
    return await Promise.race([work(ended.signal), end]);
  } finally {
    clearTimeout(timer);
    call.signal.removeEventListener('abort', cancelled);
  }
}

function ending(): { promise: Promise<never>; reject: (reason: unknown) => void } {
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<never>((_, no) => {
    reject = no;
  });
  return { promise, reject };
}
