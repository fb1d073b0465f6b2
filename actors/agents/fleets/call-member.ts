// Calls one fleet member and repeats the request after failures that may be temporary.

import { setTimeout as sleep } from 'node:timers/promises';
import { type AgentReply, type Handler, HandlerError, type Job } from '../handlers/handler.ts';
import type { Parked } from '../handlers/parked.ts';
import { NoSlotError, parkForSlot } from '../handlers/run-slots.ts';
import type { PartContext } from '../parts/context.ts';
import { messageOf } from '../parts/failure-reason.ts';

/** Maximum number of requests to a member. */
const ATTEMPTS = 3;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Returns the member's answer, or the result that parks it (parked.ts). Rejects with the error of the last
 * request.
 */
export async function callMember(
  handler: Handler,
  job: Job,
  contextOf: () => PartContext,
  firstPauseMs = FIRST_PAUSE_MS,
): Promise<AgentReply | Parked> {
  for (let attempt = 1; ; attempt += 1) {
    const context = contextOf();
    try {
      return await handler.run({ ...job, attempt: job.attempt + attempt - 1 }, context);
    } catch (error) {
      context.signal.throwIfAborted();
      if (error instanceof NoSlotError) return parkForSlot(error);
      const { isFinal, retryAfterMs = 0 } = error instanceof HandlerError ? error : { isFinal: false };
      if (isFinal || attempt >= ATTEMPTS || retryAfterMs > LONGEST_PAUSE_MS) throw error;
      const ms = Math.max(retryAfterMs, firstPauseMs * 2 ** (attempt - 1));
      context.reportRetry(`${job.agent}: ${messageOf(error)}`, ms);
      await sleep(ms, undefined, { signal: context.signal });
    }
  }
}
