// Signed bodies are recognised for a limited time, with bounded memory.

import { setTimeout as elapse } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { SeenBodies } from '../../../../../actors/platforms/webhooks/replay-guard.ts';

const request = (id: string, signature = 'sha256=00', isNamed = true) => ({
  path: '/orders',
  signature,
  id,
  isNamed,
  windowMs: 600_000,
});

test('a request with a known signature gets the id of the first event, and keeps it', () => {
  const seen = new SeenBodies();
  expect(['1', '2', '3'].map((id) => seen.eventIdOf(request(id)))).toEqual(['1', '1', '1']);
  expect(seen.eventIdOf({ ...request('5'), path: '/other' })).toBe('5');
});

test('a request with a generated id is compared, but not remembered', () => {
  const seen = new SeenBodies();
  expect(seen.eventIdOf(request('generated', 'a', false))).toBe('generated');
  expect(seen.eventIdOf(request('1', 'a'))).toBe('1');
  expect(seen.eventIdOf(request('other', 'a', false))).toBe('1');
});

test('a signature is new after the window, and always without a window', async () => {
  const seen = new SeenBodies();
  expect(['1', '2'].map((id) => seen.eventIdOf({ ...request(id), windowMs: 0 }))).toEqual(['1', '2']);
  seen.eventIdOf({ ...request('1'), windowMs: 1 });
  await elapse(5);
  expect(seen.eventIdOf({ ...request('2'), windowMs: 1 })).toBe('2');
});

test('the replay guard evicts the oldest bodies above its limit', () => {
  const seen = new SeenBodies();
  for (let count = 0; count < 20_010; count += 1) seen.eventIdOf(request(`${count}`, `${count}`));
  expect(seen.size).toBe(20_000);
  expect(seen.eventIdOf(request('other', '20009'))).toBe('20009');
  expect(seen.eventIdOf(request('other', '0'))).toBe('other');
});
