// One member of a fleet is asked, and again where it fails for a reason that may pass, so often.

import { setTimeout as sleep } from 'node:timers/promises';
import { type AgentReply, type Handler, HandlerError, type Job } from '../handlers/handler.ts';
import type { Parked } from '../handlers/parked.ts';
import { messageOf } from '../parts/message-of.ts';
import type { PartContext } from '../parts/part-context.ts';

/** How often a member is asked. */
const ATTEMPTS = 3;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** Rejects with what its last attempt has failed with. */
export async function askMember(
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
      const { isFinal, retryAfterMs = 0 } = error instanceof HandlerError ? error : { isFinal: false };
      if (isFinal || attempt >= ATTEMPTS || retryAfterMs > LONGEST_PAUSE_MS) throw error;
      const ms = Math.max(retryAfterMs, firstPauseMs * 2 ** (attempt - 1));
      context.retrying(`${job.agent}: ${messageOf(error)}`, ms);
      await sleep(ms, undefined, { signal: context.signal });
    }
  }
}
