// One connection by itself: what goes out on its link for a call, and what of that comes back to whom.

import { describe, expect, test } from 'vitest';
import { ConnectionLostError } from '../../../../../../actors/base/errors/errors.ts';
import { Call } from '../../../../../../actors/mcp/servers/calls/call.ts';
import { Connection, type Introduction } from '../../../../../../actors/mcp/servers/pool/connection.ts';
import { FakeLink, type FakeServer } from '../../../../../fixtures/server/fake-link.ts';
import { Ear, toolCall } from '../../../../../fixtures/server/fake-server.ts';

const introduction: Introduction = { protocolVersion: '2025-11-25', clientInfo: {}, capabilities: {} };

function make(server: FakeServer = {}) {
  const noise: string[] = [];
  const ends: string[] = [];
  const again: Call[] = [];
  const links: FakeLink[] = [];
  const connection = new Connection(
    's',
    'legacy',
    (events) => {
      const link = new FakeLink(events, server);
      links.push(link);
      return link;
    },
    {
      onRequest: () => {},
      onNotification: () => {},
      onUndelivered: (_, call) => again.push(call),
      onNoise: (_, what) => noise.push(what),
      onEnd: (_, error) => ends.push(error.message),
    },
  );
  const send = (rawId: string, marker = 'm', rawToken?: string) => {
    const ear = new Ear();
    const call = new Call(
      { envelope: toolCall(rawId, marker, rawToken), exchange: ear },
      { server: 's', patience: { timeoutMs: 5000, maxMs: 5000 } },
    );
    connection.send(call);
    return { ear, call };
  };
  return { connection, link: links[0] as FakeLink, noise, ends, again, send };
}

test('the handshake is asked, answered, and confirmed, in that order', async () => {
  const { connection, link } = make();
  const description = await connection.introduce(introduction, 5000);
  expect(description).toMatchObject({ protocolVersion: '2025-06-18', serverInfo: { name: 'fake' } });
  expect(link.isReady).toBe(true);
  expect(link.sent.map(({ method }) => method)).toEqual(['initialize', 'notifications/initialized']);
});

test('a handshake that takes too long is given up without a word: it must not be cancelled', async () => {
  const { connection, link } = make({ isManual: true });
  await expect(connection.introduce(introduction, 20)).rejects.toMatchObject({ code: 'ERR_DEADLINE' });
  expect(link.sent.map(({ method }) => method)).toEqual(['initialize']);
});

test('a server that wants a version nobody speaks is refused, and told nothing more', async () => {
  const { connection, link } = make({
    isManual: true,
    answers: { initialize: { protocolVersion: '1999-01-01' } },
  });
  await expect(connection.introduce(introduction, 5000)).rejects.toMatchObject({
    code: 'ERR_UPSTREAM_PROTOCOL',
  });
  expect([link.isReady, link.sent.length]).toEqual([false, 1]);
});

test('a call leaves with our id and token, and everything else byte for byte (N1, N2)', () => {
  const { link, send } = make();
  send('"their own"', 'm', '"their token"');
  send('"their own"', 'm', '"their token"');
  const text = toolCall('"their own"', 'm', '"their token"').bytes.toString();
  expect(link.sent.map((sent) => sent.text)).toEqual(
    [1, 2].map((id) => text.replace('"their own"', String(id)).replace('"their token"', String(id))),
  );
});

test('progress comes back with the token the client chose, in its own spelling (N2)', () => {
  const { link, send } = make();
  const { ear } = send('1', 'm', '"t\\u006f"');
  link.say('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1.0}}');
  expect(ear.relayed).toEqual([
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t\\u006f","progress":1.0}}',
  ]);
});

test('progress for a call that asked for none, or that is over, reaches nobody', () => {
  const { link, send } = make();
  const [silent, over] = [send('1'), send('2', 'm', '"t"')];
  link.answer(2, 'done');
  for (const progressToken of [1, 2, '1', null, 99])
    link.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } });
  expect([silent.ear.relayed, over.ear.relayed]).toEqual([[], []]);
});

