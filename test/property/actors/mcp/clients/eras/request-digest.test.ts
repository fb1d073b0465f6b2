// The digest that ties a retry to the original request. Order and spacing of members do not change it, and
// other arguments do.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { requestDigest } from '../../../../../../actors/mcp/clients/eras/suspended-calls.ts';
import { readClientMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';

/** Returns the digest of a tool call with these arguments, further parameters and indentation. */
function digestOf(args: unknown, otherParams: object = {}, space?: number): string {
  const params = { name: 'tool', arguments: args, ...otherParams };
  return requestDigest(
    readClientMessage(
      Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }, null, space)),
    ),
  );
}

/** Returns the value with the members of every object in reverse order. */
function reverseMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reverseMembers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reverseMembers(member)]),
  );
}

const args = fc.jsonValue({ maxDepth: 4 });
/** Returns JSON with sorted members: equal for equal values. */
const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`);
  return `{${members.sort().join()}}`;
};

test('a retry has the same digest as its request, for any order and spacing of JSON members', () => {
  fc.assert(
    fc.property(args, fc.string(), fc.nat({ max: 3 }), (value, state, space) => {
      const retry = { requestState: state, inputResponses: { a: value }, _meta: { progressToken: state } };
      expect(digestOf(reverseMembers(value), retry, space)).toBe(digestOf(value));
    }),
  );
});

test('requests with other arguments have other digests', () => {
  fc.assert(
    fc.property(args, args, (one, other) => {
      expect(digestOf(one) === digestOf(other)).toBe(canonical(one) === canonical(other));
    }),
  );
  // An object differs from its array of entries.
  expect(digestOf({ a: { b: 1 } })).not.toBe(digestOf({ a: [['b', 1]] }));
  expect(digestOf({})).not.toBe(digestOf([]));
});
