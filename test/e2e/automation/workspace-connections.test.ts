// Socket connections of workspace chat apps, with the whole program: shared by triggers, replaced with no
// gap, kept across reloads, refused, recovered and killed.

import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type AgentProgram,
  eventually,
  httpAgent,
  startAgent,
  startAutomation,
  trigger,
  writeResources,
} from '../../fixtures/automation/automation.ts';
import { expectOneKeyPerInput, expectSentOnce, waitUntilIdle } from '../../fixtures/automation/killed.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import type { Channel } from '../../fixtures/workspace-platform/channel.ts';
import { callbackPayload } from '../../fixtures/workspace-platform/payloads.ts';
import { WorkspacePlatform } from '../../fixtures/workspace-platform/workspace-platform.ts';

const platform = new WorkspacePlatform({ redeliverMs: 1_000, pingMs: 500 });
const installed = platform.addApp('A0111');
const app = platform.socketsOf(installed);
const newChannel = (name: string) => platform.addChannel(name, [installed]);
const [one, two, three] = [newChannel('one'), newChannel('two'), newChannel('three')];
let program: AgentProgram;
let gateway: GatewayProcess;
/** Inputs that the agent does not answer yet. */
const heldInputs = new Set<string>();

/** The platform accepts one message per second and channel. */
const busy = Array.from({ length: 20 }, (_, n) => newChannel(`busy-${n}`));

const opsOf = (name: string, channels: readonly Channel[], more: object = {}, config: object = {}) =>
  trigger(name, {
    type: 'ChatWorkspace',
    config: {
      app_token: installed.appToken,
      bot_token: installed.botToken,
      api_root: platform.apiRoot,
      channels: channels.map(({ id }) => id),
      ...config,
    },
    default_agent: 'echo',
    ...more,
  });
const resources = (more: object = {}) => [
  opsOf('one', [one], more),
  opsOf('two', [two, ...busy]),
  httpAgent('echo', program.url),
];

beforeAll(async () => {
  await platform.start();
  program = await startAgent(async ({ body: { input } }) => {
    await eventually(() => expect(heldInputs.has(input)).toBe(false), 60_000);
    return { text: `heard: ${input}` };
  });
  gateway = await startAutomation({ resources: resources() });
  await eventually(() => expect(app.open).toHaveLength(1));
});

afterAll(() => platform.stop());

/** Mentions the bot in a channel. */
function say(text: string, channel = one) {
  const message = channel.add({ user: 'UANN', text: `<@${installed.user}> ${text}` });
  return app.deliver('events_api', callbackPayload(installed, channel, { ...message, type: 'app_mention' }));
}

const answers = () => platform.callsOf('chat.postMessage').map(({ values }) => String(values.text));
const expectAnswers = (...texts: readonly string[]) =>
  eventually(() => expect(answers()).toEqual(expect.arrayContaining(texts.map((text) => `heard: ${text}`))));

async function connectionOf(name: string) {
  const { triggers } = (await (await fetch(`${gateway.url}/triggers`)).json()) as {
    triggers: Record<string, unknown>[];
  };
  return triggers.find((each) => each.name === name);
}

test('messages are answered while the platform replaces the socket, without a gap and without duplicates', async () => {
  const all = [say('first'), say('second', two)];
  await expectAnswers('first', 'second');
  for (let n = 0; n < 40; n += 1) {
    if (n % 15 === 5) {
      await eventually(() => expect(app.opened).toBe(1 + Math.floor(n / 15)));
      app.announceEnd(n === 5 ? 'warning' : 'refresh_requested', { closeAfterMs: 2_000 });
    }
    all.push(say(`n ${n}`, busy[n % 20]));
    await new Promise((done) => setTimeout(done, 25));
  }
  await expectAnswers(...Array.from({ length: 40 }, (_, n) => `n ${n}`));
  await eventually(() => expect(all.every(({ ackedAt }) => ackedAt !== undefined)).toBe(true));
  await eventually(() => expect([app.opened, app.open.length]).toEqual([4, 1]));
  // A redelivery occurs only if the first socket was being closed.
  expect(all.filter(({ ids }) => ids.length > 1).length).toBeLessThanOrEqual(3);
  expect(app).toMatchObject({ withoutSocketMs: 0, unexpectedMessages: [] });
  expect(new Set(answers()).size).toBe(answers().length);
});

test('a reload keeps the socket, also if it adds or removes a second trigger', async () => {
  const [socket] = app.open;
  const { opened } = app;
  writeResources(gateway.folder, [...resources({ on_failure: 'silent' }), opsOf('three', [three])]);
  await fetch(`${gateway.url}/admin/reload`, { method: 'POST' });
  await eventually(async () => expect(await connectionOf('three')).toMatchObject({ state: 'open' }));
  say('after a reload', three);
  await expectAnswers('after a reload');
  expect(app.open).toEqual([socket]);
  expect(app.opened).toBe(opened);
});

