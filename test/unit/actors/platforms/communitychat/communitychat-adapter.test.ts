// What comes to a trigger of type CommunityChat over real sockets, from the fake of its platform and with all that the vendor sends.

import { verifyKey } from 'discord-interactions';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decisionActionId } from '../../../../../actors/events/decision-action.ts';
import type { Adapter } from '../../../../../actors/platforms/adapter.ts';
import { communityChatAdapter } from '../../../../../actors/platforms/communitychat/adapter.ts';
import type { CommunityChatTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { matched } from '../../../../../machines/matching.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import { communityChatTrigger } from '../../../../fixtures/automation/triggers.ts';
import { formFault } from '../../../../fixtures/community-platform/check-form.ts';
import { CommunityPlatform } from '../../../../fixtures/community-platform/community-platform.ts';
import {
  type Act,
  autocomplete,
  choice,
  click,
  command,
  messageCommand,
  modal,
  ping,
  userCommand,
} from '../../../../fixtures/community-platform/interactions.ts';
import * as whole from '../../../../fixtures/community-platform/whole-interactions.ts';

const PATH = '/webhook/communitychat';
const follows = { status: 200, body: { type: 5 } };

let host: TestSourceHost;
let platform: CommunityPlatform;
let adapter: Adapter<CommunityChatTrigger>;

beforeEach(async () => {
  host = await new TestSourceHost().start();
  platform = await new CommunityPlatform().start();
  platform.webhookUrl = host.url + PATH;
  adapter = communityChatAdapter(adapterServices(host));
});
afterEach(() => Promise.all([host.stop(), platform.stop()]));

async function open(config: Partial<CommunityChatTrigger['config']> = {}, name = 'desk') {
  const { publicKey: public_key, apiRoot: api_root, world } = platform;
  const { applicationId: application_id } = world;
  const trigger = communityChatTrigger(name, {
    public_key,
    application_id,
    api_root,
    register: 'never',
    ...config,
  });
  await adapter.open(trigger, host);
  return trigger;
}

const last = () => adapter.read(host.event());
const hear = async (act: Act, more: object = {}) => {
  expect(await platform.send({ act, ...more })).toMatchObject(follows);
  return last();
};

/** As the vendor has sent it in earnest, or documents it. */
const post = (body: unknown, headers?: Readonly<Record<string, string>>) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return platform.post(text, headers ?? platform.signed(text));
};

describe('what people decide', () => {
  const approval = '0b5e7a1c-1d2e-4f30-8a41-5b6c7d8e9f00';
  const id = decisionActionId(approval, 'approve');

  it('by one of our buttons leaves its message as it is, and stands beside the conversation (CCP3, CCE3, CHD1)', async () => {
    const trigger = await open({ channels: ['elsewhere'], guild_ids: ['1'] });
    const reply = await platform.send({ act: click(id) });
    expect(reply).toMatchObject({ status: 200, body: { type: 6 } });
    expect(platform.thinkingIn()).toBe(0);
    const { applicationId } = platform.world;
    expect(host.event().key).toBe(`conversation/communitychat/${applicationId}/${platform.ops.id}/commands`);
    expect(last()).toMatchObject({
      decision: { verdict: 'approve', about: { approval } },
      names: [],
      text: undefined,
      user: platform.ann.id,
      channel: platform.ops.id,
      account: applicationId,
      triggers: ['desk'],
    });
    expect(last().isAwaited).toBeUndefined();
    expect(last().answerBy).toBeUndefined();
    expect(adapter.outbound?.target(trigger, last())).toEqual({ place: platform.ops.id });
  });

  it('is nothing by what looks like such a press: a word, a choice, a form (CHD1)', async () => {
    await open();
    const acts = [
      command('ask', { text: id }),
      choice('actions:1', [id]),
      choice(id, ['x']),
      modal(id, { a: 'b' }, 'labels'),
    ];
    for (const act of acts) {
      expect((await hear(act)).decision).toBeUndefined();
      expect(host.event().key).not.toMatch(/commands$/);
    }
  });
});

