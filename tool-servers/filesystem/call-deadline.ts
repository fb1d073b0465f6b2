// Deadline for calls of the filesystem server. A disk may hang (network file systems, cloud files downloaded
// on access), and a hanging operation cannot be aborted. At the deadline the caller receives an error, and
// the call releases its slot in the CallGate.
//
// 1. Only the deadline releases a slot while the work still runs. Cancellation aborts the signal of the work;
//    the call uses its slot until the work stops.
// 2. The time starts when the call gets its slot, not while it is queued.

import type { CallGate } from '../call-gate.ts';
import type { ServerTool, ServerToolCall } from '../tool.ts';
import { ToolError } from '../tool-error.ts';
import { CALL_SECONDS } from './limits.ts';

/** Returns `tool` with calls that queue at `gate`, and fail after `limitMs`. */
export function withDeadline(tool: ServerTool, gate: CallGate, limitMs = CALL_SECONDS * 1_000): ServerTool {
  const run: ServerTool['run'] = (input, { signal, report }) =>
    gate.run(signal, () =>
      runWithDeadline({ signal }, limitMs, tool.hints.readOnlyHint, (signal) =>
        tool.run(input, { signal, report }),
      ),
    );
  return { ...tool, run };
}

/**
 * Runs `work` with a deadline. Its signal is aborted at the deadline or when the call is canceled.
 * @throws ToolError at the deadline; the reason of the signal if the call was canceled before the start
 */
export async function runWithDeadline<Result>(
  { signal }: Pick<ServerToolCall, 'signal'>,
  limitMs: number,
  isReading: boolean,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  const deadline = new AbortController();
  const { promise: expiry, reject } = rejectable();
  const advice = isReading ? '' : ' The outcome is unknown: check the state before you retry.';
  const timer = setTimeout(() => {
    const reason = new ToolError(
      `The disk did not respond within ${limitMs / 1_000} seconds; the call was aborted.${advice}`,
    );
    deadline.abort(reason);
    reject(reason);
  }, limitMs);
  try {
    return await Promise.race([work(AbortSignal.any([signal, deadline.signal])), expiry]);
  } finally {
    clearTimeout(timer);
  }
}

function rejectable(): { promise: Promise<never>; reject: (reason: unknown) => void } {
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<never>((_, rejectPromise) => {
    reject = rejectPromise;
  });
  return { promise, reject };
}
