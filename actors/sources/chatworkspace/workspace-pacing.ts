// How fast an app may send: to one channel one message a second, of which a few may come early; altogether some hundreds a minute.

import { Pacing } from '../../outbound/pacing.ts';

export const workspacePacing = (now?: () => number): Pacing =>
  new Pacing({
    accountEveryMs: 150,
    accountBurst: 10,
    place: { everyMs: 1_000, burst: 3 },
    ...(now && { now }),
  });