describe('a request', () => {
  it('with a ping is answered at once, and one for completions with none; nothing is kept of them (CCP2)', async () => {
    await open();
    expect(await post(ping)).toMatchObject({ status: 200, body: { type: 1 } });
    expect(await platform.send({ act: autocomplete('deploy') })).toMatchObject({
      status: 200,
      body: { type: 8, data: { choices: [] } },
    });
    expect(host.store.events).toEqual([]);
    expect((await fetch(platform.webhookUrl)).status).toBe(405);
  });

  it('without a signature of the key, or with an old or far time, is 401, whatever else is wrong (CCV1, CCV2)', async () => {
    await open();
    const body = JSON.stringify(ping);
    const good = platform.signed(body);
    const now = Math.floor(Date.now() / 1000);
    const at = (time: string) => platform.signed(body, time);
    const { 'x-signature-ed25519': signature = '' } = good;
    for (const headers of [
      { ...good, 'x-signature-ed25519': '' },
      { ...good, 'x-signature-ed25519': signature.slice(2) },
      { ...good, 'x-signature-ed25519': `${signature}00` },
      { ...good, 'x-signature-ed25519': `zz${signature.slice(2)}` },
      { ...good, 'x-signature-ed25519': '0'.repeat(128) },
      { ...good, 'x-signature-timestamp': '' },
      { ...good, 'x-signature-timestamp': String(now - 1) },
      at('yesterday'),
      at('1'.repeat(40)),
      at(String(now - 400)),
      at(String(now + 400)),
      {},
    ]) {
      expect((await post(body, headers as Record<string, string>)).status).toBe(401);
    }
    for (const time of [now - 290, now + 20, now])
      expect((await post(body, at(String(time)))).status).toBe(200);
    const forged = '{"no":"json"';
    expect((await post(forged, { ...good })).status).toBe(401);
  });

  it('is for those triggers of its key for which it is not too old', async () => {
    await open({ max_skew_seconds: 60 }, 'strict');
    await open({ max_skew_seconds: 600 }, 'easy');
    const at = async (secondsAgo: number, id: string) => {
      const body = JSON.stringify({ type: 2, id, token: 't', channel_id: '1', data: { name: 'x' } });
      const time = String(Math.floor(Date.now() / 1000) - secondsAgo);
      return (await post(body, platform.signed(body, time))).status;
    };
    expect(await at(0, '1')).toBe(200);
    expect(last().triggers).toEqual(['easy', 'strict']);
    expect(await at(300, '2')).toBe(200);
    expect(last().triggers).toEqual(['easy']);
    expect(await at(900, '3')).toBe(401);
    expect(host.store.events).toHaveLength(2);
  });

  it('is refused by a key under which anybody can sign, and by one that is none (CCV3)', async () => {
    for (const public_key of ['00'.repeat(32), `01${'00'.repeat(31)}`, `02${'00'.repeat(31)}`]) {
      await open({ public_key, path: `/in/${public_key.slice(0, 2)}` });
      platform.webhookUrl = `${host.url}/in/${public_key.slice(0, 2)}`;
      const body = JSON.stringify(ping);
      // The neutral point as R and 0 as S: under a key of small order it fits some of all messages.
      const forged = `01${'00'.repeat(63)}`;
      const now = Math.floor(Date.now() / 1000);
      for (let i = 0; i < 24; i += 1) {
        const headers = { 'x-signature-ed25519': forged, 'x-signature-timestamp': String(now - i) };
        expect((await post(body, headers)).status).toBe(401);
      }
    }
  });

  it('that is larger than interactions are is refused before it is checked', async () => {
    await open();
    const text = JSON.stringify({ ...ping, more: 'x'.repeat(300_000) });
    expect((await post(text)).status).toBe(413);
  });

  it('that is refused here is refused by the library of the vendor, and the other way round', async () => {
    await open();
    const body = JSON.stringify(ping);
    const good = platform.signed(body);
    const { 'x-signature-ed25519': signature = '', 'x-signature-timestamp': time = '' } = good;
    for (const [text, changed] of [
      [body, signature],
      [`${body} `, signature],
      [body, signature.replace(/^./, (sign) => (sign === '0' ? '1' : '0'))],
      [body, signature.toUpperCase()],
    ] as const) {
      const isTaken = await verifyKey(text, changed, time, platform.publicKey);
      const { status } = await post(text, { ...good, 'x-signature-ed25519': changed });
      expect(status === 200).toBe(isTaken);
    }
  });

  it('that is signed and malformed is 400', async () => {
    await open();
    for (const body of [
      '',
      'no json',
      '[]',
      '"text"',
      '{}',
      '{"type":"2"}',
      '{"type":2}',
      '{"type":2,"id":"1"}',
    ])
      expect([body, (await post(body)).status]).toEqual([body, 400]);
    expect(host.store.events).toEqual([]);
  });

  it('that cannot be kept is 503, and is not acknowledged', async () => {
    await open();
    host.store.fault = new Error('no room');
    const { status } = await platform.send({ act: command('deploy') });
    expect(status).toBeGreaterThanOrEqual(500);
    expect(platform.thinkingIn()).toBe(0);
  });
});