test('a bot token rejected after a reload fails only the trigger with that token', async () => {
  const [socket] = app.open;
  const invalidApp = opsOf('three', [three], {}, { bot_token: 'xoxb-1-2-nobody' });
  writeResources(gateway.folder, [...resources(), invalidApp]);
  await fetch(`${gateway.url}/admin/reload`, { method: 'POST' });
  await eventually(async () =>
    expect(await connectionOf('three')).toMatchObject({
      state: 'failed',
      last_error: expect.stringContaining('invalid_auth'),
    }),
  );
  say('beside a refused one');
  await expectAnswers('beside a refused one');
  expect(await connectionOf('one')).toMatchObject({ state: 'open', last_error: null });
  expect(app.open).toEqual([socket]);
  writeResources(gateway.folder, [...resources(), opsOf('three', [three])]);
  await fetch(`${gateway.url}/admin/reload`, { method: 'POST' });
  await eventually(async () =>
    expect(await connectionOf('three')).toMatchObject({ state: 'open', last_error: null }),
  );
});

test('disabled socket mode fails all triggers with the error of the platform, until it is enabled', async () => {
  app.announceEnd('link_disabled');
  for (const name of ['one', 'two'])
    await eventually(async () =>
      expect(await connectionOf(name)).toMatchObject({
        state: 'failed',
        last_error: expect.stringContaining('link_disabled'),
      }),
    );
  const meanwhile = say('while it was off');
  await expectAnswers('while it was off');
  expect(meanwhile.ackedAt).toBeDefined();
  for (const name of ['one', 'two'])
    await eventually(async () =>
      expect(await connectionOf(name)).toMatchObject({ state: 'open', last_error: null }),
    );
});

test('a kill around an acknowledgement loses no message; agent requests keep their key, and answers are sent once', async () => {
  await waitUntilIdle(gateway);
  const [socket] = app.open;
  for (const text of ['acked and asked', 'kept and asked']) heldInputs.add(text);
  const acked = say('acked and asked');
  await eventually(() => expect(acked.ackedAt).toBeDefined());
  // From now on, acknowledgements do not arrive.
  const unheard = [say('kept and answered'), say('kept and asked')];
  socket?.fallSilent();
  await expectAnswers('kept and answered');
  const requestsFor = (text: string) => program.requests.filter(({ body }) => body.input === text).length;
  await eventually(() =>
    expect([requestsFor('acked and asked'), requestsFor('kept and asked')]).toEqual([1, 1]),
  );
  expect(unheard.map(({ ackedAt }) => ackedAt)).toEqual([undefined, undefined]);
  // The gateway searches only for messages with an unknown outcome. Acknowledged messages were sent.
  await eventually(async () => {
    const open = await fetch(`${gateway.url}/deliveries?state=queued,running,retrying,waiting`);
    expect(((await open.json()) as { deliveries: unknown[] }).deliveries).toHaveLength(2);
  });
  await gateway.stop('SIGKILL');
  heldInputs.clear();
  gateway = await startAutomation({ folder: gateway.folder });
  await expectAnswers('acked and asked', 'kept and asked');
  await eventually(() => expect(unheard.every(({ ackedAt }) => ackedAt !== undefined)).toBe(true));
  await waitUntilIdle(gateway);
  const times = expectOneKeyPerInput(program);
  expect(times.get('kept and answered')).toBe(1);
  const all = [...times.keys()].map((input) => `heard: ${input}`);
  expectSentOnce(answers(), all);
});

test('messages are handled although the platform never returns the bot identity', async () => {
  await gateway.stop();
  platform.methods.delete('auth.test');
  gateway = await startAutomation({ resources: resources() });
  const message = one.add({ user: 'UANN', text: `<@${installed.user}> without a name` });
  const payload = callbackPayload(installed, one, { ...message, type: 'app_mention' });
  app.deliver('events_api', { ...payload, authorizations: undefined });
  await expectAnswers('without a name');
  expect(await connectionOf('one')).toMatchObject({ state: 'open', last_error: null });
});

test('no token and no socket address is in the log or in a response', async () => {
  const deliveries = await (await fetch(`${gateway.url}/deliveries`)).text();
  const texts = [
    gateway.text(),
    deliveries,
    JSON.stringify(program.requests),
    JSON.stringify(await connectionOf('one')),
  ];
  for (const text of texts)
    for (const secret of [installed.appToken, installed.botToken, 'ticket='])
      expect(text).not.toContain(secret);
});
