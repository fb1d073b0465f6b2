// Socket connection of an app: shared by triggers, kept over reloads, refused and retried. Events are stored.
// The platform runs on loopback, with real HTTP and sockets.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { chatWorkspaceAdapter } from '../../../../../actors/platforms/chatworkspace/adapter.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { eventually } from '../../../../fixtures/automation/automation.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import { chatWorkspaceTrigger } from '../../../../fixtures/automation/triggers.ts';
import type { App } from '../../../../fixtures/workspace-platform/app.ts';
import type { AppSockets } from '../../../../fixtures/workspace-platform/app-sockets.ts';
import { tooMany, WebError } from '../../../../fixtures/workspace-platform/web-error.ts';
import { type Fault, WorkspacePlatform } from '../../../../fixtures/workspace-platform/workspace-platform.ts';

let platform: WorkspacePlatform;
let app: App;
let sockets: AppSockets;
let host: TestSourceHost;
let adapter: ReturnType<typeof chatWorkspaceAdapter>;
const closing: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  platform = await new WorkspacePlatform({ redeliverMs: 200, pingMs: 100 }).start();
  app = platform.addApp('A0111');
  sockets = platform.socketsOf(app);
  host = new TestSourceHost();
  adapter = chatWorkspaceAdapter(adapterServices(host));
});

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await platform.stop();
});

async function open(name = 'ops', config: object = {}) {
  const trigger = chatWorkspaceTrigger(name, {
    mode: 'socket',
    app_token: app.appToken,
    bot_token: app.botToken,
    signing_secret: undefined,
    app_id: undefined,
    api_root: platform.apiRoot,
    ...config,
  });
  const { close } = await adapter.open(trigger, host);
  closing.push(close);
  return close;
}

async function openConnection(): Promise<() => Promise<void>> {
  const close = await open();
  await eventually(() => expect(sockets.open).toHaveLength(1));
  return close;
}

const mentionPayload = (ts: string, more: object = {}) => ({
  api_app_id: sockets.id,
  team_id: app.team,
  type: 'event_callback',
  event_id: `Ev${ts}`,
  event: {
    type: 'app_mention',
    user: 'UANN',
    channel: 'C0111',
    ts,
    text: `<@${app.user}> hello`,
    ...more,
  },
});

const refuse = (fault: Fault) => platform.fail('apps.connections.open', fault);
const ids = () => host.store.events.map(({ id }) => id);