describe('an interaction', () => {
  it('is acknowledged, and is one event in the conversation of its channel, however often it comes; its token is nowhere in it (CCP1, CCE1, CCE2, CCT1)', async () => {
    const trigger = await open();
    await open({}, 'other');
    const first = await platform.send({ act: command('deploy', { env: 'prod', dry: true, times: 3 }) });
    await platform.send({ act: command('deploy'), again: first });
    expect(host.store.events).toHaveLength(1);
    const { applicationId } = platform.world;
    expect(host.event()).toMatchObject({
      isOnce: true,
      id: `communitychat:${applicationId}/${first.id}`,
      key: `conversation/communitychat/${applicationId}/${platform.ops.id}`,
    });
    const stored = JSON.stringify(host.event()) + Buffer.from(host.event().body).toString();
    expect(stored).not.toContain(first.token);
    expect(await host.store.get('communitychat-tokens', `${applicationId}/${first.id}`)).toMatchObject({
      value: first.token,
    });
    expect(adapter.account?.(trigger)).toBe(applicationId);
    const event = last();
    expect(event).toMatchObject({
      platform: 'communitychat',
      triggers: ['desk', 'other'],
      names: ['deploy'],
      text: '/deploy env: prod dry: true times: 3',
      parameters: { env: 'prod', dry: 'true', times: '3' },
      commandRest: '',
      channel: platform.ops.id,
      user: platform.ann.id,
      isAwaited: true,
      answerBy: host.event().at + 900_000,
      context: {
        'interaction.id': first.id,
        'interaction.kind': 'command',
        'guild.id': platform.world.guild,
        'channel.id': platform.ops.id,
        'channel.name': 'ops',
        'sender.id': platform.ann.id,
        'sender.name': 'Ann',
        'sender.username': 'ann',
      },
    });
    expect(event.context).not.toHaveProperty(['sender.roles']);
    // The event as it comes out of the store reads the same.
    expect(adapter.read({ ...host.event(), parsed: undefined })).toEqual(event);
  });

  it('with sub-commands has their options as parameters (C8)', async () => {
    await open();
    expect(await hear(command('db', { table: 'users' }, ['backup', 'start']))).toMatchObject({
      names: ['db'],
      text: '/db backup start table: users',
      parameters: { table: 'users' },
    });
    expect(await hear(command('ask', { text: 'how are you?' }))).toMatchObject({
      text: 'how are you?',
      parameters: { text: 'how are you?' },
    });
  });

  it('of a button or a select has what was pressed or chosen, and may stand for a command (C9)', async () => {
    await open();
    expect(await hear(click('deploy now please'))).toMatchObject({
      names: ['deploy'],
      commandRest: 'now please',
      text: 'deploy now please',
      isChoice: true,
      parameters: { custom_id: 'deploy now please' },
      context: { 'interaction.kind': 'component', 'interaction.custom_id': 'deploy now please' },
    });
    expect(await hear(choice('colours', ['red', 'blue']))).toMatchObject({
      names: ['colours'],
      text: 'colours: red, blue',
      parameters: { custom_id: 'colours', values: 'red, blue' },
    });
    // One of our own selects: what is chosen is the id of an action.
    expect(await hear(choice('actions:1', ['yes']))).toMatchObject({
      names: ['yes'],
      text: 'yes',
      parameters: { custom_id: 'yes', values: 'yes' },
    });
  });

  it.each(['rows', 'labels'] as const)(
    'of a form with %s has its fields as parameters (C9)',
    async (form) => {
      await open();
      expect(await hear(modal('report', { title: 'It burns', where: 'here' }, form))).toMatchObject({
        names: ['report'],
        text: 'title: It burns\nwhere: here',
        parameters: { custom_id: 'report', title: 'It burns', where: 'here' },
      });
      expect(await hear(modal('report', { title: 'It burns' }, form))).toMatchObject({ text: 'It burns' });
    },
  );

  it('has a conversation also where the id of its channel has half a character in it', async () => {
    await open();
    expect(
      (await hear(command('ask', { text: 'x' }), { channel: { ...platform.ops, id: '1\ud800' } })).channel,
    ).toBe('1\ud800');
  });

  it('reads what a menu of a message is about by the id of that message alone, which is no path', async () => {
    await open();
    const target_id = '86.77';
    const resolved = {
      messages: { [target_id]: { content: 'in words' }, 86: { 77: { content: 'of another' } } },
    };
    const event = await hear({ type: 2, data: { id: '1', name: 'Keep', type: 3, target_id, resolved } });
    expect(event.text).toBe('/Keep in words');
  });

  it('out of a menu says which message or person it is about (C11)', async () => {
    await open();
    expect(await hear(messageCommand('Translate', 'bonjour'))).toMatchObject({
      names: ['Translate'],
      text: '/Translate bonjour',
    });
    expect(await hear(userCommand('Who', platform.ann))).toMatchObject({ text: '/Who Ann' });
    expect(await hear({ type: 77 })).toMatchObject({ unsupported: expect.stringContaining('type 77') });
  });

  it('of a built-in command that only looks passes its conversation, unless a trigger that takes it has that command', async () => {
    await open();
    const key = `conversation/communitychat/${platform.world.applicationId}/${platform.ops.id}`;
    await hear(command('agent', { action: 'status' }));
    expect(host.event().key).toBe(`${key}/commands`);
    await hear(command('agent', { action: 'run', input: 'x' }));
    expect(host.event().key).toBe(key);
    // A button that somebody called so means something else.
    expect(await hear(click('agent'))).toMatchObject({ names: ['agent'], isChoice: true });
    // What is typed into a form that somebody called so is no command either.
    const typed = { names: ['agent'], isChoice: true, text: 'deploy it' };
    expect(await hear(modal('agent', { what: 'deploy it' }, 'rows'))).toMatchObject(typed);
    expect(host.event().key).toBe(key);
    const { publicKey: public_key } = platform;
    const own = communityChatTrigger('own', { public_key });
    const fleet = {
      command: 'fleet',
      description: undefined,
      parameters: [],
      target: { kind: 'agent', name: 'a' },
    };
    const bound = { ...own, config: { ...own.config, application_id: platform.world.applicationId } };
    await adapter.open({ ...bound, commands: [fleet] } as unknown as CommunityChatTrigger, host);
    await hear(command('fleet', { action: 'status' }));
    expect(host.event().key).toBe(key);
    const task = { ...fleet, command: 'task' };
    const elsewhere = { ...bound, name: 'elsewhere', config: { ...bound.config, channels: ['#lobby'] } };
    await adapter.open({ ...elsewhere, commands: [task] } as unknown as CommunityChatTrigger, host);
    const staff = { ...bound, name: 'staff', config: { ...bound.config, allowed_roles: ['42'] } };
    await adapter.open({ ...staff, commands: [task] } as unknown as CommunityChatTrigger, host);
    await hear(command('task', { action: 'status' }));
    expect(host.event().key).toBe(`${key}/commands`);
    await hear(command('task', { action: 'status' }), { person: platform.world.person('Bea', ['42']) });
    expect(host.event().key).toBe(key);
  });

  it('with every member that the platform sends reads as one with those alone that are needed', async () => {
    await open();
    const say = async (payload: unknown) => {
      expect(await post(payload)).toMatchObject(follows);
      return last();
    };
    expect(await say(whole.pressInThread)).toMatchObject({
      text: 'ship',
      channel: '41000000000000005',
      channelAliases: ['41000000000000006'],
      user: '41000000000000003',
      context: {
        'message.id': '41000000000000007',
        'sender.name': 'Ada',
        'sender.roles': ['41000000000000004'],
        'guild.id': '41000000000000001',
      },
    });
    expect(await say(whole.slashCommand)).toMatchObject({
      names: ['lookup'],
      parameters: { part: 'left hinge' },
      channel: '41000000000000006',
    });
    expect(await say(whole.commandOfPersonsMenu)).toMatchObject({ text: '/vouch Gatekeeper' });
    expect(await say(whole.commandOfMessagesMenu)).toMatchObject({ text: '/file-bug it squeaks' });
    const remarks = 'Quieter now; the hinge still squeaks';
    expect(await say(whole.formOfRows)).toMatchObject({ parameters: { remarks } });
    expect(await say(whole.formOfLabels)).toMatchObject({ parameters: { remarks, severity: 'minor' } });
    // As little as the platform may send.
    expect(await say({ id: '3', token: 't', type: 3, data: { custom_id: 'x' } })).toMatchObject({
      text: 'x',
    });
  });
});

