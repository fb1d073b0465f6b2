// A connection: messages sent for a call, and recipients of received messages.

import { describe, expect, test } from 'vitest';
import { ConnectionLostError } from '../../../../../../actors/base/errors/errors.ts';
import { Call } from '../../../../../../actors/mcp/servers/calls/call.ts';
import { Connection, type Introduction } from '../../../../../../actors/mcp/servers/pool/connection.ts';
import { FakeLink, type FakeServer } from '../../../../../fixtures/server/fake-link.ts';
import { ResponseRecorder, toolCall } from '../../../../../fixtures/server/fake-server.ts';

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
    const recorder = new ResponseRecorder();
    const call = new Call(
      { envelope: toolCall(rawId, marker, rawToken), exchange: recorder },
      { server: 's', timeouts: { timeoutMs: 5000, maxMs: 5000 } },
    );
    connection.send(call);
    return { recorder, call };
  };
  return { connection, link: links[0] as FakeLink, noise, ends, again, send };
}

test('a connection sends initialize, receives its result and confirms it, in this order', async () => {
  const { connection, link } = make();
  const description = await connection.introduce(introduction, 5000);
  expect(description).toMatchObject({ protocolVersion: '2025-06-18', serverInfo: { name: 'fake' } });
  expect(link.isReady).toBe(true);
  expect(link.sent.map(({ method }) => method)).toEqual(['initialize', 'notifications/initialized']);
});

test('a connection aborts a slow handshake without a cancellation, which the protocol forbids', async () => {
  const { connection, link } = make({ hasManualInitialize: true });
  await expect(connection.introduce(introduction, 20)).rejects.toMatchObject({ code: 'ERR_DEADLINE' });
  expect(link.sent.map(({ method }) => method)).toEqual(['initialize']);
});

test('a connection rejects a server with an unknown protocol version, without further messages', async () => {
  const { connection, link } = make({
    hasManualInitialize: true,
    answers: { initialize: { protocolVersion: '1999-01-01' } },
  });
  await expect(connection.introduce(introduction, 5000)).rejects.toMatchObject({
    code: 'ERR_UPSTREAM_PROTOCOL',
  });
  expect([link.isReady, link.sent.length]).toEqual([false, 1]);
});

test('a connection sends a call with the gateway’s id and token, and otherwise byte for byte', () => {
  const { link, send } = make();
  send('"their own"', 'm', '"their token"');
  send('"their own"', 'm', '"their token"');
  const text = toolCall('"their own"', 'm', '"their token"').bytes.toString();
  expect(link.sent.map((sent) => sent.text)).toEqual(
    [1, 2].map((id) => text.replace('"their own"', String(id)).replace('"their token"', String(id))),
  );
});

test('a connection forwards progress with the client’s token, in the original notation', () => {
  const { link, send } = make();
  const { recorder } = send('1', 'm', '"t\\u006f"');
  link.say('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1.0}}');
  expect(recorder.relayed).toEqual([
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t\\u006f","progress":1.0}}',
  ]);
});

test('a connection drops progress for a finished call or one without a token', () => {
  const { link, send } = make();
  const [silent, over] = [send('1'), send('2', 'm', '"t"')];
  link.answer(2, 'done');
  for (const progressToken of [1, 2, '1', null, 99])
    link.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } });
  expect([silent.recorder.relayed, over.recorder.relayed]).toEqual([[], []]);
});

test('a connection accepts a response that has its numeric id as text, as the public SDKs do', () => {
  const { link, send } = make();
  const { recorder } = send('1');
  link.answer('1', 'fine');
  expect(recorder.result).toBe('fine');
});

test('a connection drops a response that is late, a duplicate, or without a call', () => {
  const { link, send } = make();
  const [one, two] = [send('1'), send('1')];
  link.answer('one', 'text');
  link.answer(null, 'null');
  link.answer(99, 'invented');
  expect([one.recorder.ends, two.recorder.ends]).toEqual([0, 0]);
  link.answer(2, 'two');
  link.answer(2, 'two again');
  one.call.cancel();
  link.answer(1, 'late');
  expect([one.recorder.drops, one.recorder.answers.length, two.recorder.result]).toEqual([1, 0, 'two']);
});

test('a connection cancels an abandoned call at its server by the gateway’s id, and closes its stream', () => {
  const { link, send } = make();
  send('"theirs"').call.cancel();
  expect(link.sent.at(-1)).toMatchObject({
    method: 'notifications/cancelled',
    message: { params: { requestId: 1 } },
  });
  expect(link.forgotten).toEqual([1]);
});

