import { describe, expect, test } from 'vitest';
import { suggest } from '../../../../config/reader/suggest.ts';

const knownKeys = [
  'listen_addr',
  'api_key',
  'idle_timeout_seconds',
  'start_timeout_seconds',
  'max',
  'args',
  'env',
];

describe('suggest', () => {
  test.each([
    ['listen_adr', 'listen_addr'],
    ['LISTEN-ADDR', 'listen_addr'],
    ['apiKey', 'api_key'],
    ['idle_timeout', 'idle_timeout_seconds'],
    ['idleTimeoutSeconds', 'idle_timeout_seconds'],
    ['maxx', 'max'],
    ['arg', 'args'],
    ['envs', 'env'],
    ['evn', 'env'],
    ['agrs', 'args'],
  ])('proposes for the unknown key %s the known key %s', (input, meant) => {
    expect(suggest(input, knownKeys)).toBe(meant);
  });

  test.each(['', '_', 'c', 'zebra', 'url', 'xy', 'x'.repeat(1000)])('finds nothing for "%s"', (input) => {
    expect(suggest(input, knownKeys)).toBeUndefined();
  });
});