describe('an envelope', () => {
  test('creates one event, for any number of deliveries on any socket', async () => {
    await openConnection();
    const first = sockets.deliver('events_api', mentionPayload('1.1'));
    await eventually(() => expect(first.ackedAt).toBeDefined());
    const [old] = sockets.open;
    sockets.announceEnd('refresh_requested');
    await eventually(() => expect(sockets.open).toHaveLength(2));
    const again = [old, sockets.open.at(-1)].map((socket) =>
      sockets.deliver('events_api', mentionPayload('1.1', { type: 'message' }), socket),
    );
    const other = sockets.deliver('slash_commands', {
      command: '/deploy',
      text: 'now',
      channel_id: 'C0111',
      user_id: 'UANN',
      trigger_id: '1.2.3',
    });
    await eventually(() =>
      expect([...again, other].every(({ ackedAt }) => ackedAt !== undefined)).toBe(true),
    );
    expect(ids()).toEqual(['chatworkspace:A0111/C0111/1.1', expect.stringMatching(/A0111\/command\//)]);
    expect(JSON.parse(host.event(0).meta)).toMatchObject({ triggers: ['ops'] });
  });

  test('without content for an agent is acknowledged and ignored', async () => {
    await openConnection();
    const all = [
      ['events_api', { type: 'app_rate_limited', team_id: app.team, minute_rate_limited: 1 }],
      ['events_api', undefined],
      ['events_api', mentionPayload('2.1', { user: app.user })],
      ['interactive', { type: 'news' }],
      ['workflow_step', {}],
      ['', null],
    ].map(([type, payload]) => sockets.deliver(type as string, payload));
    await eventually(() => expect(all.every(({ ackedAt }) => ackedAt !== undefined)).toBe(true));
    expect(ids()).toEqual([]);
  });

  test('is not acknowledged while the store is full, and is stored once afterwards', async () => {
    await openConnection();
    host.store.fault = new Error('the disk is full');
    const one = sockets.deliver('events_api', mentionPayload('3.1'));
    await eventually(() => expect(one.ids.length).toBeGreaterThan(1));
    expect(one.ackedAt).toBeUndefined();
    host.store.fault = undefined;
    await eventually(() => expect(one.ackedAt).toBeDefined());
    expect(ids()).toHaveLength(1);
  });
});

describe('the connection', () => {
  test('is shared by all triggers of the app, and is kept when they change', async () => {
    const close = await openConnection();
    const [socket] = sockets.open;
    await open('second');
    // A reload opens the new trigger version before it closes the old one.
    await open('ops');
    await close();
    const one = sockets.deliver('events_api', mentionPayload('4.1'));
    await eventually(() => expect(one.ackedAt).toBeDefined());
    expect(JSON.parse(host.event(0).meta)).toMatchObject({ triggers: ['ops', 'second'] });
    expect(sockets.open).toEqual([socket]);
    expect(platform.callsOf('apps.connections.open')).toHaveLength(1);
    for (const each of closing.splice(0)) await each();
    await eventually(() => expect(sockets.open).toHaveLength(0));
  });

  test.each(['invalid_auth', 'not_allowed_token_type', 'account_inactive', 'link_disabled'])(
    'that is refused with %s is reported with this code as failure of its triggers',
    async (code) => {
      refuse({ kind: 'refuse', error: new WebError(code) });
      await open();
      await eventually(() => expect(host.refusals).toEqual([expect.stringContaining(code)]));
    },
  );

  test.each([
    ['a page with status 404', { kind: 'page', status: 404 }],
    ['a page with status 503', { kind: 'page', status: 503 }],
    ['an unknown_method error', { kind: 'refuse', error: new WebError('unknown_method') }],
    ['no response', { kind: 'hang' }],
  ] as const)('is established although the identity request gets %s', async (_, fault) => {
    platform.fail('auth.test', fault, { times: 1_000 });
    await open();
    await eventually(() => expect(sockets.open).toHaveLength(1), 12_000);
    const one = sockets.deliver('slash_commands', {
      command: '/deploy',
      channel_id: 'C0111',
      user_id: 'UANN',
      trigger_id: '1.2.3',
    });
    await eventually(() => expect(one.ackedAt).toBeDefined());
    expect(ids()).toHaveLength(1);
    expect(host.refusals).toEqual([]);
    platform.cutHung();
  });

  test('continues for the other triggers if one bot token is refused, also after a reload', async () => {
    await openConnection();
    const closeRefused = await open('second', { bot_token: 'xoxb-1-2-nobody' });
    await eventually(() => expect(host.refusals).toEqual([expect.stringContaining('invalid_auth')]));
    expect(sockets.open).toHaveLength(1);
    await open('second');
    await closeRefused();
    await open('ops', { bot_token: 'xoxb-1-2-nobody' });
    await eventually(() => expect(host.refusals).toHaveLength(2));
    expect(platform.callsOf('apps.connections.open')).toHaveLength(1);
    expect(JSON.stringify(host.lines)).not.toContain('nobody');
  });

  test('is opened with any accepted bot token', async () => {
    await Promise.all([open('first', { bot_token: 'xoxb-1-2-nobody' }), open('second')]);
    await eventually(() => expect(sockets.open).toHaveLength(1));
    await eventually(() => expect(host.refusals).toEqual([expect.stringContaining('invalid_auth')]));
    const one = sockets.deliver('events_api', mentionPayload('5.1'));
    await eventually(() => expect(one.ackedAt).toBeDefined());
  });

  test('is not opened without an accepted bot token', async () => {
    await open('ops', { bot_token: 'xoxb-1-2-nobody' });
    await eventually(() => expect(host.refusals).toEqual([expect.stringContaining('invalid_auth')]));
    expect(platform.callsOf('apps.connections.open')).toEqual([]);
  });

  test('is retried after temporary failures, after the full requested pause', async () => {
    refuse({ kind: 'refuse', error: tooMany(1) });
    refuse({ kind: 'page', status: 502 });
    refuse({ kind: 'refuse', error: new WebError('internal_error') });
    await openConnection();
    const times = platform.callsOf('apps.connections.open').map(({ at }) => at);
    expect(times).toHaveLength(4);
    const pauses = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(pauses[0]).toBeGreaterThanOrEqual(1_000);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(100);
    expect(host.refusals).toEqual([]);
  });

  test('logs no credentials', async () => {
    refuse({ kind: 'refuse', error: new WebError('internal_error') });
    sockets.faults.push({ kind: 'refuse', status: 400 });
    await openConnection();
    const logged = JSON.stringify(host.lines);
    expect(logged).toContain('status 400');
    for (const secret of [app.appToken, app.botToken, 'ticket']) expect(logged).not.toContain(secret);
  });
});
