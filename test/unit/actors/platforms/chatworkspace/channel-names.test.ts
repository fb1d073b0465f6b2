// Channel names from the fake platform, and filters by channel name, which need a lookup.

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

const lookUp = (channel: string) => names.lookUp(channel, api);
const countRequests = () => platform.callsOf('conversations.info').length;

test('a channel name is looked up once for concurrent callers, and again after expiry', async () => {
  const { id } = platform.addChannel('ops', [app]);
  expect(names.cachedNames(id)).toBeUndefined();
  expect(await Promise.all([lookUp(id), lookUp(id), lookUp(id)])).toEqual([['ops'], ['ops'], ['ops']]);
  expect(await lookUp(id)).toEqual(['ops']);
  expect(countRequests()).toBe(1);
  now += 1_000_000;
  expect(names.cachedNames(id)).toBeUndefined();
  await lookUp(id);
  expect(countRequests()).toBe(2);
});

test('a channel that the bot cannot see has no name', async () => {
  const { id } = platform.addChannel('hidden', [], { isPrivate: true });
  expect(await lookUp(id)).toEqual([]);
  expect(names.cachedNames(id)).toEqual([]);
});

test('a temporary failure rejects the lookup of a channel name, and the next call repeats the lookup', async () => {
  const { id } = platform.addChannel('ops', [app]);
  void platform.fail('conversations.info', { kind: 'page', status: 502 });
  await expect(lookUp(id)).rejects.toMatchObject({ isFinal: false, isRateLimited: false });
  expect(await lookUp(id)).toEqual(['ops']);
});

test('after a permanent refusal, channels have no names for a while; the refusal is logged once', async () => {
  const [{ id }, other] = [platform.addChannel('ops', [app]), platform.addChannel('other', [app])];
  app.lacks.add('channels:read');
  expect([await lookUp(id), await lookUp(other.id), names.cachedNames(id, api)]).toEqual([[], [], []]);
  expect(JSON.stringify(host.lines)).toMatch(
    /could not look up the name of channel C\w+: missing_scope .*needs channels:read/,
  );
  expect([host.lines.length, countRequests()]).toEqual([1, 1]);
  expect(names.diagnostics).toEqual([
    expect.objectContaining({ text: expect.stringContaining('missing_scope') }),
  ]);
  app.lacks.clear();
  now += 300_001;
  expect(await lookUp(id)).toEqual(['ops']);
});

test('channel names that one bot may not read are looked up by another bot of the app', async () => {
  const { id } = platform.addChannel('ops', [app]);
  const refusedApi = new WorkspaceApi({ token: 'xoxb-9-9-nobody', api_root: platform.apiRoot });
  expect(await names.lookUp('C0ELSEWHERE', refusedApi)).toEqual([]);
  expect(await lookUp(id)).toEqual(['ops']);
});

test('if the platform has no lookup of one channel, all channels are listed in pages and cached', async () => {
  const all = Array.from({ length: 450 }, (_, n) => platform.addChannel(`c${n}`, [app]).id);
  const refuse = () =>
    platform.fail('conversations.info', { kind: 'refuse', error: new WebError('unknown_method') });
  void refuse();
  void platform.fail('conversations.list', { kind: 'refuse', error: tooMany(3) }, { skip: 1 });
  await expect(lookUp(all[440] ?? '')).rejects.toMatchObject({ isRateLimited: true, retryAfterMs: 3_000 });
  now += 5_000;
  void refuse();
  expect(await lookUp(all[440] ?? '')).toEqual(['c440']);
  expect(await lookUp(all[7] ?? '')).toEqual(['c7']);
  expect(platform.callsOf('conversations.list')).toHaveLength(4);
});

test('lookups of channel names respect the rate limit and the pauses of the platform', async () => {
  const channels = Array.from({ length: 30 }, (_, n) => platform.addChannel(`c${n}`, [app]).id);
  const results = await Promise.allSettled(channels.map(lookUp));
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(20);
  const [refusedApi] = results.flatMap((each) => (each.status === 'rejected' ? [each.reason as object] : []));
  expect(refusedApi).toMatchObject({ isRateLimited: true, isUncontacted: true });
  now += 60_000;
  void platform.fail('conversations.info', { kind: 'refuse', error: tooMany(9) });
  await expect(lookUp(channels[29] ?? '')).rejects.toMatchObject({
    isRateLimited: true,
    retryAfterMs: 9_000,
  });
  const before = countRequests();
  await expect(lookUp(channels[28] ?? '')).rejects.toMatchObject({ isRateLimited: true });
  expect(countRequests()).toBe(before);
});

describe('a filter by channel names', () => {
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

  test('requests the name of the channel', async () => {
    const { id } = platform.addChannel('named-ops', [app]);
    const completed = await adapter.addLookups?.(event(id), [trigger(['#named-ops'])]);
    expect(completed).toMatchObject({ channelAliases: ['named-ops'], context: { 'chat.name': 'named-ops' } });
    expect(adapter.addLookups?.(event(id), [trigger(['#other'])])).toBeUndefined();
  });

  test.each([
    ['has no channels', []],
    ['has only ids', ['C0OTHER']],
    ['contains the id of the channel', ['#named', 'C0HERE']],
  ])('needs no lookup if it %s', (_, channels) => {
    expect(adapter.addLookups?.(event('C0HERE'), [trigger(channels)])).toBeUndefined();
  });

  test('needs no lookup for an unsupported event', () => {
    expect(
      adapter.addLookups?.(event('C0HERE', { unsupported: 'files' }), [trigger(['#ops'])]),
    ).toBeUndefined();
  });

  test('needs no lookup for a direct conversation, or if the event has the name', () => {
    expect(adapter.addLookups?.(event('D0HERE'), [trigger(['#ops'])])).toBeUndefined();
    expect(
      adapter.addLookups?.(event('C0HERE', { channelAliases: ['ops'] }), [trigger(['#ops'])]),
    ).toBeUndefined();
  });

  test('matches no event while the platform refuses names; a trigger without a filter accepts the event', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { id } = platform.addChannel('ops', [app]);
    const all = [
      { ...trigger(['#ops']), name: 'ops', default_target: agentTarget('x') },
      { ...trigger([]), name: 'all', default_target: agentTarget('x') },
    ];
    const lookup = { trigger: (name: string) => all.find((each) => each.name === name), triggers: () => all };
    const triggers = new EventTriggers(lookup);
    const matches = async () => {
      const inbound = event(id, { triggers: ['ops', 'all'] });
      const completed = await triggers.completion(adapter as Adapter, inbound)?.event;
      const match = triggers.match(adapter as Adapter, completed ?? inbound);
      return 'trigger' in match ? match.trigger.name : match.note;
    };
    app.lacks.add('channels:read');
    expect([await matches(), await matches()]).toEqual(['all', 'all']);
    expect(adapter.diagnostics?.(all[1] as ChatWorkspaceTrigger)).toHaveLength(1);
    app.lacks.clear();
    vi.advanceTimersByTime(300_001);
    expect(await matches()).toBe('ops');
  });

  test('fails with a temporary error while the platform does not return the channel name', async () => {
    const { id } = platform.addChannel('another', [app]);
    void platform.fail('conversations.info', { kind: 'refuse', error: new WebError('internal_error') });
    await expect(adapter.addLookups?.(event(id), [trigger(['#ops'])])).rejects.toMatchObject({
      isFinal: false,
    });
  });
});
