// What comes to triggers of type ChatWorkspace by HTTP over real sockets, signed by the fake of the platform.

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
let ends: (() => Promise<void>)[] = [];

beforeEach(async () => {
  host = await new TestSourceHost().start();
  platform = await new WorkspacePlatform().start();
  app = platform.addApp('A1');
  channel = platform.addChannel('ops', [app]);
  adapter = chatWorkspaceAdapter(adapterServices(host));
});
afterEach(async () => {
  for (const end of ends) await end();
  ends = [];
  await host.stop();
  await platform.stop();
});

async function open(config: Partial<ChatWorkspaceTrigger['config']> = {}, name = 'desk', of = app) {
  const { id: app_id, botToken: bot_token, signingSecret: signing_secret } = of;
  const given = { app_id, bot_token, signing_secret, api_root: platform.apiRoot, ...config };
  const trigger = chatWorkspaceTrigger(name, given);
  const opened = await adapter.open(trigger, host);
  ends.push(() => opened.close());
  of.deliver = senderOf(of).deliver;
  return trigger;
}

const senderOf = (of = app) =>
  new EventSender({ url: host.url + PATH, signingSecret: of.signingSecret, maxAttempts: 3 });
const last = () => adapter.read(host.event());
const identified = () => eventually(() => expect(platform.called('auth.test')).not.toHaveLength(0));
const ids = () => host.store.events.map(({ id }) => id);

describe('a mark on a message', () => {
  test('is kept only while something waits to be approved, if it decides, and if the message may be ours (CHD3)', async () => {
    await open();
    await identified();
    const ours = channel.add({ user: app.user, bot_id: app.bot, text: 'May I?' });
    const theirs = channel.add({ user: 'U0BEN', text: 'May I?' });
    await platform.react(channel, 'U0ANN', ours, '+1');
    expect(host.store.events).toEqual([]);
    host.store.approvals = async () => [{} as StoredApproval];
    await platform.react(channel, 'U0ANN', ours, 'eyes');
    await platform.react(channel, 'U0ANN', theirs, '+1');
    await platform.react(channel, app.user, ours, '+1');
    expect(host.store.events).toEqual([]);
    await platform.react(channel, 'U0ANN', ours, 'x');
    expect(last()).toMatchObject({
      decision: { verdict: 'deny', about: { message: ours.ts } },
      user: 'U0ANN',
      triggers: ['desk'],
    });
    expect(host.store.events.length).toBe(1);
  });
});

