// Growing answers in a workspace chat over a socket: one message in the thread grows by edits and becomes the
// answer, also after rate limits, a deletion or a kill.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type AgentProgram,
  eventually,
  httpAgent,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { waitUntilIdle } from '../../fixtures/automation/killed.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import type { Channel } from '../../fixtures/workspace-platform/channel.ts';
import { tooMany } from '../../fixtures/workspace-platform/web-error.ts';
import { WorkspacePlatform } from '../../fixtures/workspace-platform/workspace-platform.ts';

const platform = new WorkspacePlatform({ redeliverMs: 1_000 });
const app = platform.addApp();
let gateway: GatewayProcess;
let program: AgentProgram;
/** Streamed text of the agent, by input. */
const streams = new Map<string, (count: number) => AsyncIterable<string>>();

beforeAll(async () => {
  await platform.start();
  app.deliver = platform.socketsOf(app).bring;
  program = await startAgent(({ body: { input } }) => {
    const count = program.requests.filter(({ body }) => body.input === input).length;
    const stream = streams.get(input)?.(count);
    return stream === undefined ? { status: 400, text: 'no' } : { stream };
  });
  const config = { app_token: app.appToken, bot_token: app.botToken, api_root: platform.apiRoot };
  const retry = { attempts: 3, min_backoff_seconds: 0.2, factor: 2, max_backoff_seconds: 1 };
  gateway = await startAutomation({
    resources: [
      trigger('workspace', { type: 'ChatWorkspace', config, default_agent: 'echo', retry }),
      httpAgent('echo', program.url),
    ],
  });
});
afterAll(() => platform.stop());

const piece = (text: string) => `data: ${JSON.stringify({ delta: text })}`;
const texts = (channel: Channel) => platform.messagesBy(app, channel).map(({ text }) => text);
const expectTexts = (channel: Channel, ...expected: readonly string[]) =>
  eventually(() => expect(texts(channel)).toEqual(expected));
const callsTo = (method: string, { id }: Channel) =>
  platform.callsOf(method).filter(({ channel }) => channel === id);

/** Mentions the bot in a new channel. Returns the channel and the input. */
async function ask(name: string, stream: (channel: Channel, count: number) => AsyncIterable<string>) {
  const channel = platform.addChannel(name, [app]);
  streams.set(name, (count) => stream(channel, count));
  const { ts } = await platform.say(channel, 'U0ANN', `<@${app.user}> ${name}`);
  return { channel, ts };
}

describe.concurrent('a streamed answer', () => {
  test('grows in one message of the thread, across a 429, and becomes the answer', async () => {
    const { channel, ts } = await ask('grows', async function* (place) {
      yield 'event: progress\ndata: Looking…';
      await expectTexts(place, 'Looking…');
      yield piece('Disk');
      await expectTexts(place, 'Disk');
      void platform.fail('chat.update', { kind: 'refuse', error: tooMany(1) }, { channel: place.id });
      yield piece(' full');
      await eventually(() => expect(callsTo('chat.update', place).length).toBeGreaterThan(1));
      yield piece(' on db-2.');
    });
    await expectTexts(channel, 'Disk full on db-2.');
    expect(platform.messagesBy(app, channel)).toMatchObject([{ thread_ts: ts, edited: expect.anything() }]);
    expect(callsTo('chat.postMessage', channel)).toHaveLength(1);
    const times = callsTo('chat.update', channel).map(({ at }) => at);
    const pauses = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(Math.min(...pauses)).toBeGreaterThan(900);
  });

  test('is posted again if its message was deleted', async () => {
    const { channel } = await ask('deleted', async function* (place) {
      yield 'event: progress\ndata: Looking…';
      await expectTexts(place, 'Looking…');
      const at = place.messages.findIndex(({ bot_id }) => bot_id === app.bot);
      place.messages.splice(at, 1);
      yield piece('It is done.');
    });
    await expectTexts(channel, 'It is done.');
  });

  test('that fails is replaced by a notice', async () => {
    const { channel } = await ask('dies', async function* (place) {
      yield 'event: progress\ndata: Looking…';
      await expectTexts(place, 'Looking…');
      yield 'event: error\ndata: x';
    });
    await expectTexts(channel, 'Sorry, that failed and will not be retried.');
  });
});

test('kill -9 between the first text and the answer leaves one message, which becomes the answer', async () => {
  await waitUntilIdle(gateway);
  let isShown = false;
  const { channel } = await ask('killed', async function* (place, count) {
    yield piece(count === 1 ? 'At first' : 'In the end');
    if (count > 1) return;
    await expectTexts(place, 'At first');
    isShown = true;
    await new Promise<never>(() => {});
  });
  await eventually(() => expect(isShown).toBe(true));
  // Unless the message id is stored before the kill, the next process cannot find the message.
  await eventually(async () => {
    const listed = await fetch(`${gateway.url}/deliveries?source=outbox&state=done&limit=1`);
    expect(await listed.text()).toContain('/draft/1');
  });
  await gateway.stop('SIGKILL');
  gateway = await startAutomation({ folder: gateway.folder });
  await expectTexts(channel, 'In the end');
  expect(callsTo('chat.postMessage', channel)).toHaveLength(1);
  const requests = program.requests.filter(({ body }) => body.input === 'killed');
  expect(new Set(requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
});