describe('a press that lacks required parameters of its command', () => {
  const parameter = (name: string, required: boolean, description?: string, byDefault?: string) => ({
    name,
    required,
    description,
    default: byDefault,
  });
  const needs = async (
    parameters: readonly ReturnType<typeof parameter>[],
    config: Partial<CommunityChatTrigger['config']> = {},
  ) => {
    const { publicKey: public_key, world } = platform;
    const { applicationId: application_id } = world;
    const own = communityChatTrigger('own', { public_key, application_id, register: 'never', ...config });
    const target = { kind: 'agent', name: 'desk' } as const;
    const binding = { command: 'deploy', description: 'Deploy a release', parameters, target };
    await adapter.open({ ...own, commands: [binding] }, host);
  };

  it('opens a form at once that asks for them, and nothing is kept; filled in it is that command (CCF1)', async () => {
    await needs([
      parameter('env', true, 'Where to'),
      parameter('size', false),
      parameter('why', true, 'w'.repeat(150)),
    ]);
    const { status, body } = await platform.send({ act: click('deploy prod') });
    expect([status, body?.type]).toEqual([200, 9]);
    const form = body?.data as Readonly<Record<string, unknown>>;
    expect(formFault(form)).toBeUndefined();
    const field = { type: 4, required: true, max_length: 4000 };
    expect(form).toEqual({
      custom_id: 'deploy',
      title: 'Deploy a release',
      components: [
        {
          type: 1,
          components: [
            { ...field, custom_id: 'env', label: 'env', style: 1, placeholder: 'Where to', value: 'prod' },
          ],
        },
        {
          type: 1,
          components: [
            { ...field, custom_id: 'why', label: 'why', style: 2, placeholder: `${'w'.repeat(99)}…` },
          ],
        },
      ],
    });
    expect(host.store.events).toEqual([]);
    expect(await hear(modal('deploy', { env: 'test', why: 'broken' }, 'rows'))).toMatchObject({
      names: ['deploy'],
      parameters: { env: 'test', why: 'broken' },
    });
    // Who gives the command itself reads what is missing.
    expect((await hear(command('deploy'))).names).toEqual(['deploy']);
  });

  it('is answered as any other where nothing is missing, who presses may not, or the form would be refused (CCF2)', async () => {
    await needs([parameter('env', true, undefined, 'prod')]);
    expect((await hear(click('deploy'))).names).toEqual(['deploy']);
    const many = Array.from({ length: 6 }, (_, i) => parameter(`p${i}`, true));
    await needs(many, { path: '/many' });
    await needs([parameter('env', true)], { path: '/staff', allowed_roles: ['42'] });
    for (const path of ['/many', '/staff']) {
      platform.webhookUrl = host.url + path;
      await hear(click('deploy'));
    }
    expect(
      await platform.send({ act: click('deploy'), person: platform.world.person('Bea', ['42']) }),
    ).toMatchObject({
      body: { type: 9 },
    });
  });
});

