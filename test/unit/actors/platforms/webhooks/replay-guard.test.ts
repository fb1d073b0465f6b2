// Accepted signed bodies are recognised for a limited time, with bounded memory.

import { expect, test } from 'vitest';
import { SeenBodies } from '../../../../../actors/platforms/webhooks/replay-guard.ts';

const request = (id: string, signature = 'sha256=00', isNamed = true) => ({
  path: '/orders',
  signature,
  id,
  isNamed,
  windowMs: 600_000,
});
const accept = async () => 'accepted';

test('a request body that was not accepted may be sent again under any id', async () => {
  const seen = new SeenBodies();
  await expect(seen.acceptOnce(request('1'), () => Promise.reject(new Error('full')))).rejects.toThrow(
    'full',
  );
  expect(await seen.acceptOnce(request('2'), accept)).toEqual({ accepted: 'accepted' });
  expect(await seen.acceptOnce(request('3'), accept)).toEqual({ knownAs: '2' });
});

test('a replay with another id waits until the earlier request is durable', async () => {
  const seen = new SeenBodies();
  let rejectFirst: (reason: Error) => void = () => {};
  const rejection = new Promise<string>((_, reject) => {
    rejectFirst = reject;
  });
  const first = seen.acceptOnce(request('1'), () => rejection);
  const repetitions = ['2', '3'].map((id) => seen.acceptOnce(request(id), accept));
  rejectFirst(new Error('full'));
  await expect(first).rejects.toThrow('full');
  expect(await Promise.all(repetitions)).toEqual([{ accepted: 'accepted' }, { knownAs: '2' }]);
});

test('a failed replay with the same id keeps the earlier acceptance', async () => {
  const seen = new SeenBodies();
  await seen.acceptOnce(request('1'), accept);
  await expect(seen.acceptOnce(request('1'), () => Promise.reject(new Error('full')))).rejects.toThrow(
    'full',
  );
  expect(await seen.acceptOnce(request('2'), accept)).toEqual({ knownAs: '1' });
});

test('the replay guard evicts the oldest bodies above its limit', async () => {
  const seen = new SeenBodies();
  for (let count = 0; count < 20_010; count += 1)
    await seen.acceptOnce(request(`${count}`, `${count}`), accept);
  expect(seen.size).toBe(20_000);
  expect(await seen.acceptOnce(request('other', '20009'), accept)).toEqual({ knownAs: '20009' });
  expect(await seen.acceptOnce(request('other', '0'), accept)).toEqual({ accepted: 'accepted' });
});