test('a connection ends only the call of an oversized response; one with an unknown id counts as an invalid message', () => {
  const { link, send, noise } = make();
  const [one, two] = [send('1'), send('2')];
  link.oversized('2');
  link.oversized('77');
  link.oversized(undefined);
  expect([one.recorder.ends, two.recorder.errors[0]?.code]).toEqual([0, 'ERR_MESSAGE_TOO_LARGE']);
  expect(noise).toHaveLength(2);
});

test('a connection whose link fails ends every call once with the reason, and fails later calls immediately', async () => {
  const { connection, link, ends, send } = make();
  const calls = [send('1'), send('1'), send('2')];
  const own = connection.request('ping', undefined, 5000);
  link.die(new ConnectionLostError('it broke'));
  link.die(new ConnectionLostError('again'));
  expect(calls.map(({ recorder }) => recorder.errors.map(({ message }) => message))).toEqual(
    calls.map(() => ['it broke']),
  );
  expect(ends).toEqual(['it broke']);
  await expect(own).rejects.toThrow('it broke');
  await expect(connection.request('ping', undefined, 5000)).rejects.toMatchObject({
    code: 'ERR_CONNECTION_LOST',
  });
  expect(connection.inFlight).toBe(0);
});

test('a connection counts invalid messages, without affecting other calls', () => {
  const { link, send, noise } = make();
  const { recorder } = send('1');
  for (const text of ['', 'hello', '[]', '{"id":9}', '{"id":9,"result":1,"error":1}', '{"id":9,"result":{}'])
    link.say(text);
  expect([noise.length, recorder.ends]).toEqual([6, 0]);
  link.answer(1, 'fine');
  expect(recorder.result).toBe('fine');
});

test('a connection does not end a call because of a log line on stdout with the id of the call', () => {
  const { link, send, noise } = make();
  const { recorder } = send('1');
  for (const text of ['{"id":1}', '{"level":30,"id":1,"msg":"handling request"}']) link.say(text);
  link.answer(1, 'fine');
  expect([noise.length, recorder.result]).toEqual([2, 'fine']);
});

test.each([
  '{"jsonrpc":"2.0","id":1}',
  '{"id":1,"result":1,"error":1}',
  '{"id":1,"result":{}',
  '{"id":1,"result":NaN}',
])('a connection fails the call of the invalid response %s once', (text) => {
  const { link, send, noise } = make();
  const { recorder } = send('1');
  link.say(text);
  link.answer(1, 'late');
  expect([noise.length, recorder.ends]).toEqual([1, 1]);
  expect(recorder.errors[0]).toMatchObject({ code: 'ERR_UPSTREAM_PROTOCOL' });
});

describe('a message nested too deeply', () => {
  const deep = `${'[{"id":2,"x":"]}"},'.repeat(300)}1${']'.repeat(300)}`;

  test.each([
    ['before', `{"jsonrpc":"2.0","id":1,"result":{"content":${deep}}}`],
    ['behind', `{"jsonrpc":"2.0","result":{"content":${deep}},"id":1}`],
    ['before an error with', `{"id":1,"error":{"code":1,"message":"x","data":${deep}}}`],
  ])('with its id %s the nested value fails its call immediately', (_, text) => {
    const { link, send } = make();
    const [call, other] = [send('"a"'), send('"b"')];
    link.say(text);
    expect(call.recorder.errors).toEqual([expect.objectContaining({ code: 'ERR_UPSTREAM_PROTOCOL' })]);
    expect(call.recorder.errors[0]?.message).toMatch(
      /server s to tools\/call is nested too deeply.*256 levels/,
    );
    expect([link.forgotten, other.recorder.ends]).toEqual([[1], 0]);
    link.answer(2, 'fine');
    expect(other.recorder.result).toBe('fine');
  });

  test('is rejected if it is a request, and affects no call if it is a notification', () => {
    const { link, send, noise } = make();
    const { recorder } = send('1');
    link.say(`{"method":"notifications/message","params":{"data":${deep}}}`);
    link.say(`{"jsonrpc":"2.0","method":"sampling/createMessage","params":{"x":${deep}},"id":1}`);
    expect([noise.length, recorder.ends]).toEqual([2, 0]);
    expect(link.sent.at(-1)?.message).toMatchObject({ id: 1, error: { code: -32700 } });
  });
});

test('a connection answers a server ping immediately, with its original id', () => {
  const { link } = make();
  link.say('{"jsonrpc":"2.0","id":"\\u00fc 1","method":"ping"}');
  expect(link.sent[0]?.text).toBe('{"jsonrpc":"2.0","id":"\\u00fc 1","result":{}}');
});
