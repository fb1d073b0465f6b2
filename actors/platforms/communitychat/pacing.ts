// Rate limits of outbound messages, besides the limits in the platform's headers: five messages in five
// seconds per channel, and fifty a second per bot. The bot's limit here is lower, because of the burst, and
// because messages may arrive closer together than sent.

import { type DestinationLimit, Pacing } from '../../events/outbox/pacing.ts';

export const CHANNEL_LIMIT: DestinationLimit = { everyMs: 1_000, burst: 5, window: { most: 5, ms: 5_000 } };

export const communityPacing = (now?: () => number): Pacing =>
  new Pacing({ accountEveryMs: 25, accountBurst: 5, destination: CHANNEL_LIMIT, ...(now && { now }) });

/**
 * Interval between edits, in milliseconds. Edits count as messages; leaves a third of the channel's rate to
 * other messages.
 */
export const EDITS_EVERY_MS = 1_500;
