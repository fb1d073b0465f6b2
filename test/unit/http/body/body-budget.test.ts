// Memory budget for bodies during reception: shares per address, and complete release.

import { expect, test } from 'vitest';
import { Deadlines } from '../../../../actors/base/time/deadlines.ts';
import { BodyBudget, networkOf } from '../../../../src/http/body/body-budget.ts';
import { IncomingBody } from '../../../../src/http/body/incoming-body.ts';
import type { BodyProblem } from '../../../../src/http/listener/seam.ts';

const KB = 1024;
const deadlines = new Deadlines<IncomingBody>(60_000);

function body(bodies: BodyBudget, remoteAddress: string, announced: number) {
  const incoming = new IncomingBody({ remoteAddress }, announced, 1_000 * KB, bodies, deadlines);
  const delivered: (Buffer | BodyProblem)[] = [];
  incoming.deliverTo((content) => delivered.push(content));
  return { incoming, delivered };
}

test('request bodies from one address use at most about half of the capacity, and release it when refused or closed', () => {
  const bodies = new BodyBudget(100 * KB);
  const greedy = Array.from({ length: 10 }, () => body(bodies, '198.51.100.1', 11 * KB));
  for (const { incoming } of greedy) incoming.push(Buffer.alloc(10 * KB));
  expect(greedy.flatMap(({ delivered }) => delivered)).toEqual(new Array(5).fill('over_budget'));
  expect(bodies.heldBytes).toBeGreaterThan(40 * KB);
  const other = body(bodies, '198.51.100.2', 24 * KB);
  other.incoming.push(Buffer.alloc(12 * KB, 1));
  other.incoming.push(Buffer.alloc(12 * KB, 2));
  other.incoming.finish();
  expect(other.delivered.map((content) => content.length)).toEqual([24 * KB]);
  const [first, second, ...others] = greedy;
  first?.incoming.cancel();
  second?.incoming.expire();
  expect(second?.delivered).toEqual(['too_slow']);
  for (const { incoming } of others) incoming.hold(() => {});
  for (const { incoming } of others) incoming.cancel();
  expect(bodies.heldBytes).toBe(0);
});

test('a request body in many small pieces uses little more capacity than its size, and one in a single piece none', () => {
  const bodies = new BodyBudget(64 * KB);
  const dribble = body(bodies, '198.51.100.1', 10 * KB);
  for (let n = 0; n < 1_000; n += 1) dribble.incoming.push(Buffer.alloc(1));
  expect(bodies.heldBytes).toBeGreaterThan(1_000);
  expect(bodies.heldBytes).toBeLessThan(4 * KB);
  dribble.incoming.cancel();
  const whole = body(bodies, '198.51.100.1', 900 * KB);
  whole.incoming.push(Buffer.alloc(900 * KB));
  expect(bodies.heldBytes).toBe(0);
  whole.incoming.finish();
  expect(whole.delivered.map((content) => content.length)).toEqual([900 * KB]);
});

test.each([
  ['198.51.100.7', '198.51.100.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::1', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['2001:0db8:0000:0000:0000:0000:0000:0001', '2001:db8:0:0'],
  ['::ffff:198.51.100.7', '::ffff:198.51.100.7'],
  ['0000:0000:0000:0000:0000:ffff:c633:6407', '0000:0000:0000:0000:0000:ffff:c633:6407'],
  ['::1', '::1'],
  ['', ''],
])('the address %s belongs to the network %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
