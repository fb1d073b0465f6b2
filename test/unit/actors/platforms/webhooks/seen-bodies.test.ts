// What was signed and taken is known for a while, and no more of it is kept than is bearable.

import { expect, test } from 'vitest';
import { SeenBodies } from '../../../../../actors/platforms/webhooks/seen-bodies.ts';

const request = (id: string, signature = 'sha256=00', isNamed = true) => ({
  place: '/orders',
  signature,
  id,
  isNamed,
  windowMs: 600_000,
});
const accept = async () => 'accepted';

test('what was not accepted may come again under any id (SB2)', async () => {
  const seen = new SeenBodies();
  await expect(seen.takeOnce(request('1'), () => Promise.reject(new Error('full')))).rejects.toThrow('full');
  expect(await seen.takeOnce(request('2'), accept)).toEqual({ accepted: 'accepted' });
  expect(await seen.takeOnce(request('3'), accept)).toEqual({ knownAs: '2' });
});

test('a repetition under another id counts as known when what came before is durable, and not earlier', async () => {
  const seen = new SeenBodies();
  let refuse: (reason: Error) => void = () => {};
  const refused = new Promise<string>((_, reject) => {
    refuse = reject;
  });
  const first = seen.takeOnce(request('1'), () => refused);
  const repetitions = ['2', '3'].map((id) => seen.takeOnce(request(id), accept));
  refuse(new Error('full'));
  await expect(first).rejects.toThrow('full');
  expect(await Promise.all(repetitions)).toEqual([{ accepted: 'accepted' }, { knownAs: '2' }]);
});

test('a repetition under the same id that fails leaves what was taken before', async () => {
  const seen = new SeenBodies();
  await seen.takeOnce(request('1'), accept);
  await expect(seen.takeOnce(request('1'), () => Promise.reject(new Error('full')))).rejects.toThrow('full');
  expect(await seen.takeOnce(request('2'), accept)).toEqual({ knownAs: '1' });
});

test('the oldest are forgotten beyond a bound (SB1)', async () => {
  const seen = new SeenBodies();
  for (let count = 0; count < 20_010; count += 1)
    await seen.takeOnce(request(`${count}`, `${count}`), accept);
  expect(seen.size).toBe(20_000);
  expect(await seen.takeOnce(request('other', '20009'), accept)).toEqual({ knownAs: '20009' });
  expect(await seen.takeOnce(request('other', '0'), accept)).toEqual({ accepted: 'accepted' });
});
