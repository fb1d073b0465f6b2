// The circuit breaker of a server: refused calls, the length of a refusal, and its reason.

import { expect, test } from 'vitest';
import { steadyNow } from '../../../../../../actors/base/time/steady-clock.ts';
import { CircuitBreaker } from '../../../../../../actors/mcp/servers/life/circuit-breaker.ts';

const REASON = 'it exits at once';
const isThrough = (breaker: CircuitBreaker) => !breaker.isOpen && breaker.refusal() === undefined;

test('lets calls through before it opens, after its time, and after it was closed', () => {
  const breaker = new CircuitBreaker('files', true);
  expect(isThrough(breaker)).toBe(true);
  breaker.open(steadyNow() + 60_000, REASON);
  expect([breaker.isOpen, breaker.refusal()?.code]).toEqual([true, 'ERR_UNAVAILABLE']);
  breaker.close();
  expect(isThrough(breaker)).toBe(true);
  breaker.open(steadyNow() - 1, REASON);
  expect(isThrough(breaker)).toBe(true);
});

test.each([
  ['files', 60_000, 'in 60 s (POST /servers/files/start tries at once)'],
  ['files', 4_000, 'in 4 s'],
  ['clerk/files', 60_000, 'in 60 s'],
])('of %s, open for %i ms, refuses with the reason and the time', (id, forMs, when) => {
  const breaker = new CircuitBreaker(id, true);
  breaker.open(steadyNow() + forMs, REASON);
  expect(breaker.refusal()).toMatchObject({
    message: `server ${id} is parked after too many failures and is tried again ${when}: ${REASON}`,
    retryAfterSeconds: forMs / 1000,
  });
});

test('of a server that is switched off refuses every call', () => {
  expect(new CircuitBreaker('files', false).refusal()).toMatchObject({
    message: 'server files is switched off (its entry says enabled: false)',
    retryAfterSeconds: 60,
  });
});
