// A server's circuit breaker: rejected calls, duration and reason.

import { expect, test } from 'vitest';
import { monotonicNow } from '../../../../../../actors/base/time/monotonic-clock.ts';
import { CircuitBreaker } from '../../../../../../actors/mcp/servers/life/circuit-breaker.ts';

const REASON = 'it exits at once';
const isAllowed = (breaker: CircuitBreaker) => !breaker.isOpen && breaker.refusal() === undefined;

test('the circuit breaker allows calls before it opens, after its open period, and after it is closed', () => {
  const breaker = new CircuitBreaker('files', true);
  expect(isAllowed(breaker)).toBe(true);
  breaker.open(monotonicNow() + 60_000, REASON);
  expect([breaker.isOpen, breaker.refusal()?.code]).toEqual([true, 'ERR_UNAVAILABLE']);
  breaker.close();
  expect(isAllowed(breaker)).toBe(true);
  breaker.open(monotonicNow() - 1, REASON);
  expect(isAllowed(breaker)).toBe(true);
});

test.each([
  ['files', 60_000, 'in 60 s (POST /servers/files/start retries now)'],
  ['files', 4_000, 'in 4 s'],
  ['clerk/files', 60_000, 'in 60 s'],
])(
  'the circuit breaker rejects calls of server %s with the reason and the retry time while it is open for %i ms',
  (id, forMs, when) => {
    const breaker = new CircuitBreaker(id, true);
    breaker.open(monotonicNow() + forMs, REASON);
    expect(breaker.refusal()).toMatchObject({
      message: `server ${id} is parked after too many failures and is retried ${when}: ${REASON}`,
      retryAfterSeconds: forMs / 1000,
    });
  },
);

test('the circuit breaker rejects every call of a disabled server', () => {
  expect(new CircuitBreaker('files', false).refusal()).toMatchObject({
    message: 'server files is disabled (enabled: false in its entry)',
    retryAfterSeconds: 60,
  });
});
