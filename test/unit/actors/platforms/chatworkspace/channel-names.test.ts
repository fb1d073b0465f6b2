// What channels are called, asked of the fake of the platform: WSC1, WSC2, WSC3; and filters by names, which are asked before anybody
// takes an event.

import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { EventTriggers } from '../../../../../actors/automation/triggers/event-triggers.ts';
import type { InboundEvent } from '../../../../../actors/events/inbound-event.ts';
import type { Adapter } from '../../../../../actors/platforms/adapter.ts';
import { chatWorkspaceAdapter } from '../../../../../actors/platforms/chatworkspace/adapter.ts';
import { WorkspaceApi } from '../../../../../actors/platforms/chatworkspace/api.ts';
import { ChannelNames } from '../../../../../actors/platforms/chatworkspace/channel-names.ts';
import { agentTarget } from '../../../../../config/resources/triggers/target.ts';
import type { ChatWorkspaceTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import { chatWorkspaceTrigger } from '../../../../fixtures/automation/triggers.ts';
import type { App } from '../../../../fixtures/workspace-platform/app.ts';
import { tooMany, WebError } from '../../../../fixtures/workspace-platform/web-error.ts';
import { WorkspacePlatform } from '../../../../fixtures/workspace-platform/workspace-platform.ts';

let platform: WorkspacePlatform;
let app: App;
let now: number;
let host: TestSourceHost;
let names: ChannelNames;
let api: WorkspaceApi;

beforeEach(async () => {
  platform = await new WorkspacePlatform().start();
  app = platform.addApp('A1');
  now = 1_000;
  host = new TestSourceHost();
  names = new ChannelNames(host.log, () => now);
  api = new WorkspaceApi({ token: app.botToken, api_root: platform.apiRoot });
});
afterEach(() => platform.stop());

const ask = (channel: string) => names.ask(channel, api);
const asked = () => platform.called('conversations.info').length;

test('a channel is asked for once, however many want to know, and again after a while', async () => {
  const { id } = platform.addChannel('ops', [app]);
  expect(names.known(id)).toBeUndefined();
  expect(await Promise.all([ask(id), ask(id), ask(id)])).toEqual([['ops'], ['ops'], ['ops']]);
  expect(await ask(id)).toEqual(['ops']);
  expect(asked()).toBe(1);
  now += 1_000_000;
  expect(names.known(id)).toBeUndefined();
  await ask(id);
  expect(asked()).toBe(2);
});

test('one that the bot does not see has no name', async () => {
  const { id } = platform.addChannel('hidden', [], { isPrivate: true });
  expect(await ask(id)).toEqual([]);
  expect(names.known(id)).toEqual([]);
});

test('a name that cannot be had is told as such, and is asked for again', async () => {
  const { id } = platform.addChannel('ops', [app]);
  void platform.fail('conversations.info', { kind: 'page', status: 502 });
  await expect(ask(id)).rejects.toMatchObject({ isFinal: false, isTooSoon: false });
  expect(await ask(id)).toEqual(['ops']);
});

test('names that are refused for good are none for a while, and the log says why, once', async () => {
  const [{ id }, other] = [platform.addChannel('ops', [app]), platform.addChannel('other', [app])];
  app.lacks.add('channels:read');
  expect([await ask(id), await ask(other.id), names.known(id, api)]).toEqual([[], [], []]);
  expect(JSON.stringify(host.lines)).toMatch(
    /what C\w+ is called is not known: missing_scope .*it needs channels:read/,
  );
  expect([host.lines.length, asked()]).toEqual([1, 1]);
  expect(names.remarks).toEqual([
    expect.objectContaining({ text: expect.stringContaining('missing_scope') }),
  ]);
  app.lacks.clear();
  now += 300_001;
  expect(await ask(id)).toEqual(['ops']);
});

test('names that one bot is refused are told to another of the app', async () => {
  const { id } = platform.addChannel('ops', [app]);
  const refused = new WorkspaceApi({ token: 'xoxb-9-9-nobody', api_root: platform.apiRoot });
  expect(await names.ask('C0ELSEWHERE', refused)).toEqual([]);
  expect(await ask(id)).toEqual(['ops']);
});

test('where the platform tells of no single channel, all are asked for in pages, and remembered', async () => {
  const all = Array.from({ length: 450 }, (_, n) => platform.addChannel(`c${n}`, [app]).id);
  const refuse = () =>
    platform.fail('conversations.info', { kind: 'refuse', error: new WebError('unknown_method') });
  void refuse();
  void platform.fail('conversations.list', { kind: 'refuse', error: tooMany(3) }, { skip: 1 });
  await expect(ask(all[440] ?? '')).rejects.toMatchObject({ isTooSoon: true, retryAfterMs: 3_000 });
  now += 5_000;
  void refuse();
  expect(await ask(all[440] ?? '')).toEqual(['c440']);
  expect(await ask(all[7] ?? '')).toEqual(['c7']);
  expect(platform.called('conversations.list')).toHaveLength(4);
});

test('what the platform takes is not exceeded, and its pauses are kept', async () => {
  const channels = Array.from({ length: 30 }, (_, n) => platform.addChannel(`c${n}`, [app]).id);
  const results = await Promise.allSettled(channels.map(ask));
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(20);
  const [refused] = results.flatMap((each) => (each.status === 'rejected' ? [each.reason as object] : []));
  expect(refused).toMatchObject({ isTooSoon: true, isUnasked: true });
  now += 60_000;
  void platform.fail('conversations.info', { kind: 'refuse', error: tooMany(9) });
  await expect(ask(channels[29] ?? '')).rejects.toMatchObject({ isTooSoon: true, retryAfterMs: 9_000 });
  const before = asked();
  await expect(ask(channels[28] ?? '')).rejects.toMatchObject({ isTooSoon: true });
  expect(asked()).toBe(before);
});

describe('a filter by names', () => {
  let adapter: ReturnType<typeof chatWorkspaceAdapter>;
  beforeEach(() => {
    adapter = chatWorkspaceAdapter(adapterServices());
  });
  const event = (channel: string, more: Partial<InboundEvent> = {}): InboundEvent => ({
    platform: 'chatworkspace',
    triggers: ['t'],
    names: [],
    text: 'hello',
    channel,
    user: 'UANN',
    context: { 'chat.event': 'message' },
    payload: {},
    parameters: {},
    ...more,
  });
  const trigger = (channels: readonly string[]) =>
    chatWorkspaceTrigger('t', {
      app_id: 'A1',
      bot_token: app.botToken,
      api_root: platform.apiRoot,
      channels,
    });

  test('has the name of the channel asked for', async () => {
    const { id } = platform.addChannel('named-ops', [app]);
    const completed = await adapter.complete?.(event(id), [trigger(['#named-ops'])]);
    expect(completed).toMatchObject({ channelAliases: ['named-ops'], context: { 'chat.name': 'named-ops' } });
    expect(adapter.complete?.(event(id), [trigger(['#other'])])).toBeUndefined();
  });

  test.each([
    ['none', []],
    ['of ids', ['C0OTHER']],
    ['that has the channel by its id', ['#named', 'C0HERE']],
  ])('is nothing to ask about: %s', (_, channels) => {
    expect(adapter.complete?.(event('C0HERE'), [trigger(channels)])).toBeUndefined();
  });

  test('is nothing to ask about for what nobody can take', () => {
    expect(
      adapter.complete?.(event('C0HERE', { unsupported: 'files' }), [trigger(['#ops'])]),
    ).toBeUndefined();
  });

  test('asks nothing of a conversation of two, or where the event has the name', () => {
    expect(adapter.complete?.(event('D0HERE'), [trigger(['#ops'])])).toBeUndefined();
    expect(
      adapter.complete?.(event('C0HERE', { channelAliases: ['ops'] }), [trigger(['#ops'])]),
    ).toBeUndefined();
  });

  test('takes nothing while names are refused, and meanwhile one without a filter takes it', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { id } = platform.addChannel('ops', [app]);
    const all = [
      { ...trigger(['#ops']), name: 'ops', default_target: agentTarget('x') },
      { ...trigger([]), name: 'all', default_target: agentTarget('x') },
    ];
    const lookup = { trigger: (name: string) => all.find((each) => each.name === name), triggers: () => all };
    const triggers = new EventTriggers(lookup);
    const takers = async () => {
      const come = event(id, { triggers: ['ops', 'all'] });
      const known = await triggers.completing(adapter as Adapter, come)?.event;
      const match = triggers.match(adapter as Adapter, known ?? come);
      return 'trigger' in match ? match.trigger.name : match.note;
    };
    app.lacks.add('channels:read');
    expect([await takers(), await takers()]).toEqual(['all', 'all']);
    expect(adapter.remarks?.(all[1] as ChatWorkspaceTrigger)).toHaveLength(1);
    app.lacks.clear();
    vi.advanceTimersByTime(300_001);
    expect(await takers()).toBe('ops');
  });

  test('is not passed while the platform does not say the name', async () => {
    const { id } = platform.addChannel('another', [app]);
    void platform.fail('conversations.info', { kind: 'refuse', error: new WebError('internal_error') });
    await expect(adapter.complete?.(event(id), [trigger(['#ops'])])).rejects.toMatchObject({
      isFinal: false,
    });
  });
});
