// Rate limits of outbound messages: 80 messages a second per number. Per person the platform allows a burst
// of 45 messages, refilled by one message every six seconds.

import { type DestinationLimit, Pacing } from '../../events/outbox/pacing.ts';

/**
 * Up to 65 messages in any second, including the burst. Lower than the platform's limit, because messages may
 * arrive closer together than sent.
 */
const ACCOUNT = { accountBurst: 15, accountEveryMs: 20 };
const PERSON: DestinationLimit = { everyMs: 6_000, burst: 45 };

/** Limits with names, for operators. */
export const limitsByName = { person: PERSON };

export const messengerPacing = (now?: () => number): Pacing =>
  new Pacing({ ...ACCOUNT, destination: PERSON, ...(now && { now }) });