describe('who may', () => {
  const isTaken = async (trigger: CommunityChatTrigger) => {
    const event = last();
    if (adapter.takes?.(trigger, event) === false) return false;
    return typeof matched([trigger], event, (each) => adapter.filters?.(each)) !== 'string';
  };

  it('is a matter of server, role and channel by name or id; where a list is set nobody passes without being on it (C12)', async () => {
    const admin = platform.world.person('Bea', ['77', '42']);
    const direct = platform.world.channel('Ann', { guild: undefined, type: 1 });
    const thread = platform.world.channel('aside', { type: 11, parent: platform.ops.id });
    const elsewhere = platform.world.channel('lobby', { guild: '5' });
    // Whoever opens a thread or a group names it.
    const posing = platform.world.channel(platform.ops.id, { type: 11, parent: elsewhere.id });
    const alike = platform.world.channel('ops', { type: 12, parent: elsewhere.id });
    const group = platform.world.channel('ops', { guild: undefined, type: 3 });
    const numbered = platform.world.channel(platform.ops.id, { guild: '5' });
    const foreign = platform.world.channel('ops', { guild: '5' });
    const acts = [command('go'), click('go')];
    const cases = [
      [{}, {}, true],
      [{ guild_ids: [platform.world.guild] }, {}, true],
      [{ guild_ids: [platform.world.guild] }, { channel: elsewhere }, false],
      [{ guild_ids: [platform.world.guild] }, { channel: direct }, false],
      [{ allowed_roles: ['42'] }, {}, false],
      [{ allowed_roles: ['42'] }, { person: admin }, true],
      [{ allowed_roles: ['42'] }, { person: admin, channel: direct }, false],
      [{ channels: ['#ops'] }, {}, true],
      [{ channels: [platform.ops.id] }, {}, true],
      [{ channels: ['ops'] }, { channel: elsewhere }, false],
      [{ channels: [platform.ops.id] }, { channel: thread }, true],
      [{ channels: ['ops'] }, { channel: direct }, false],
      [{ channels: [platform.ops.id] }, { channel: posing }, false],
      [{ channels: [platform.ops.id] }, { channel: numbered }, false],
      [{ channels: ['#ops'] }, { channel: alike }, false],
      [{ channels: ['#ops'] }, { channel: group }, false],
      [{ channels: ['#ops'], guild_ids: [platform.world.guild] }, { channel: foreign }, false],
      [{ channels: ['#ops'], guild_ids: [platform.world.guild] }, {}, true],
    ] as const;
    const trigger = await open();
    for (const [config, more, isAllowed] of cases)
      for (const act of acts) {
        await hear(act, more);
        const filtered = { ...trigger, config: { ...trigger.config, ...config } };
        expect([config, more, await isTaken(filtered)]).toEqual([config, more, isAllowed]);
      }
  });
});
