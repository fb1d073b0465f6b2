// Requests to CommunityChat triggers over real sockets: from the fake platform, and recorded from the vendor.

import { verifyKey } from 'discord-interactions';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decisionActionId } from '../../../../../actors/events/decision-action.ts';
import type { Adapter } from '../../../../../actors/platforms/adapter.ts';
import { communityChatAdapter } from '../../../../../actors/platforms/communitychat/adapter.ts';
import type { CommunityChatTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { matchTrigger } from '../../../../../machines/matching.ts';
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
const deferredReply = { status: 200, body: { type: 5 } };

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
const receive = async (act: Act, more: object = {}) => {
  expect(await platform.send({ act, ...more })).toMatchObject(deferredReply);
  return last();
};

/** Posts a body recorded or documented by the vendor. */
const post = (body: unknown, headers?: Readonly<Record<string, string>>) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return platform.post(text, headers ?? platform.signed(text));
};

describe('an approval decision', () => {
  const approval = '0b5e7a1c-1d2e-4f30-8a41-5b6c7d8e9f00';
  const id = decisionActionId(approval, 'approve');

  it('by an approval button leaves the message unchanged and is sent to the control mailbox', async () => {
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

  it('is not read from a text, a choice or a form that looks like a button press', async () => {
    await open();
    const acts = [
      command('ask', { text: id }),
      choice('actions:1', [id]),
      choice(id, ['x']),
      modal(id, { a: 'b' }, 'labels'),
    ];
    for (const act of acts) {
      expect((await receive(act)).decision).toBeUndefined();
      expect(host.event().key).not.toMatch(/commands$/);
    }
  });
});

describe('a webhook request', () => {
  it('with a ping or an autocompletion is answered immediately and not stored', async () => {
    await open();
    expect(await post(ping)).toMatchObject({ status: 200, body: { type: 1 } });
    expect(await platform.send({ act: autocomplete('deploy') })).toMatchObject({
      status: 200,
      body: { type: 8, data: { choices: [] } },
    });
    expect(host.store.events).toEqual([]);
    expect((await fetch(platform.webhookUrl)).status).toBe(405);
  });

  it('without a valid signature, or with an old or future time, gets status 401', async () => {
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

  it('is accepted by the triggers with its public key whose max_skew_seconds it meets', async () => {
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

  it('is rejected if the public key of the trigger is weak or invalid', async () => {
    for (const public_key of ['00'.repeat(32), `01${'00'.repeat(31)}`, `02${'00'.repeat(31)}`]) {
      await open({ public_key, path: `/in/${public_key.slice(0, 2)}` });
      platform.webhookUrl = `${host.url}/in/${public_key.slice(0, 2)}`;
      const body = JSON.stringify(ping);
      // R is the neutral point and S is 0: this signature is valid for some messages if the key has a small
      // order.
      const forged = `01${'00'.repeat(63)}`;
      const now = Math.floor(Date.now() / 1000);
      for (let i = 0; i < 24; i += 1) {
        const headers = { 'x-signature-ed25519': forged, 'x-signature-timestamp': String(now - i) };
        expect((await post(body, headers)).status).toBe(401);
      }
    }
  });

  it('above the size limit of interactions is rejected before the signature check', async () => {
    await open();
    const text = JSON.stringify({ ...ping, more: 'x'.repeat(300_000) });
    expect((await post(text)).status).toBe(413);
  });

  it('is accepted or rejected with the same result as in the signature library of the vendor', async () => {
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
      const isAccepted = await verifyKey(text, changed, time, platform.publicKey);
      const { status } = await post(text, { ...good, 'x-signature-ed25519': changed });
      expect(status === 200).toBe(isAccepted);
    }
  });

  it('with a valid signature and a malformed body gets status 400', async () => {
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

  it('gets status 503 and is not acknowledged while the store is full', async () => {
    await open();
    host.store.fault = new Error('store is full');
    const { status } = await platform.send({ act: command('deploy') });
    expect(status).toBeGreaterThanOrEqual(500);
    expect(platform.thinkingIn()).toBe(0);
  });
});

describe('an interaction', () => {
  it('is acknowledged and stored once without its token, in the conversation of its channel', async () => {
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
    // Reading the stored event gives the same result.
    expect(adapter.read({ ...host.event(), parsed: undefined })).toEqual(event);
  });

  it('with sub-commands has their options as parameters', async () => {
    await open();
    expect(await receive(command('db', { table: 'users' }, ['backup', 'start']))).toMatchObject({
      names: ['db'],
      text: '/db backup start table: users',
      parameters: { table: 'users' },
    });
    expect(await receive(command('ask', { text: 'how are you?' }))).toMatchObject({
      text: 'how are you?',
      parameters: { text: 'how are you?' },
    });
  });

  it('of a button or a select has the pressed or chosen values, and may name a command', async () => {
    await open();
    expect(await receive(click('deploy now please'))).toMatchObject({
      names: ['deploy'],
      commandRest: 'now please',
      text: 'deploy now please',
      isChoice: true,
      parameters: { custom_id: 'deploy now please' },
      context: { 'interaction.kind': 'component', 'interaction.custom_id': 'deploy now please' },
    });
    expect(await receive(choice('colours', ['red', 'blue']))).toMatchObject({
      names: ['colours'],
      text: 'colours: red, blue',
      parameters: { custom_id: 'colours', values: 'red, blue' },
    });
    // In a select menu of the gateway, the value is an action id.
    expect(await receive(choice('actions:1', ['yes']))).toMatchObject({
      names: ['yes'],
      text: 'yes',
      parameters: { custom_id: 'yes', values: 'yes' },
    });
  });

  it.each(['rows', 'labels'] as const)('of a form with %s has its fields as parameters', async (form) => {
    await open();
    expect(await receive(modal('report', { title: 'It burns', where: 'here' }, form))).toMatchObject({
      names: ['report'],
      text: 'title: It burns\nwhere: here',
      parameters: { custom_id: 'report', title: 'It burns', where: 'here' },
    });
    expect(await receive(modal('report', { title: 'It burns' }, form))).toMatchObject({ text: 'It burns' });
  });

  it('has a conversation even if the channel id contains half a surrogate pair', async () => {
    await open();
    expect(
      (await receive(command('ask', { text: 'x' }), { channel: { ...platform.ops, id: '1\ud800' } })).channel,
    ).toBe('1\ud800');
  });

  it('of a message menu reads the message by its exact id, even if the id contains a dot', async () => {
    await open();
    const target_id = '86.77';
    const resolved = {
      messages: { [target_id]: { content: 'in words' }, 86: { 77: { content: 'of another' } } },
    };
    const event = await receive({ type: 2, data: { id: '1', name: 'Keep', type: 3, target_id, resolved } });
    expect(event.text).toBe('/Keep in words');
  });

  it('of a message menu contains the embeds, components, poll and forwarded texts of the message', async () => {
    await open();
    const target_id = '8';
    const textOf = async (target: object) => {
      const resolved = { messages: { [target_id]: { content: '', ...target } } };
      const data = { id: '1', name: 'Keep', type: 3, target_id, resolved };
      return (await receive({ type: 2, data })).text;
    };
    const embed = { title: 'DiskFull', description: 'db-2', fields: [{ name: 'Severity', value: 'high' }] };
    expect(await textOf({ embeds: [embed] })).toBe('/Keep DiskFull\ndb-2\nSeverity: high');
    expect(
      await textOf({ components: [{ type: 17, components: [{ type: 10, content: 'in a box' }] }] }),
    ).toBe('/Keep in a box');
    expect(
      await textOf({ poll: { question: { text: 'Lunch?' }, answers: [{ poll_media: { text: 'Yes' } }] } }),
    ).toBe('/Keep Lunch?\n- Yes');
    expect(await textOf({ message_snapshots: [{ message: { content: 'said before' } }] })).toBe(
      '/Keep said before',
    );
    expect(await textOf({ embeds: 'x', components: [null, { components: {} }] })).toBe('/Keep');
  });

  it('names the author of the target message, and the message with the pressed button', async () => {
    await open();
    const author = { id: '9', username: 'bob', global_name: 'Bob' };
    const resolved = { messages: { 8: { content: 'it is slow', author } } };
    const target = await receive({
      type: 2,
      data: { id: '1', name: 'Keep', type: 3, target_id: '8', resolved },
    });
    expect(target.quoted).toEqual([{ relation: 'quoted', sender: { id: '9', name: 'Bob' } }]);
    const press = await receive({
      type: 3,
      data: { custom_id: 'ship', component_type: 2 },
      message: { id: '7', content: 'Ship it?', author },
    });
    expect(press.quoted).toEqual([
      { relation: 'answered', sender: { id: '9', name: 'Bob' }, text: 'Ship it?' },
    ]);
  });

  it('of a menu contains the target message or person', async () => {
    await open();
    expect(await receive(messageCommand('Translate', 'bonjour'))).toMatchObject({
      names: ['Translate'],
      text: '/Translate bonjour',
    });
    expect(await receive(userCommand('Who', platform.ann))).toMatchObject({ text: '/Who Ann' });
    expect(await receive({ type: 77 })).toMatchObject({ unsupported: expect.stringContaining('type 77') });
  });

  it('with the built-in status command is sent to the control mailbox, unless a trigger defines it', async () => {
    await open();
    const key = `conversation/communitychat/${platform.world.applicationId}/${platform.ops.id}`;
    await receive(command('agent', { action: 'status' }));
    expect(host.event().key).toBe(`${key}/commands`);
    await receive(command('agent', { action: 'run', input: 'x' }));
    expect(host.event().key).toBe(key);
    // A button with the id `agent` does not run the built-in command.
    expect(await receive(click('agent'))).toMatchObject({ names: ['agent'], isChoice: true });
    // A form with the id `agent` does not run the built-in command.
    const typed = { names: ['agent'], isChoice: true, text: 'deploy it' };
    expect(await receive(modal('agent', { what: 'deploy it' }, 'rows'))).toMatchObject(typed);
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
    await receive(command('fleet', { action: 'status' }));
    expect(host.event().key).toBe(key);
    const task = { ...fleet, command: 'task' };
    const elsewhere = { ...bound, name: 'elsewhere', config: { ...bound.config, channels: ['#lobby'] } };
    await adapter.open({ ...elsewhere, commands: [task] } as unknown as CommunityChatTrigger, host);
    const staff = { ...bound, name: 'staff', config: { ...bound.config, allowed_roles: ['42'] } };
    await adapter.open({ ...staff, commands: [task] } as unknown as CommunityChatTrigger, host);
    await receive(command('task', { action: 'status' }));
    expect(host.event().key).toBe(`${key}/commands`);
    await receive(command('task', { action: 'status' }), { person: platform.world.person('Bea', ['42']) });
    expect(host.event().key).toBe(key);
  });

  it('is read the same with all members that the platform sends and with only the required members', async () => {
    await open();
    const say = async (payload: unknown) => {
      expect(await post(payload)).toMatchObject(deferredReply);
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
    expect(await say(whole.commandOfMessagesMenu)).toMatchObject({
      text: '/file-bug it squeaks\nRelease 12',
    });
    const remarks = 'Quieter now; the hinge still squeaks';
    expect(await say(whole.formOfRows)).toMatchObject({ parameters: { remarks } });
    expect(await say(whole.formOfLabels)).toMatchObject({ parameters: { remarks, severity: 'minor' } });
    // The minimum that the platform may send.
    expect(await say({ id: '3', token: 't', type: 3, data: { custom_id: 'x' } })).toMatchObject({
      text: 'x',
    });
  });
});

describe('a button press for a command', () => {
  const parameter = (name: string, required: boolean, description?: string, byDefault?: string) => ({
    name,
    required,
    description,
    default: byDefault,
  });
  const openWithParameters = async (
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

  it('opens a form if a required parameter is missing, and only the submitted form is stored', async () => {
    await openWithParameters([
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
    expect(await receive(modal('deploy', { env: 'test', why: 'broken' }, 'rows'))).toMatchObject({
      names: ['deploy'],
      parameters: { env: 'test', why: 'broken' },
    });
    // A typed command without parameters is stored: the response names the missing ones.
    expect((await receive(command('deploy'))).names).toEqual(['deploy']);
  });

  it('opens no form if nothing is missing, the sender is not allowed, or the form is too large', async () => {
    await openWithParameters([parameter('env', true, undefined, 'prod')]);
    expect((await receive(click('deploy'))).names).toEqual(['deploy']);
    const many = Array.from({ length: 6 }, (_, i) => parameter(`p${i}`, true));
    await openWithParameters(many, { path: '/many' });
    await openWithParameters([parameter('env', true)], { path: '/staff', allowed_roles: ['42'] });
    for (const path of ['/many', '/staff']) {
      platform.webhookUrl = host.url + path;
      await receive(click('deploy'));
    }
    expect(
      await platform.send({ act: click('deploy'), person: platform.world.person('Bea', ['42']) }),
    ).toMatchObject({
      body: { type: 9 },
    });
  });
});

describe('the access filter', () => {
  const isAccepted = async (trigger: CommunityChatTrigger) => {
    const event = last();
    if (adapter.accepts?.(trigger, event) === false) return false;
    return typeof matchTrigger([trigger], event, (each) => adapter.filters?.(each)) !== 'string';
  };

  it('checks server, role and channel by id or name, and a configured list rejects all other values', async () => {
    const admin = platform.world.person('Bea', ['77', '42']);
    const direct = platform.world.channel('Ann', { guild: undefined, type: 1 });
    const thread = platform.world.channel('aside', { type: 11, parent: platform.ops.id });
    const elsewhere = platform.world.channel('lobby', { guild: '5' });
    // Users choose the names of threads and groups, so these names must not match.
    const spoofedThread = platform.world.channel(platform.ops.id, { type: 11, parent: elsewhere.id });
    const sameNameThread = platform.world.channel('ops', { type: 12, parent: elsewhere.id });
    const group = platform.world.channel('ops', { guild: undefined, type: 3 });
    const channelNamedAsId = platform.world.channel(platform.ops.id, { guild: '5' });
    const otherServerChannel = platform.world.channel('ops', { guild: '5' });
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
      [{ channels: [platform.ops.id] }, { channel: spoofedThread }, false],
      [{ channels: [platform.ops.id] }, { channel: channelNamedAsId }, false],
      [{ channels: ['#ops'] }, { channel: sameNameThread }, false],
      [{ channels: ['#ops'] }, { channel: group }, false],
      [{ channels: ['#ops'], guild_ids: [platform.world.guild] }, { channel: otherServerChannel }, false],
      [{ channels: ['#ops'], guild_ids: [platform.world.guild] }, {}, true],
    ] as const;
    const trigger = await open();
    for (const [config, more, isAllowed] of cases)
      for (const act of acts) {
        await receive(act, more);
        const filtered = { ...trigger, config: { ...trigger.config, ...config } };
        expect([config, more, await isAccepted(filtered)]).toEqual([config, more, isAllowed]);
      }
  });
});