test('an answer that is late, doubled or invented, or whose id is of another type, reaches nobody (N3)', () => {
  const { link, send } = make();
  const [one, two] = [send('1'), send('1')];
  link.answer('1', 'a string is no number');
  link.answer(null, 'null');
  link.answer(99, 'invented');
  expect([one.ear.ends, two.ear.ends]).toEqual([0, 0]);
  link.answer(2, 'two');
  link.answer(2, 'two again');
  one.call.cancel();
  link.answer(1, 'late');
  expect([one.ear.drops, one.ear.answers.length, two.ear.result]).toEqual([1, 0, 'two']);
});

test('a call nobody waits for is cancelled at its server, by our id, and its stream given up', () => {
  const { link, send } = make();
  send('"theirs"').call.cancel();
  expect(link.sent.at(-1)).toMatchObject({
    method: 'notifications/cancelled',
    message: { params: { requestId: 1 } },
  });
  expect(link.forgotten).toEqual([1]);
});

test('an oversized answer ends its own call only; one without a known id is noise', () => {
  const { link, send, noise } = make();
  const [one, two] = [send('1'), send('2')];
  link.oversized('2');
  link.oversized('77');
  link.oversized(undefined);
  expect([one.ear.ends, two.ear.errors[0]?.code]).toEqual([0, 'ERR_MESSAGE_TOO_LARGE']);
  expect(noise).toHaveLength(2);
});

test('the end of the link ends every call with its reason, once, and what comes later fails at once (N4)', async () => {
  const { connection, link, ends, send } = make();
  const calls = [send('1'), send('1'), send('2')];
  const own = connection.request('ping', undefined, 5000);
  link.die(new ConnectionLostError('it broke'));
  link.die(new ConnectionLostError('again'));
  expect(calls.map(({ ear }) => ear.errors.map(({ message }) => message))).toEqual(
    calls.map(() => ['it broke']),
  );
  expect(ends).toEqual(['it broke']);
  await expect(own).rejects.toThrow('it broke');
  await expect(connection.request('ping', undefined, 5000)).rejects.toMatchObject({
    code: 'ERR_CONNECTION_LOST',
  });
  expect(connection.inFlight).toBe(0);
});

test('what is no message is noise, and hurts no call', () => {
  const { link, send, noise } = make();
  const { ear } = send('1');
  for (const text of ['', 'hello', '[]', '{"id":1}', '{"id":1,"result":1,"error":1}', '{"id":1,"result":{}'])
    link.say(text);
  expect([noise.length, ear.ends]).toEqual([6, 0]);
  link.answer(1, 'fine');
  expect(ear.result).toBe('fine');
});

describe('a message nested too deeply', () => {
  const deep = `${'[{"id":2,"x":"]}"},'.repeat(300)}1${']'.repeat(300)}`;

  test.each([
    ['before', `{"jsonrpc":"2.0","id":1,"result":{"content":${deep}}}`],
    ['behind', `{"jsonrpc":"2.0","result":{"content":${deep}},"id":1}`],
    ['before an error with', `{"id":1,"error":{"code":1,"message":"x","data":${deep}}}`],
  ])('fails the call it answers at once, with its id %s the depth', (_, text) => {
    const { link, send } = make();
    const [call, other] = [send('"a"'), send('"b"')];
    link.say(text);
    expect(call.ear.errors).toEqual([expect.objectContaining({ code: 'ERR_UPSTREAM_PROTOCOL' })]);
    expect(call.ear.errors[0]?.message).toMatch(/server s to tools\/call is nested too deeply.*256 levels/);
    expect([link.forgotten, other.ear.ends]).toEqual([[1], 0]);
    link.answer(2, 'fine');
    expect(other.ear.result).toBe('fine');
  });

  test('that asks is refused, and one that only tells hurts no call', () => {
    const { link, send, noise } = make();
    const { ear } = send('1');
    link.say(`{"method":"notifications/message","params":{"data":${deep}}}`);
    link.say(`{"method":"sampling/createMessage","params":{"x":${deep}},"id":1}`);
    expect([noise.length, ear.ends]).toEqual([2, 0]);
    expect(link.sent.at(-1)?.message).toMatchObject({ id: 1, error: { code: -32700 } });
  });
});

test('a ping of the server is answered at once, with its own id', () => {
  const { link } = make();
  link.say('{"jsonrpc":"2.0","id":"\\u00fc 1","method":"ping"}');
  expect(link.sent[0]?.text).toBe('{"jsonrpc":"2.0","id":"\\u00fc 1","result":{}}');
});