describe('a request', () => {
  test('that proves nothing is refused, the handshake as well', async () => {
    await open();
    const challenge = JSON.stringify({ type: 'url_verification', challenge: 'c' });
    const sender = senderOf();
    expect(await sender.post(challenge, { secret: 'another' })).toMatchObject({ status: 401 });
    expect(await sender.post('{', { secret: 'another' })).toMatchObject({ status: 401 });
    const bare = await fetch(host.url + PATH, { method: 'POST', body: challenge });
    expect(bare.status).toBe(401);
    expect((await fetch(host.url + PATH)).status).toBe(405);
  });

  test('that is larger than any of the platform is refused before its signature is looked for in it', async () => {
    await open();
    expect(await senderOf().post(' '.repeat(4 * 2 ** 20), { secret: 'another' })).toMatchObject({
      status: 401,
    });
    expect(await senderOf().post(' '.repeat(4 * 2 ** 20 + 1))).toMatchObject({ status: 413 });
  });

  test('of the platform that asks whose the path is gets its challenge', async () => {
    await open();
    await senderOf().subscribe();
  });

  test('that is no JSON is malformed; what nobody needs is taken all the same', async () => {
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

  test('with a command or a press is answered 200 and nothing, since people would see it', async () => {
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

describe('an utterance', () => {
  test('is one event, in whatever order and however often its mention and its message come', async () => {
    await open();
    await identified();
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

  test('in a channel with two apps is an event of each, in a conversation of each', async () => {
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

  test('of our own is none; of another bot it is one that a trigger may ignore', async () => {
    const answering = await open({ bots: 'allow' });
    const ignoring = await open({}, 'ignoring');
    await platform.say(channel, app.user, 'mine', { bot_id: app.bot });
    await platform.say(channel, 'UOTHER', 'mine as well', { bot_id: app.bot });
    expect(ids()).toEqual([]);
    await platform.say(channel, 'UOTHER', 'not mine', { bot_id: 'B9' });
    expect(last().triggers).toEqual([answering.name]);
    expect(adapter.takes?.(answering, last())).toBe(true);
    expect(adapter.takes?.(ignoring, last())).toBe(false);
  });

  test('while nobody knows who we are is kept as it comes, and judged when that is known (UE1)', async () => {
    const { 'auth.test': whoAmI } = webMethods;
    platform.methods.set('auth.test', () => {
      throw new WebError('internal_error');
    });
    const trigger = await open({ bots: 'allow' });
    const unnamed = (ts: string, more: object) => {
      const said = { type: 'message', ts, text: `<@${app.user}> hello`, ...more };
      const { authorizations: _, ...payload } = callbackPayload(app, channel, said);
      return payload;
    };
    const sender = senderOf();
    const said = [{ user: 'UANN' }, { user: app.user, bot_id: app.bot }, { user: 'UOTHER', bot_id: 'B9' }];
    for (const [index, more] of said.entries())
      expect(await sender.send('events_api', unnamed(`1.${index}`, more))).toMatchObject({ status: 202 });
    expect(ids().map((id) => id.split('/').at(-1))).toEqual(['1.0', '1.1', '1.2']);
    const completed = (index: number) => adapter.complete?.(adapter.read(host.event(index)), [trigger]);
    expect(await completed(0)).toMatchObject({ text: `<@${app.user}> hello` });
    for (const index of [1, 2]) await expect(completed(index)).rejects.toMatchObject({ isTooSoon: true });
    const before = platform.called('auth.test').length;
    await Promise.all(Array.from({ length: 20 }, () => completed(1)?.catch(() => {})));
    expect(platform.called('auth.test').length).toBeLessThan(before + 3);
    platform.methods.set('auth.test', whoAmI as Method);
    await eventually(async () => expect(await completed(1)).toBeUndefined());
    const read = [0, 1, 2].map((index) => adapter.read(host.event(index)));
    expect(read.map((event) => adapter.takes?.(trigger, event))).toEqual([true, false, true]);
    expect(read[0]).toMatchObject({ text: 'hello', context: { 'chat.event': 'mention' } });
  });

  test('of a bot is not kept where no trigger answers bots', async () => {
    await open();
    await open({}, 'second');
    await platform.say(channel, 'UOTHER', 'not mine', { bot_id: 'B9' });
    expect(ids()).toEqual([]);
  });

  describe('in one of several workspaces', () => {
    const elsewhere = { team_id: 'T9', context_team_id: 'T9', authorizations: [{ team_id: 'T9' }] };
    const say = async (ts: string, more: object = {}) => {
      const said = { type: 'message', ts, user: 'UANN', text: 'hello' };
      await senderOf().send('events_api', { ...callbackPayload(app, channel, said), ...more });
      return last();
    };
    /** The same app in another workspace. */
    const install = () => {
      const there = new App({ id: app.id, team: 'T9', name: 'there' });
      there.botToken = 'xoxb-9009-2002-bot-token-there';
      platform.apps.push(there);
      return there;
    };

    test('is for the trigger whose bot is known to be there, and for any where none is (AB1)', async () => {
      const here = await open();
      await identified();
      await eventually(async () => expect(adapter.takes?.(here, await say('1.2', elsewhere))).toBe(true));
      const there = await open({}, 'there', install());
      const takes = (event: InboundEvent) => [here, there].map((each) => adapter.takes?.(each, event));
      await eventually(async () => expect(takes(await say('1.3'))).toEqual([true, false]));
      await eventually(() =>
        expect(takes(host.event(0) && adapter.read(host.event(0)))).toEqual([false, true]),
      );
      expect(takes(await say('1.4', elsewhere))).toEqual([false, true]);
      expect(JSON.parse(host.event().meta)).toMatchObject({ triggers: ['there'] });
    });

    test('is for nobody else while the bot there is not known yet, and waits where several are not (AB1)', async () => {
      const { 'auth.test': whoAmI } = webMethods;
      const silent = new Set([app.name, 'there']);
      platform.methods.set('auth.test', (call) => {
        if (silent.has(call.app.name)) throw new WebError('internal_error');
        return (whoAmI as Method)(call);
      });
      const here = await open();
      const there = await open({}, 'there', install());
      const completed = (event: InboundEvent) => adapter.complete?.(event, [here, there]);
      await expect(completed(await say('1.2', elsewhere))).rejects.toMatchObject({ isTooSoon: true });
      silent.delete(app.name);
      await eventually(async () => expect(await completed(last())).toMatchObject({ text: 'hello' }));
      expect([here, there].map((each) => adapter.takes?.(each, last()))).toEqual([false, true]);
      expect([here, there].map((each) => adapter.takes?.(each, adapter.read(host.event(0))))).toEqual([
        false,
        true,
      ]);
    });
  });

  test('is a mention for a trigger that wants mentions, and anything for one that wants messages', async () => {
    const mentions = await open({ events: ['app_mention'] }, 'mentions');
    const messages = await open({ events: ['message'] }, 'messages');
    const takes = () => [mentions, messages].map((trigger) => adapter.takes?.(trigger, last()));
    app.events = ['message'];
    await platform.say(channel, 'UANN', 'hello');
    expect(takes()).toEqual([false, true]);
    await platform.say(channel, 'UANN', `<@${app.user}> hello`);
    expect(takes()).toEqual([true, true]);
    app.events = ['app_mention'];
    await platform.say(channel, 'UANN', `<@${app.user}> hello`);
    expect(takes()).toEqual([true, true]);
    await platform.command(app, channel, 'UANN', '/deploy', '');
    expect(takes()).toEqual([true, true]);
  });
});

test('who joins a channel is nobody here, but for our own bot, which has arrived', async () => {
  await open();
  const joined = (user: string) =>
    callbackPayload(app, channel, { type: 'member_joined_channel', user, event_ts: '1.5' });
  await senderOf().send('events_api', joined('UANN'));
  expect(ids()).toEqual([]);
  await senderOf().send('events_api', joined(app.user));
  expect(last()).toMatchObject({ isArrival: true, text: undefined, names: [] });
  expect(adapter.outbound?.target(chatWorkspaceTrigger('t'), last())).toEqual({
    place: channel.id,
    thread: undefined,
  });
});

test('what a bot writes in the channel as a whole, each time in a thread of its own, is not counted', async () => {
  await open({ bots: 'allow' });
  for (let n = 0; n < 12; n += 1) await platform.say(channel, 'UMONITOR', `alarm ${n}`, { bot_id: 'B9' });
  expect(ids()).toHaveLength(12);
});

test('bots that answer each other are not taken for ever', async () => {
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

test('a bot token that is refused is the failure of its trigger, until it is accepted', async () => {
  void platform.fail('auth.test', { kind: 'refuse', error: new WebError('invalid_auth') });
  await open();
  await eventually(() =>
    expect(host.refusals).toEqual([expect.stringContaining('invalid_auth the token is not accepted')]),
  );
  expect(JSON.stringify(host.lines)).not.toContain(app.botToken);
});

test('a bot token that is refused after it was accepted is told by what is sent under it, and by nothing else', async () => {
  const trigger = await open();
  await identified();
  for (const method of ['auth.test', 'chat.postMessage'])
    void platform.fail(method, { kind: 'refuse', error: new WebError('token_revoked') });
  const message = { target: { place: channel.id }, action: { do: 'post' }, text: 'hi' } as const;
  const [rendered] = adapter.outbound?.render(trigger, message) ?? [];
  const sending = adapter.outbound?.send(trigger, rendered ?? {}, {
    signal: AbortSignal.timeout(10_000),
    ...{ rowId: 'row', madeAt: Date.now(), wasTried: false },
    receiptOf: async () => undefined,
  });
  await expect(sending).rejects.toThrow('token_revoked');
  await platform.say(channel, 'UANN', 'is it still taken?');
  expect(ids()).toHaveLength(1);
  expect(platform.called('auth.test')).toHaveLength(1);
  expect(host.refusals).toEqual([]);
});

test('who the bot is, is known after a restart, and asked for once for all its triggers', async () => {
  const put = vi.spyOn(host.store, 'put');
  await open();
  await open({}, 'second');
  await identified();
  await platform.say(channel, 'UANN', 'hello');
  expect(platform.called('auth.test')).toHaveLength(1);
  // Of a token that nobody has any more nothing stays.
  expect(put.mock.calls).toEqual([
    ['chatworkspace-bots', expect.any(String), expect.any(String), { ttlMs: expect.any(Number) }],
  ]);
  platform.isAway = true;
  adapter = chatWorkspaceAdapter(adapterServices(host));
  await open({ path: '/again' }, 'again');
  const payload = callbackPayload(app, channel, { type: 'message', ts: '1.9', user: app.user, text: 'mine' });
  const again = new EventSender({ url: `${host.url}/again`, signingSecret: app.signingSecret });
  expect(await again.send('events_api', payload)).toMatchObject({ status: 200 });
});
