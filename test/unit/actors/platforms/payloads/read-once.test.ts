// A payload is parsed once, for any number of readers.

import { expect, test } from 'vitest';
import { botMessageOf } from '../../../../../actors/platforms/botmessenger/update.ts';
import { parsePayload } from '../../../../../actors/platforms/chatworkspace/payload.ts';
import { contentIn as interactionIn } from '../../../../../actors/platforms/communitychat/event.ts';
import { readOnce } from '../../../../../actors/platforms/payloads/payload-member.ts';
import { activityIn } from '../../../../../actors/platforms/teamchat/activity.ts';

/** Wraps an object to count reads of members. */
function countReads<T extends object>(value: T): { readonly payload: T; count(): number } {
  let reads = 0;
  const get = (target: T, name: string | symbol): unknown => {
    reads += 1;
    return Reflect.get(target, name);
  };
  return { payload: new Proxy(value, { get }), count: () => reads };
}

const user = { id: 5, is_bot: false, first_name: 'Ann' };
const chat = { id: 7, type: 'private' };

test.each([
  [
    'botmessenger',
    botMessageOf,
    { update_id: 1, message: { message_id: 2, chat, from: user, text: 'hello' } },
  ],
  [
    'chatworkspace',
    (payload: unknown) => parsePayload('events_api', payload),
    { event: { type: 'message', channel: 'C1', user: 'U1', ts: '1.2', text: 'hello' } },
  ],
  ['communitychat', interactionIn, { id: '1', type: 2, token: 't', data: { name: 'ask', type: 1 } }],
  [
    'teamchat',
    (payload: unknown) => activityIn(payload as Readonly<Record<string, unknown>>),
    { type: 'message', channelId: 'msteams', serviceUrl: 'https://a.example', conversation: { id: 'c' } },
  ],
])(
  'the parser of %s reads a payload object only once, and then returns the cached result',
  (_, read, content) => {
    const { payload, count } = countReads(content);
    const first = read(payload);
    const reads = count();
    expect(reads).toBeGreaterThan(0);
    expect([read(payload), count()]).toEqual([first, reads]);
    expect(read({ ...content })).toEqual(first);
  },
);

test('readOnce also caches the result undefined, and parses payloads other than objects each time', () => {
  let reads = 0;
  const read = readOnce((_: unknown) => {
    reads += 1;
    return undefined;
  });
  const payload = {};
  for (const each of [payload, payload, 'text', 'text', null]) expect(read(each)).toBeUndefined();
  expect(reads).toBe(4);
});
