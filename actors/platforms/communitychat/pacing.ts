// How fast a bot may send, whatever the platform's headers say: five messages in five seconds in a channel, and altogether fifty in
// any second, of which some are spared, since those that leave at once come on top, and on their way messages may come closer together.

import { Pacing, type PlaceLimit } from '../../events/outbox/pacing.ts';

export const CHANNEL_LIMIT: PlaceLimit = { everyMs: 1_000, burst: 5, window: { most: 5, ms: 5_000 } };

export const communityPacing = (now?: () => number): Pacing =>
  new Pacing({ accountEveryMs: 25, accountBurst: 5, place: CHANNEL_LIMIT, ...(now && { now }) });

/** An edit counts as a message does with the platform. So one that changes leaves a third to others. */
export const EDITS_EVERY_MS = 1_500;
