import { expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { Pacing } from '../../../../../actors/events/outbox/pacing.ts';

const ROOM = { everyMs: 2_000, burst: 2 };
const HALL = { everyMs: 1_000, window: { most: 3, ms: 60_000 } };
const limitOf = (destination: string) => (destination.startsWith('hall') ? HALL : ROOM);

test('the limits of a platform are listed by scope, with the current pauses, longest first', async () => {
  let now = 1_000;
  const pacing = new Pacing({ accountEveryMs: 50, accountBurst: 4, destination: ROOM, now: () => now });
  const currentLimits = () => pacing.currentLimits('bot', { room: ROOM, hall: HALL }, limitOf);
  expect(currentLimits()).toEqual({
    rates: [
      { of: 'account', most: 1, perMs: 50, atOnce: 4 },
      { of: 'room', most: 1, perMs: 2_000, atOnce: 2 },
      { of: 'hall', most: 1, perMs: 1_000, atOnce: undefined },
      { of: 'hall', most: 3, perMs: 60_000 },
    ],
    held: [],
  });
  const send = (account: string, destination: string, request = async () => {}) =>
    pacing.run({ account, destination, limit: limitOf(destination), isOfDestination: () => true }, request);
  await send('another', 'room 1');
  await send('bot', 'hall 1');
  const refused = new DeliveryError('not now', { isRateLimited: true, retryAfterMs: 30_000 });
  await send('bot', 'room 2', () => Promise.reject(refused)).catch(() => {});
  expect(currentLimits().held).toEqual([
    { of: 'room 2', forMs: 30_000 },
    { of: 'hall 1', forMs: 1_000 },
  ]);
  now += 30_000;
  expect(currentLimits().held).toEqual([]);
});
