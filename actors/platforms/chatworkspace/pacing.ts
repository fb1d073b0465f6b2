// How fast an app may send: to one channel one message a second, of which a few may come early; altogether some hundreds a minute.

import { Pacing, type PlaceLimit } from '../../events/outbox/pacing.ts';

export const CHANNEL_LIMIT: PlaceLimit = { everyMs: 1_000, burst: 3 };

export const workspacePacing = (now?: () => number): Pacing =>
  new Pacing({
    accountEveryMs: 150,
    accountBurst: 10,
    place: CHANNEL_LIMIT,
    ...(now && { now }),
  });

/** The platform takes about fifty changes a minute from an app, wherever they are. */
export const EDITS_EVERY_MS = 3_000;
