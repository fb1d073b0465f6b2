// Local times with their offset, in several zones.

import { afterEach, expect, test } from 'vitest';
import { localClock, localSeconds, localTime, optionalTime } from '../../../../src/cli/views/local-time.ts';

const zone = process.env.TZ;
afterEach(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

test.each([
  ['UTC', '2026-11-21T10:57:03.906Z', '10:57:03.906Z'],
  ['Europe/Berlin', '2026-11-21T11:57:03.906+01:00', '11:57:03.906+01:00'],
  ['Asia/Kolkata', '2026-11-21T16:27:03.906+05:30', '16:27:03.906+05:30'],
  ['America/St_Johns', '2026-11-21T07:27:03.906-03:30', '07:27:03.906-03:30'],
  ['Pacific/Kiritimati', '2026-11-22T00:57:03.906+14:00', '00:57:03.906+14:00'],
])('a time in %s is %s', (name, expected, clock) => {
  process.env.TZ = name;
  const time = '2026-11-21T10:57:03.906Z';
  expect([localTime(time), localClock(time)]).toEqual([expected, clock]);
  expect(Date.parse(localTime(time))).toBe(Date.parse(time));
  expect(Date.parse(localSeconds(time))).toBe(Date.parse('2026-11-21T10:57:03Z'));
});

test('summer time changes the offset, and texts other than times stay unchanged', () => {
  process.env.TZ = 'Europe/Berlin';
  expect(localTime('2026-07-01T10:00:00Z')).toBe('2026-07-01T12:00:00+02:00');
  expect([localTime('soon'), optionalTime(null), optionalTime(null, 'never')]).toEqual([
    'soon',
    '-',
    'never',
  ]);
});
