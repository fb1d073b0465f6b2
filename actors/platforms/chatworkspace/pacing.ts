// Rate limits for outbound messages: one message a second per channel, with a small burst, and a few hundred
// a minute per app.

import { type DestinationLimit, Pacing } from '../../events/outbox/pacing.ts';

export const CHANNEL_LIMIT: DestinationLimit = { everyMs: 1_000, burst: 3 };

export const workspacePacing = (now?: () => number): Pacing =>
  new Pacing({
    accountEveryMs: 150,
    accountBurst: 10,
    destination: CHANNEL_LIMIT,
    ...(now && { now }),
  });

/** Interval between edits, in milliseconds. The platform accepts about fifty edits a minute per app. */
export const EDITS_EVERY_MS = 3_000;
