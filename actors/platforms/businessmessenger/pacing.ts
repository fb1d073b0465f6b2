// How fast a number of the business may send: the platform takes 80 messages a second of it, and to one person 45 at once, which
// are lent from one in six seconds.

import { Pacing, type PlaceLimit } from '../../events/outbox/pacing.ts';

/** In any second 65 with the burst: some are spared, since on their way messages may come closer together. */
const ACCOUNT = { accountBurst: 15, accountEveryMs: 20 };
const PERSON: PlaceLimit = { everyMs: 6_000, burst: 45 };

/** As words for an operator. */
export const kindsOfPlaces = { person: PERSON };

export const messengerPacing = (now?: () => number): Pacing =>
  new Pacing({ ...ACCOUNT, place: PERSON, ...(now && { now }) });
