// Which calls of a connection pause their limits while a client answers a question of the server.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ConnectionLostError } from '../../../../../../actors/base/errors/errors.ts';
import { readServerMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import {
  FakeManagedServer,
  FakeOwner,
  ResponseRecorder,
  settle,
} from '../../../../../fixtures/server/fake-server.ts';

const question = { jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: { message: '?' } };

let managed: FakeManagedServer;
let owner: FakeOwner;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  managed = new FakeManagedServer({ isolation: 'session', pool: { max: 2, in_flight: 8, waiting: 8 } });
  owner = new FakeOwner('ann', { elicitation: {} });
});

afterEach(() => {
  managed.end();
  vi.useRealTimers();
});

async function call(marker: string) {
  const { recorder, call: sent } = managed.call(owner, '1', marker);
  await settle();
  return { recorder, sent, id: managed.link.calls.at(-1)?.call };
}

/** Sends a question, and pauses like the client's session. */
function sendQuestion(callId?: number) {
  managed.link.say(question, callId);
  const { connection, call: linked } = owner.received.at(-1) as (typeof owner.received)[number];
  connection.pause(question, linked);
  return { connection, answer: () => connection.resume(question) };
}

test('a server question without a call pauses the calls in flight, but not later calls', async () => {
  const [one, two] = [await call('a'), await call('b')];
  const { answer } = sendQuestion();
  const later = await call('c');
  vi.advanceTimersByTime(60_000);
  expect([one, two, later].map(({ recorder }) => recorder.ends)).toEqual([0, 0, 1]);
  answer();
  vi.advanceTimersByTime(59_999);
  expect([one, two].map(({ recorder }) => recorder.ends)).toEqual([0, 0]);
  vi.advanceTimersByTime(1);
  expect([one, two].map(({ recorder }) => recorder.ends)).toEqual([1, 1]);
});

test('a server question on the stream of a call pauses this call only', async () => {
  const [one, two] = [await call('a'), await call('b')];
  sendQuestion(one.id as number);
  vi.advanceTimersByTime(60_000);
  expect([one, two].map(({ recorder }) => recorder.ends)).toEqual([0, 1]);
});

test('the deadline of a request by the gateway itself is not paused by a server question', async () => {
  await call('a');
  const { connection } = sendQuestion();
  const ping = connection.ping(5_000).then(
    () => 'pong',
    () => 'no pong',
  );
  connection.pause({}, undefined);
  vi.advanceTimersByTime(5_000);
  expect(await ping).toBe('no pong');
});

test('the deadline of a call paused by a server question runs again after the undelivered call is resent', async () => {
  const { recorder, id } = await call('a');
  sendQuestion();
  managed.link.undelivered(id as number, new ConnectionLostError('refused'), false);
  await settle();
  vi.advanceTimersByTime(60_000);
  expect(recorder.ends).toBe(1);
});

test('the call for the result of a task continues the pause of the call that created it', async () => {
  const { sent, id } = await call('a');
  const { answer } = sendQuestion();
  managed.link.answer(id, { task: { taskId: 't' } });
  const text = '{"jsonrpc":"2.0","id":0,"method":"tasks/result","params":{}}';
  const envelope = readServerMessage(Buffer.from(text));
  const recorder = new ResponseRecorder();
  managed.server.handle.accept({ envelope, exchange: recorder, owner, continues: sent });
  vi.advanceTimersByTime(590_000);
  answer();
  vi.advanceTimersByTime(599_999);
  expect(recorder.ends).toBe(0);
  vi.advanceTimersByTime(1);
  expect(recorder.ends).toBe(1);
});
