// Webhooks of the fake platform to ChatWorkspace triggers, over real sockets.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { InboundEvent } from '../../../../../actors/events/inbound-event.ts';
import type { Adapter } from '../../../../../actors/platforms/adapter.ts';
import { chatWorkspaceAdapter } from '../../../../../actors/platforms/chatworkspace/adapter.ts';
import type { StoredApproval } from '../../../../../actors/store/approval.ts';
import type { ChatWorkspaceTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { eventually } from '../../../../fixtures/automation/automation.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import { chatWorkspaceTrigger } from '../../../../fixtures/automation/triggers.ts';
import { App } from '../../../../fixtures/workspace-platform/app.ts';
import type { Channel } from '../../../../fixtures/workspace-platform/channel.ts';
import { EventSender } from '../../../../fixtures/workspace-platform/event-sender.ts';
import { callbackPayload } from '../../../../fixtures/workspace-platform/payloads.ts';
import { WebError } from '../../../../fixtures/workspace-platform/web-error.ts';
import { type Method, webMethods } from '../../../../fixtures/workspace-platform/web-methods.ts';
import { WorkspacePlatform } from '../../../../fixtures/workspace-platform/workspace-platform.ts';

const PATH = '/webhook/chatworkspace';

let host: TestSourceHost;
let platform: WorkspacePlatform;
let app: App;
let channel: Channel;
let adapter: Adapter<ChatWorkspaceTrigger>;
let closers: (() => Promise<void>)[] = [];

beforeEach(async () => {
  host = await new TestSourceHost().start();
  platform = await new WorkspacePlatform().start();
  app = platform.addApp('A1');
  channel = platform.addChannel('ops', [app]);
  adapter = chatWorkspaceAdapter(adapterServices(host));
});
afterEach(async () => {
  for (const end of closers) await end();
  closers = [];
  await host.stop();
  await platform.stop();
});

async function open(config: Partial<ChatWorkspaceTrigger['config']> = {}, name = 'desk', of = app) {
  const { id: app_id, botToken: bot_token, signingSecret: signing_secret } = of;
  const fullConfig = { app_id, bot_token, signing_secret, api_root: platform.apiRoot, ...config };
  const trigger = chatWorkspaceTrigger(name, fullConfig);
  const opened = await adapter.open(trigger, host);
  closers.push(() => opened.close());
  of.deliver = senderOf(of).deliver;
  return trigger;
}

const senderOf = (of = app) =>
  new EventSender({ url: host.url + PATH, signingSecret: of.signingSecret, maxAttempts: 3 });
const last = () => adapter.read(host.event());
const expectIdentified = () => eventually(() => expect(platform.callsOf('auth.test')).not.toHaveLength(0));
const ids = () => host.store.events.map(({ id }) => id);

describe('a reaction to a message', () => {
  test('is stored only if it can be a decision about a pending approval on a message of the bot', async () => {
    await open();
    await expectIdentified();
    const ownMessage = channel.add({ user: app.user, bot_id: app.bot, text: 'May I?' });
    const userMessage = channel.add({ user: 'U0BEN', text: 'May I?' });
    await platform.react(channel, 'U0ANN', ownMessage, '+1');
    expect(host.store.events).toEqual([]);
    host.store.approvals = async () => [{} as StoredApproval];
    await platform.react(channel, 'U0ANN', ownMessage, 'eyes');
    await platform.react(channel, 'U0ANN', userMessage, '+1');
    await platform.react(channel, app.user, ownMessage, '+1');
    expect(host.store.events).toEqual([]);
    await platform.react(channel, 'U0ANN', ownMessage, 'x');
    expect(last()).toMatchObject({
      decision: { verdict: 'deny', about: { message: ownMessage.ts } },
      user: 'U0ANN',
      triggers: ['desk'],
    });
    expect(host.store.events.length).toBe(1);
  });
});

describe('a webhook request', () => {
  test('without a valid signature is rejected, even if it is a handshake', async () => {
    await open();
    const challenge = JSON.stringify({ type: 'url_verification', challenge: 'c' });
    const sender = senderOf();
    expect(await sender.post(challenge, { secret: 'another' })).toMatchObject({ status: 401 });
    expect(await sender.post('{', { secret: 'another' })).toMatchObject({ status: 401 });
    const bare = await fetch(host.url + PATH, { method: 'POST', body: challenge });
    expect(bare.status).toBe(401);
    expect((await fetch(host.url + PATH)).status).toBe(405);
  });

  test("that exceeds the platform's size limit is rejected before the signature check", async () => {
    await open();
    expect(await senderOf().post(' '.repeat(4 * 2 ** 20), { secret: 'another' })).toMatchObject({
      status: 401,
    });
    expect(await senderOf().post(' '.repeat(4 * 2 ** 20 + 1))).toMatchObject({ status: 413 });
  });

  test('with a handshake returns its challenge', async () => {
    await open();
    await senderOf().subscribe();
  });

  test('that is no JSON object is rejected, and one with an unknown payload type gets 200', async () => {
    await open();
    const sender = senderOf();
    expect(await sender.post('{')).toMatchObject({ status: 400 });
    expect(await sender.post('[]')).toMatchObject({ status: 400 });
    const form = { type: 'application/x-www-form-urlencoded' };
    expect(await sender.post('payload=%7B', form)).toMatchObject({ status: 400 });
    for (const payload of [{ type: 'app_rate_limited' }, { type: 'event_callback' }, { type: 'tomorrow' }])
      expect((await sender.send('events_api', payload)).status).toBe(200);
    expect(await sender.post('ssl_check=1&token=t', form)).toEqual({ status: 200, text: '' });
    expect(host.store.events).toEqual([]);
  });

  test('with a command or a button press gets an empty response, since the chat would show a body', async () => {
    await open();
    const sender = senderOf();
    app.deliver = (kind, payload) => sender.send(kind, payload);
    await platform.command(app, channel, 'UANN', '/deploy', 'prod');
    expect(last()).toMatchObject({ names: ['/deploy'], commandRest: 'prod' });
    const message = channel.add({ user: app.user, bot_id: app.bot, text: 'choose' });
    await platform.press(app, channel, 'UANN', message, { type: 'button', action_id: 'ship' });
    expect(last()).toMatchObject({ names: ['ship'] });
    expect(sender.sent.map(({ status, text }) => [status, text])).toEqual([
      [200, ''],
      [200, ''],
    ]);
    expect(host.store.events.map(({ body }) => Buffer.from(body).toString()).join()).not.toMatch(
      /hooks\.slack\.com/,
    );
  });
});

describe('a message', () => {
  test('is stored once, even if it is delivered several times as mention and as message', async () => {
    await open();
    await expectIdentified();
    const sender = senderOf();
    const kinds = fc.array(fc.constantFrom('app_mention', 'message'), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(kinds, async (types) => {
        const before = host.store.events.length;
        const { type: _, ...said } = channel.add({ user: 'UANN', text: `<@${app.user}> hello` });
        const statuses = await Promise.all(
          types.map((type) => sender.send('events_api', callbackPayload(app, channel, { ...said, type }))),
        );
        for (const { status } of statuses) expect([200, 202]).toContain(status);
        expect(host.store.events.length).toBe(before + 1);
        expect(last()).toMatchObject({ text: 'hello', context: { 'chat.event': 'mention' } });
      }),
      { numRuns: 25 },
    );
  });

  test('in a channel with two bot apps becomes one event per app, in separate conversations', async () => {
    const other = platform.addApp('A2');
    channel.members.add(other.user);
    await open();
    await open({}, 'other', other);
    app.events = ['message'];
    other.events = ['message'];
    const { ts } = await platform.say(channel, 'UANN', 'hello');
    expect(ids()).toEqual([`chatworkspace:A1/${channel.id}/${ts}`, `chatworkspace:A2/${channel.id}/${ts}`]);
    expect(host.store.events.map(({ meta }) => (JSON.parse(meta) as { triggers: unknown }).triggers)).toEqual(
      [['desk'], ['other']],
    );
  });

  test('of this bot is ignored, and a message of another bot is accepted if the trigger allows bots', async () => {
    const answering = await open({ bots: 'allow' });
    const ignoring = await open({}, 'ignoring');
    await platform.say(channel, app.user, 'mine', { bot_id: app.bot });
    await platform.say(channel, 'UOTHER', 'mine as well', { bot_id: app.bot });
    expect(ids()).toEqual([]);
    await platform.say(channel, 'UOTHER', 'not mine', { bot_id: 'B9' });
    expect(last().triggers).toEqual([answering.name]);
    expect(adapter.accepts?.(answering, last())).toBe(true);
    expect(adapter.accepts?.(ignoring, last())).toBe(false);
  });

  test('that arrives before the bot identity is known is stored, and matched once it is known', async () => {
    const { 'auth.test': authTest } = webMethods;
    platform.methods.set('auth.test', () => {
      throw new WebError('internal_error');
    });
    const trigger = await open({ bots: 'allow' });
    const unnamed = (ts: string, more: object) => {
      const messageEvent = { type: 'message', ts, text: `<@${app.user}> hello`, ...more };
      const { authorizations: _, ...payload } = callbackPayload(app, channel, messageEvent);
      return payload;
    };
    const sender = senderOf();
    const messageEvents = [
      { user: 'UANN' },
      { user: app.user, bot_id: app.bot },
      { user: 'UOTHER', bot_id: 'B9' },
    ];
    for (const [index, more] of messageEvents.entries())
      expect(await sender.send('events_api', unnamed(`1.${index}`, more))).toMatchObject({ status: 202 });
    expect(ids().map((id) => id.split('/').at(-1))).toEqual(['1.0', '1.1', '1.2']);
    const addLookups = (index: number) => adapter.addLookups?.(adapter.read(host.event(index)), [trigger]);
    expect(await addLookups(0)).toMatchObject({ text: `<@${app.user}> hello` });
    for (const index of [1, 2])
      await expect(addLookups(index)).rejects.toMatchObject({ isRateLimited: true });
    const before = platform.callsOf('auth.test').length;
    await Promise.all(Array.from({ length: 20 }, () => addLookups(1)?.catch(() => {})));
    expect(platform.callsOf('auth.test').length).toBeLessThan(before + 3);
    platform.methods.set('auth.test', authTest as Method);
    await eventually(async () => expect(await addLookups(1)).toBeUndefined());
    const read = [0, 1, 2].map((index) => adapter.read(host.event(index)));
    expect(read.map((event) => adapter.accepts?.(trigger, event))).toEqual([true, false, true]);
    expect(read[0]).toMatchObject({ text: 'hello', context: { 'chat.event': 'mention' } });
  });

  test('of a bot is not stored if no trigger accepts bots', async () => {
    await open();
    await open({}, 'second');
    await platform.say(channel, 'UOTHER', 'not mine', { bot_id: 'B9' });
    expect(ids()).toEqual([]);
  });

  describe('in one of several workspaces', () => {
    const otherTeam = { team_id: 'T9', context_team_id: 'T9', authorizations: [{ team_id: 'T9' }] };
    const say = async (ts: string, more: object = {}) => {
      const messageEvent = { type: 'message', ts, user: 'UANN', text: 'hello' };
      await senderOf().send('events_api', { ...callbackPayload(app, channel, messageEvent), ...more });
      return last();
    };
    /** Installs the same app in another workspace. */
    const install = () => {
      const there = new App({ id: app.id, team: 'T9', name: 'there' });
      there.botToken = 'xoxb-9009-2002-bot-token-there';
      platform.apps.push(there);
      return there;
    };

    test('is accepted by the trigger whose bot is there, or by any if no bot is known', async () => {
      const here = await open();
      await expectIdentified();
      await eventually(async () => expect(adapter.accepts?.(here, await say('1.2', otherTeam))).toBe(true));
      const there = await open({}, 'there', install());
      const accepts = (event: InboundEvent) => [here, there].map((each) => adapter.accepts?.(each, event));
      await eventually(async () => expect(accepts(await say('1.3'))).toEqual([true, false]));
      await eventually(() =>
        expect(accepts(host.event(0) && adapter.read(host.event(0)))).toEqual([false, true]),
      );
      expect(accepts(await say('1.4', otherTeam))).toEqual([false, true]);
      expect(JSON.parse(host.event().meta)).toMatchObject({ triggers: ['there'] });
    });

    test('waits while several bots are unidentified, then reaches only its own trigger', async () => {
      const { 'auth.test': authTest } = webMethods;
      const unidentified = new Set([app.name, 'there']);
      platform.methods.set('auth.test', (call) => {
        if (unidentified.has(call.app.name)) throw new WebError('internal_error');
        return (authTest as Method)(call);
      });
      const here = await open();
      const there = await open({}, 'there', install());
      const addLookups = (event: InboundEvent) => adapter.addLookups?.(event, [here, there]);
      await expect(addLookups(await say('1.2', otherTeam))).rejects.toMatchObject({ isRateLimited: true });
      unidentified.delete(app.name);
      await eventually(async () => expect(await addLookups(last())).toMatchObject({ text: 'hello' }));
      expect([here, there].map((each) => adapter.accepts?.(each, last()))).toEqual([false, true]);
      expect([here, there].map((each) => adapter.accepts?.(each, adapter.read(host.event(0))))).toEqual([
        false,
        true,
      ]);
    });
  });

  test('is accepted as a mention or as a message, depending on the events that the trigger lists', async () => {
    const mentions = await open({ events: ['app_mention'] }, 'mentions');
    const messages = await open({ events: ['message'] }, 'messages');
    const accepts = () => [mentions, messages].map((trigger) => adapter.accepts?.(trigger, last()));
    app.events = ['message'];
    await platform.say(channel, 'UANN', 'hello');
    expect(accepts()).toEqual([false, true]);
    await platform.say(channel, 'UANN', `<@${app.user}> hello`);
    expect(accepts()).toEqual([true, true]);
    app.events = ['app_mention'];
    await platform.say(channel, 'UANN', `<@${app.user}> hello`);
    expect(accepts()).toEqual([true, true]);
    await platform.command(app, channel, 'UANN', '/deploy', '');
    expect(accepts()).toEqual([true, true]);
  });
});

test('when a member joins a channel, an event is created only if the member is the bot itself', async () => {
  await open();
  const memberJoined = (user: string) =>
    callbackPayload(app, channel, { type: 'member_joined_channel', user, event_ts: '1.5' });
  await senderOf().send('events_api', memberJoined('UANN'));
  expect(ids()).toEqual([]);
  await senderOf().send('events_api', memberJoined(app.user));
  expect(last()).toMatchObject({ isArrival: true, text: undefined, names: [] });
  expect(adapter.outbound?.target(chatWorkspaceTrigger('t'), last())).toEqual({
    place: channel.id,
    thread: undefined,
  });
});

test('messages of other bots are not limited in number if each starts its own thread in the channel', async () => {
  await open({ bots: 'allow' });
  for (let n = 0; n < 12; n += 1) await platform.say(channel, 'UMONITOR', `alarm ${n}`, { bot_id: 'B9' });
  expect(ids()).toHaveLength(12);
});

test('messages of other bots in one thread are ignored after the tenth, until a person writes', async () => {
  await open({ bots: 'allow' });
  const thread = channel.add({ user: 'UANN', text: 'begin' }).ts;
  for (let n = 0; n < 12; n += 1)
    await platform.say(channel, 'UOTHER', `${n}`, { bot_id: 'B9', thread_ts: thread });
  expect(ids()).toHaveLength(10);
  expect(host.lines.map(({ message }) => message)).toContainEqual(
    expect.stringContaining('bots answer each other'),
  );
  await platform.say(channel, 'UANN', 'stop', { thread_ts: thread });
  await platform.say(channel, 'UOTHER', 'more', { bot_id: 'B9', thread_ts: thread });
  expect(ids()).toHaveLength(12);
});

test('a refused bot token is reported as failure of its trigger', async () => {
  void platform.fail('auth.test', { kind: 'refuse', error: new WebError('invalid_auth') });
  await open();
  await eventually(() =>
    expect(host.refusals).toEqual([expect.stringContaining('invalid_auth the token is not accepted')]),
  );
  expect(JSON.stringify(host.lines)).not.toContain(app.botToken);
});

test('a bot token that is revoked later fails only outbound messages', async () => {
  const trigger = await open();
  await expectIdentified();
  for (const method of ['auth.test', 'chat.postMessage'])
    void platform.fail(method, { kind: 'refuse', error: new WebError('token_revoked') });
  const message = { target: { place: channel.id }, action: { do: 'post' }, text: 'hi' } as const;
  const [rendered] = adapter.outbound?.render(trigger, message) ?? [];
  const sending = adapter.outbound?.send(trigger, rendered ?? {}, {
    signal: AbortSignal.timeout(10_000),
    rowId: 'row',
    createdAt: Date.now(),
    wasTried: false,
    receiptOf: async () => undefined,
  });
  await expect(sending).rejects.toThrow('token_revoked');
  await platform.say(channel, 'UANN', 'is it still taken?');
  expect(ids()).toHaveLength(1);
  expect(platform.callsOf('auth.test')).toHaveLength(1);
  expect(host.refusals).toEqual([]);
});

test('the identity of a bot is stored, and requested once for all its triggers', async () => {
  const put = vi.spyOn(host.store, 'put');
  await open();
  await open({}, 'second');
  await expectIdentified();
  await platform.say(channel, 'UANN', 'hello');
  expect(platform.callsOf('auth.test')).toHaveLength(1);
  // Entries for unused tokens are removed.
  expect(put.mock.calls).toEqual([
    ['chatworkspace-bots', expect.any(String), expect.any(String), { ttlMs: expect.any(Number) }],
  ]);
  platform.isUnavailable = true;
  adapter = chatWorkspaceAdapter(adapterServices(host));
  await open({ path: '/again' }, 'again');
  const payload = callbackPayload(app, channel, { type: 'message', ts: '1.9', user: app.user, text: 'mine' });
  const secondSender = new EventSender({ url: `${host.url}/again`, signingSecret: app.signingSecret });
  expect(await secondSender.send('events_api', payload)).toMatchObject({ status: 200 });
});
