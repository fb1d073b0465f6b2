// The connection of an app of a workspace chat over its life, with the whole program: one for its triggers, a socket after the other
// without a gap, kept over reloads, refused and recovered; and what a kill leaves.

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
import { askedUnderOneKey, atRest, saidOnce } from '../../fixtures/automation/killed.ts';
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
/** Inputs that the agent does not answer as long as they are here. */
const held = new Set<string>();

/** The platform takes one message per second and channel. */
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
    await eventually(() => expect(held.has(input)).toBe(false), 60_000);
    return { text: `heard: ${input}` };
  });
  gateway = await startAutomation({ resources: resources() });
  await eventually(() => expect(app.open).toHaveLength(1));
});

afterAll(() => platform.stop());

/** Somebody mentions the bot in a channel. */
function say(text: string, channel = one) {
  const message = channel.add({ user: 'UANN', text: `<@${installed.user}> ${text}` });
  return app.deliver('events_api', callbackPayload(installed, channel, { ...message, type: 'app_mention' }));
}

const answers = () => platform.called('chat.postMessage').map(({ values }) => String(values.text));
const answered = (...texts: readonly string[]) =>
  eventually(() => expect(answers()).toEqual(expect.arrayContaining(texts.map((text) => `heard: ${text}`))));

async function shown(name: string) {
  const { triggers } = (await (await fetch(`${gateway.url}/triggers`)).json()) as {
    triggers: Record<string, unknown>[];
  };
  return triggers.find((each) => each.name === name);
}

test('what comes is answered, and sockets follow each other while it comes, without a gap and without anything twice', async () => {
  const all = [say('first'), say('second', two)];
  await answered('first', 'second');
  for (let n = 0; n < 40; n += 1) {
    if (n % 15 === 5) {
      await eventually(() => expect(app.opened).toBe(1 + Math.floor(n / 15)));
      app.announceEnd(n === 5 ? 'warning' : 'refresh_requested', { closeAfterMs: 2_000 });
    }
    all.push(say(`n ${n}`, busy[n % 20]));
    await new Promise((done) => setTimeout(done, 25));
  }
  await answered(...Array.from({ length: 40 }, (_, n) => `n ${n}`));
  await eventually(() => expect(all.every(({ ackedAt }) => ackedAt !== undefined)).toBe(true));
  await eventually(() => expect([app.opened, app.open.length]).toEqual([4, 1]));
  // Each was acknowledged on the socket on which it came first, but for one that came as a socket was being closed.
  expect(all.filter(({ ids }) => ids.length > 1).length).toBeLessThanOrEqual(3);
  expect(app).toMatchObject({ aloneMs: 0, strange: [] });
  expect(new Set(answers()).size).toBe(answers().length);
});

test('a reload keeps the socket; a second trigger, and one that goes, open and close none', async () => {
  const [socket] = app.open;
  const { opened } = app;
  writeResources(gateway.folder, [...resources({ on_failure: 'silent' }), opsOf('three', [three])]);
  await fetch(`${gateway.url}/admin/reload`, { method: 'POST' });
  await eventually(async () => expect(await shown('three')).toMatchObject({ state: 'open' }));
  say('after a reload', three);
  await answered('after a reload');
  expect(app.open).toEqual([socket]);
  expect(app.opened).toBe(opened);
});

test('a bot token that a reload brings and the platform refuses is the failure of its trigger alone', async () => {
  const [socket] = app.open;
  const refused = opsOf('three', [three], {}, { bot_token: 'xoxb-1-2-nobody' });
  writeResources(gateway.folder, [...resources(), refused]);
  await fetch(`${gateway.url}/admin/reload`, { method: 'POST' });
  await eventually(async () =>
    expect(await shown('three')).toMatchObject({
      state: 'failed',
      last_error: expect.stringContaining('invalid_auth'),
    }),
  );
  say('beside a refused one');
  await answered('beside a refused one');
  expect(await shown('one')).toMatchObject({ state: 'open', last_error: null });
  expect(app.open).toEqual([socket]);
  writeResources(gateway.folder, [...resources(), opsOf('three', [three])]);
  await fetch(`${gateway.url}/admin/reload`, { method: 'POST' });
  await eventually(async () =>
    expect(await shown('three')).toMatchObject({ state: 'open', last_error: null }),
  );
});

test('socket mode that is switched off is the failure of all triggers in that word, and is over when it is on', async () => {
  app.announceEnd('link_disabled');
  for (const name of ['one', 'two'])
    await eventually(async () =>
      expect(await shown(name)).toMatchObject({
        state: 'failed',
        last_error: expect.stringContaining('link_disabled'),
      }),
    );
  const meanwhile = say('while it was off');
  await answered('while it was off');
  expect(meanwhile.ackedAt).toBeDefined();
  for (const name of ['one', 'two'])
    await eventually(async () =>
      expect(await shown(name)).toMatchObject({ state: 'open', last_error: null }),
    );
});

test('a kill before the acknowledgement, or after it, loses nothing, and each is asked under one key and answered once', async () => {
  await atRest(gateway);
  const [socket] = app.open;
  for (const text of ['acked and asked', 'kept and asked']) held.add(text);
  const acked = say('acked and asked');
  await eventually(() => expect(acked.ackedAt).toBeDefined());
  // Whatever is acknowledged from now on does not arrive.
  const unheard = [say('kept and answered'), say('kept and asked')];
  socket?.fallSilent();
  await answered('kept and answered');
  const asked = (text: string) => program.requests.filter(({ body }) => body.input === text).length;
  await eventually(() => expect([asked('acked and asked'), asked('kept and asked')]).toEqual([1, 1]));
  expect(unheard.map(({ ackedAt }) => ackedAt)).toEqual([undefined, undefined]);
  // Those that are asked about, and nothing else: what was sent is known to be sent.
  await eventually(async () => {
    const open = await fetch(`${gateway.url}/deliveries?state=queued,running,retrying,waiting`);
    expect(((await open.json()) as { deliveries: unknown[] }).deliveries).toHaveLength(2);
  });
  await gateway.stop('SIGKILL');
  held.clear();
  gateway = await startAutomation({ folder: gateway.folder });
  await answered('acked and asked', 'kept and asked');
  await eventually(() => expect(unheard.every(({ ackedAt }) => ackedAt !== undefined)).toBe(true));
  await atRest(gateway);
  const times = askedUnderOneKey(program);
  expect(times.get('kept and answered')).toBe(1);
  const all = [...times.keys()].map((input) => `heard: ${input}`);
  saidOnce(answers(), all);
});

test('a platform that never says who the bot is brings what people say all the same', async () => {
  await gateway.stop();
  platform.methods.delete('auth.test');
  // Nothing is known of it from before.
  gateway = await startAutomation({ resources: resources() });
  const message = one.add({ user: 'UANN', text: `<@${installed.user}> without a name` });
  const told = callbackPayload(installed, one, { ...message, type: 'app_mention' });
  app.deliver('events_api', { ...told, authorizations: undefined });
  await answered('without a name');
  expect(await shown('one')).toMatchObject({ state: 'open', last_error: null });
});

test('no token, and no address of a socket, is in the log or in what is shown', async () => {
  const deliveries = await (await fetch(`${gateway.url}/deliveries`)).text();
  const seen = [
    gateway.text(),
    deliveries,
    JSON.stringify(program.requests),
    JSON.stringify(await shown('one')),
  ];
  for (const text of seen)
    for (const secret of [installed.appToken, installed.botToken, 'ticket='])
      expect(text).not.toContain(secret);
});
