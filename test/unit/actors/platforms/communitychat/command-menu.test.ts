// Command menus on the platform: content, scope, and time of registration.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { Adapter } from '../../../../../actors/platforms/adapter.ts';
import { communityChatAdapter } from '../../../../../actors/platforms/communitychat/adapter.ts';
import type { CommunityChatTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { eventually } from '../../../../fixtures/automation/automation.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import { communityChatTrigger } from '../../../../fixtures/automation/triggers.ts';
import { chatError, formError } from '../../../../fixtures/community-platform/chat-error.ts';
import { CommunityPlatform } from '../../../../fixtures/community-platform/community-platform.ts';

let host: TestSourceHost;
let platform: CommunityPlatform;
let adapter: Adapter<CommunityChatTrigger>;

beforeEach(async () => {
  host = await new TestSourceHost().start();
  platform = await new CommunityPlatform().start();
  adapter = communityChatAdapter(adapterServices(host));
});
afterEach(() => Promise.all([host.stop(), platform.stop()]));

type Config = Partial<CommunityChatTrigger['config']>;
const parameter = (name: string, required = false, description?: string) => ({
  name,
  required,
  description,
  default: undefined,
});

function triggerOf(
  name: string,
  commands: Readonly<Record<string, string>>,
  config: Config = {},
): CommunityChatTrigger {
  const { publicKey: public_key, apiRoot: api_root, world } = platform;
  const own = communityChatTrigger(name, {
    public_key,
    api_root,
    application_id: world.applicationId,
    bot_token: world.botToken,
    ...config,
  });
  const bindings = Object.entries(commands).map(([command, description]) => ({
    command,
    description: description === '' ? undefined : description,
    target: { kind: 'agent', name: 'desk' } as const,
    parameters: [parameter('note'), parameter('env', true, 'Where to')],
  }));
  return { ...own, commands: bindings };
}

const menuNames = (scope = '') => platform.world.commands.get(scope)?.map(({ name }) => name);
const menuRequests = () => platform.calls.filter(({ method }) => method === 'PUT');
const register = (triggers: readonly CommunityChatTrigger[], guild?: string) =>
  adapter.register?.(triggers, { guild, signal: AbortSignal.timeout(10_000) });

describe('register() of the community chat', () => {
  test('sends the commands of all triggers and the built-in ones in one request', async () => {
    const triggers = [
      triggerOf('a', { deploy: '', page: 'Call a person' }),
      triggerOf('b', { deploy: 'Deploys', task: 'Our own' }),
    ];
    expect(await register(triggers)).toEqual(['/deploy', '/page', '/task', '/agent', '/fleet', '/flow']);
    expect(menuRequests()).toHaveLength(1);
    expect(menuRequests()[0]?.authorization).toBe(`Bot ${platform.world.botToken}`);
    const [deploy, page, task, agent] = platform.world.commands.get('') ?? [];
    expect(deploy).toEqual({
      type: 1,
      name: 'deploy',
      description: 'Deploys',
      options: [
        { type: 3, name: 'env', description: 'Where to', required: true },
        { type: 3, name: 'note', description: 'note', required: false },
      ],
    });
    expect([page, task]).toMatchObject([{ description: 'Call a person' }, { description: 'Our own' }]);
    expect(agent).toMatchObject({
      options: [
        { name: 'action', choices: [{ name: 'run', value: 'run' }, { value: 'status' }, { value: 'stop' }] },
        {},
        {},
      ],
    });
  });

  test('registers each command once, in the configured scope', async () => {
    const { guild } = platform.world;
    const only = triggerOf('b', { page: '' }, { register: 'guilds', guild_ids: [guild] });
    expect(await register([only])).toEqual(['/page', '/agent', '/task', '/fleet', '/flow']);
    expect([...platform.world.commands.keys()]).toEqual([guild]);
    expect(await register([triggerOf('a', { deploy: '' }), only])).toContain('/page');
    expect(menuNames(guild)).toEqual(['page']);
    expect(menuNames()).toEqual(['deploy', 'agent', 'task', 'fleet', 'flow']);
    const isInMenu = (config: Config, place?: string) =>
      adapter.isInMenu?.(triggerOf('a', {}, config), place);
    expect([isInMenu({ register: 'never' }), isInMenu({ register: 'never' }, '1')]).toEqual([false, false]);
    expect([isInMenu({}), isInMenu({}, '1')]).toEqual([true, true]);
    expect([isInMenu({ guild_ids: ['2'] }, '1'), isInMenu({ guild_ids: ['1', '2'] }, '1')]).toEqual([
      false,
      true,
    ]);
  });

  test('sends the same commands as menu(), without triggers that have register: never', () => {
    const never = triggerOf('a', { deploy: '' }, { register: 'never' });
    expect(adapter.menu?.([never])).toEqual([]);
    const lines = adapter.menu?.([never, triggerOf('b', { page: 'y' })]);
    expect(lines?.map(({ command }) => command)).toEqual(['page', 'agent', 'task', 'fleet', 'flow']);
  });

  test('fails with a pause of an hour if the daily limit of new commands is reached', async () => {
    platform.faults.plan({ kind: 'refuse', error: chatError(30034) }, ({ method }) => method === 'PUT');
    const later = await register([triggerOf('a', {})])?.catch((error: DeliveryError) => error);
    expect(later).toMatchObject({ isFinal: false, isRateLimited: true, retryAfterMs: 3_600_000 });
  });

  test('registers the commands only on the chat server that is passed', async () => {
    await register([triggerOf('a', { deploy: '' })], platform.world.guild);
    expect([...platform.world.commands.keys()]).toEqual([platform.world.guild]);
  });

  test('reports the pause of a rate limit, and the cause of a refusal', async () => {
    platform.faults.plan({ kind: 'too many', seconds: 0.1 }, ({ method }) => method === 'PUT');
    const triggers = [triggerOf('a', { deploy: '' })];
    const later = await register(triggers)?.catch((error: DeliveryError) => error);
    expect(later).toMatchObject({ isRateLimited: true, platformCode: 429 });
    await new Promise((done) => setTimeout(done, (later as DeliveryError).retryAfterMs));
    await register(triggers);
    expect(menuRequests().map(({ status }) => status)).toEqual([429, 200]);
    const error = formError([{ path: '0.name', code: 'INVALID', message: 'Command name is invalid' }]);
    platform.faults.plan({ kind: 'refuse', error }, ({ method }) => method === 'PUT');
    adapter = communityChatAdapter(adapterServices(host));
    await expect(register([triggerOf('a', {})])).rejects.toThrow(
      '50035 invalid form body: Invalid Form Body: 0.name: Command name is invalid (INVALID)',
    );
  });
});

describe('a synchronised menu', () => {
  test('is registered when a trigger opens, and again only after changes or a restart', async () => {
    const first = await adapter.open(triggerOf('a', { deploy: 'x' }), host);
    await eventually(() => expect(menuNames()).toEqual(['deploy', 'agent', 'task', 'fleet', 'flow']));
    const second = await adapter.open(triggerOf('a', { deploy: 'x' }), host);
    await first.close();
    const third = await adapter.open(triggerOf('b', { page: 'y' }), host);
    await eventually(() => expect(menuNames()).toEqual(['deploy', 'page', 'agent', 'task', 'fleet', 'flow']));
    expect(menuRequests()).toHaveLength(2);
    await second.close();
    await eventually(() => expect(menuNames()).toEqual(['page', 'agent', 'task', 'fleet', 'flow']));
    const { applicationId } = platform.world;
    await eventually(async () =>
      expect(await host.store.get('communitychat-menus', applicationId)).toMatchObject({ version: 3 }),
    );
    await third.close();
    const last = [
      await adapter.open(triggerOf('b', { page: 'y' }), host),
      await adapter.open(triggerOf('c', { page: 'y' }, { register: 'never' }), host),
    ];
    await new Promise((done) => setTimeout(done, 200));
    expect(menuRequests()).toHaveLength(3);
    // After a restart the menu is registered, because other processes can change it.
    for (const each of last) await each.close();
    adapter = communityChatAdapter(adapterServices(host));
    await adapter.open(triggerOf('b', { page: 'y' }, { path: '/in/another' }), host);
    await eventually(() => expect(menuRequests()).toHaveLength(4));
  });

  test('is registered on the servers of a trigger, and removed from servers that are no longer configured', async () => {
    const { guild } = platform.world;
    const of = (guild_ids: readonly string[], commands = {}) =>
      triggerOf('a', commands, { register: 'guilds', guild_ids: [...guild_ids] });
    const first = await adapter.open(of([guild], { deploy: '' }), host);
    await eventually(() => expect(menuNames(guild)).toEqual(['deploy', 'agent', 'task', 'fleet', 'flow']));
    expect(menuNames()).toBeUndefined();
    await adapter.open(triggerOf('b', { page: '' }), host);
    await eventually(() => expect(menuNames()).toEqual(['page', 'agent', 'task', 'fleet', 'flow']));
    await eventually(() => expect(menuNames(guild)).toEqual(['deploy']));
    await first.close();
    await eventually(() => expect(menuNames(guild)).toEqual([]));
  });

  test('that is accepted with an unreadable response is not registered again', async () => {
    platform.faults.plan({ kind: 'garbled' }, ({ method }) => method === 'PUT');
    await adapter.open(triggerOf('a', { deploy: '' }), host);
    const { applicationId } = platform.world;
    await eventually(async () =>
      expect(await host.store.get('communitychat-menus', applicationId)).toMatchObject({ version: 1 }),
    );
    expect(menuRequests()).toHaveLength(1);
  });

  test('that is refused is logged, and triggers stay open', async () => {
    await adapter.open(triggerOf('a', { deploy: '' }, { bot_token: 'another' }), host);
    await eventually(() =>
      expect(host.lines).toContainEqual(
        expect.objectContaining({
          level: 'warn',
          fields: expect.objectContaining({ reason: expect.stringContaining('401') as unknown }) as unknown,
        }),
      ),
    );
    expect(adapter.diagnostics?.(triggerOf('a', {}))).toMatchObject([
      { text: expect.stringContaining('could not register the commands: 401') as unknown },
    ]);
    expect(host.refusals.filter((reason) => reason !== undefined)).toEqual([]);
    expect(JSON.stringify(host.lines)).not.toContain('another');
  });
});
