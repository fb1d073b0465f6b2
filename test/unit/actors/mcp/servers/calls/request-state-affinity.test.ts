// A request state is routed to the connection that issued it, for a limited time and number of states.

import { expect, test } from 'vitest';
import { readClientMessage, readServerMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import {
  AFFINITY_MS,
  MAX_STATES,
  RequestStateAffinity,
} from '../../../../../../actors/mcp/servers/calls/request-state-affinity.ts';
import type { PoolMember } from '../../../../../../actors/mcp/servers/pool/pool-member.ts';

const [one, two] = [{} as PoolMember, {} as PoolMember];
const answer = (rawResult: string) => readServerMessage(Buffer.from(`{"id":1,"result":${rawResult}}`));
const answerWithState = (rawState: string) =>
  answer(`{"resultType":"input_required","requestState":${rawState}}`);
const retry = (rawState: string) =>
  readClientMessage(
    Buffer.from(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"requestState":${rawState}}}`),
  );

test('a requestState is routed to the connection that issued it, in any JSON notation and repeatedly', () => {
  const homes = new RequestStateAffinity();
  homes.note(answerWithState('"é\\u0041\\n"'), one);
  homes.note(answerWithState('"other"'), two);
  for (let time = 0; time < 2; time += 1) {
    expect(homes.find(retry('"\\u00e9A\\u000a"'))).toBe(one);
    expect(homes.find(retry('"other"'))).toBe(two);
  }
  expect(homes.find(retry('"\\u00e9A"'))).toBeUndefined();
  homes.note(answerWithState('"other"'), one);
  expect(homes.find(retry('"other"'))).toBe(one);
});

test('a server message without a valid requestState is not recorded for routing', () => {
  const homes = new RequestStateAffinity();
  for (const raw of ['{}', '{"requestState":7}', '{"deep":{"requestState":"x"}}', '[]', '"requestState"'])
    homes.note(answer(raw), one);
  homes.note(readServerMessage(Buffer.from('{"id":1,"error":{"code":1,"requestState":"x"}}')), one);
  expect(homes.size).toBe(0);
  expect(homes.find(retry('7'))).toBeUndefined();
  expect(homes.find(retry('"x"'))).toBeUndefined();
});

test('a connection counts as awaiting a requestState until the state first returns or expires', () => {
  let now = 0;
  const homes = new RequestStateAffinity(() => now);
  const awaited = () => [homes.isAwaited(one), homes.isAwaited(two)];
  homes.note(answerWithState('"a"'), one);
  homes.note(answerWithState('"b"'), one);
  expect(awaited()).toEqual([true, false]);
  homes.find(retry('"a"'));
  homes.find(retry('"unknown"'));
  expect(awaited()).toEqual([true, false]);
  homes.find(retry('"b"'));
  expect(awaited()).toEqual([false, false]);
  homes.note(answerWithState('"c"'), two);
  expect(awaited()).toEqual([false, true]);
  now = AFFINITY_MS + 1;
  expect(awaited()).toEqual([false, false]);
});

test('a request state expires, and the oldest state is removed above the limit', () => {
  let now = 0;
  const homes = new RequestStateAffinity(() => now);
  homes.note(answerWithState('"first"'), one);
  now = AFFINITY_MS;
  expect(homes.find(retry('"first"'))).toBe(one);
  now += 1;
  expect(homes.find(retry('"first"'))).toBeUndefined();
  homes.note(answerWithState('"second"'), one);
  expect(homes.size).toBe(1);
  for (let n = 0; n < MAX_STATES - 1; n += 1) homes.note(answerWithState(`"state ${n}"`), two);
  expect(homes.find(retry('"second"'))).toBe(one);
  // A repeated state is the newest again.
  homes.note(answerWithState('"second"'), one);
  homes.note(answerWithState('"one more"'), two);
  expect(homes.size).toBe(MAX_STATES);
  expect(homes.find(retry('"second"'))).toBe(one);
  expect(homes.find(retry('"state 0"'))).toBeUndefined();
  expect(homes.find(retry('"state 1"'))).toBe(two);
});
