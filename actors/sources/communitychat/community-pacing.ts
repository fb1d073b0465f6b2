// How fast a bot may send, whatever the platform's headers say: 50 messages a second altogether, and five in five seconds in a channel.

import { Pacing, type PlaceLimit } from '../../outbound/pacing.ts';

export const CHANNEL_LIMIT: PlaceLimit = { everyMs: 1_000, burst: 5, window: { most: 5, ms: 5_000 } };

export const communityPacing = (): Pacing =>
  new Pacing({ accountEveryMs: 20, accountBurst: 5, place: CHANNEL_LIMIT });

/** An edit counts as a message does with the platform. So one that changes leaves a third to others. */
export const EDITS_EVERY_MS = 1_500;
