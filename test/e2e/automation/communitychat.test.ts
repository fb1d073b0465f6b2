// The community chat with the whole program: features of this platform only, with a single gateway. Common
// features: every-chat.test.ts.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decisionActionId } from '../../../actors/events/decision-action.ts';
import {
  type AgentProgram,
  eventually,
  httpAgent,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { CommunityPlatform } from '../../fixtures/community-platform/community-platform.ts';
import {
  type Act,
  type Channel,
  choice,
  click,
  command,
  modal,
  ping,
} from '../../fixtures/community-platform/interactions.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';

const platform = new CommunityPlatform();
let gateway: GatewayProcess;
let program: AgentProgram;
let output = '';
const tokens: string[] = [];
/** Releases the held answer of the agent. */
let release = () => {};
const released = new Promise<void>((resolve) => {
  release = resolve;
});

let releaseAgain = () => {};
const releasedAgain = new Promise<void>((resolve) => {
  releaseAgain = resolve;
});

const bigCard = {
  title: 'A release',
  fields: Array.from({ length: 30 }, (_, i) => ({ name: `field ${i}`, value: 'v'.repeat(300) })),
  actions: Array.from({ length: 40 }, (_, i) => ({ id: `go ${i}`, title: `Go ${i}`, description: 'why' })),
};

async function* slowly() {
  for (let i = 1; i <= 3; i += 1) {
    yield `data: ${JSON.stringify({ text: i === 1 ? 'part 1' : ` part ${i}` })}`;
    await new Promise((done) => setTimeout(done, 900));
  }
}

beforeAll(async () => {
  program = await startAgent(async ({ body }) => {
    const { input } = body;
    if (input === 'slow') return { stream: slowly() };
    if (input === 'card') return { text: 'Look:', data: bigCard };
    if (input === 'held') await released;
    if (input === 'endless') await new Promise(() => {});
    if (input === 'held again') await releasedAgain;
    return { text: `heard: ${input}` };
  });
  await platform.start();
  const { publicKey: public_key, apiRoot: api_root, world } = platform;
  const ask = { agent: 'desk', parameters: [{ name: 'text', required: true }] };
  const chat = trigger('chat', {
    type: 'CommunityChat',
    config: {
      public_key,
      api_root,
      application_id: world.applicationId,
      bot_token: world.botToken,
      allowed_roles: ['42'],
    },
    commands: { '/ask': ask, '/page': { agent: 'desk', description: 'Page a person' } },
    default_agent: 'desk',
    retry: { attempts: 3, min_backoff_seconds: 0.2, factor: 2, max_backoff_seconds: 1 },
  });
  await begin([chat, httpAgent('desk', program.url)]);
});
afterAll(() => platform.stop());

async function begin(resources?: Parameters<typeof startAutomation>[0]['resources']): Promise<void> {
  gateway = await startAutomation(resources === undefined ? { folder: gateway.folder } : { resources });
  platform.webhookUrl = `${gateway.url}/webhook/communitychat`;
}

const boss = platform.world.person('Bea', ['42']);
const newChannel = (name: string) => platform.world.channel(name);

async function act(action: Act, channel: Channel, person = boss) {
  const reply = await platform.send({ act: action, channel, person });
  tokens.push(reply.token);
  expect(reply).toMatchObject({ status: 200, body: { type: 5 } });
  expect(reply.tookMs).toBeLessThan(3_000);
  return reply;
}
const ask = (text: string, channel: Channel) => act(command('ask', { text }), channel);
const expectTexts = (channel: Channel, ...texts: readonly unknown[]) =>
  eventually(() => expect(platform.textsIn(channel)).toEqual(texts));
const delivery = async (id: string) =>
  (await (await fetch(`${gateway.url}/deliveries/${encodeURIComponent(id)}`)).json()) as {
    readonly state: string;
    readonly note: string;
  };
const eventId = ({ id }: { readonly id: string }) => `communitychat:${platform.world.applicationId}/${id}`;

test('a press of an approval button without an open approval keeps the message and is ignored', async () => {
  const channel = newChannel('decisions');
  await ask('hello', channel);
  await expectTexts(channel, 'heard: hello');
  const id = decisionActionId('0b5e7a1c-1d2e-4f30-8a41-5b6c7d8e9f00', 'approve');
  const pressed = await platform.send({ act: click(id), channel, person: boss });
  expect(pressed).toMatchObject({ status: 200, body: { type: 6 } });
  tokens.push(pressed.token);
  await eventually(async () => expect((await delivery(eventId(pressed))).state).toBe('ignored'));
  const notice = 'This approval request no longer exists.';
  await expectTexts(channel, 'heard: hello', notice);
  await ask(id, channel);
  await expectTexts(channel, 'heard: hello', notice, `heard: ${id}`);
});

test('a ping of the platform is answered, and its command menu contains each command once', async () => {
  expect(await platform.post(JSON.stringify(ping))).toMatchObject({ status: 200, body: { type: 1 } });
  await eventually(() =>
    expect(platform.world.commands.get('')?.map(({ name }) => name)).toEqual([
      'ask',
      'page',
      'agent',
      'task',
      'fleet',
      'flow',
    ]),
  );
});

describe.concurrent('a person', () => {
  test('sees a slow answer grow in the message that was the placeholder', async () => {
    const channel = newChannel('slow');
    await ask('slow', channel);
    expect(platform.thinkingIn(channel)).toBe(1);
    await eventually(() => expect(platform.textsIn(channel)).toEqual([expect.stringMatching(/^part 1/)]));
    await expectTexts(channel, 'part 1 part 2 part 3');
    expect(platform.callsTo(channel).every(({ method }) => method === 'PATCH')).toBe(true);
    expect(platform.callsTo(channel).length).toBeGreaterThanOrEqual(2);
  });

  test('sees a large card whole, within the limits, and can use menus, buttons and forms', async () => {
    const channel = newChannel('card');
    await ask('card', channel);
    const last = await eventually(() => {
      const messages = platform.visibleMessages(channel);
      expect(
        messages
          .flatMap(({ body }) => body.embeds as readonly { fields: [] }[])
          .flatMap(({ fields }) => fields),
      ).toEqual(bigCard.fields);
      return messages.at(-1);
    });
    expect(platform.callsTo(channel).filter(({ status }) => status === 400)).toEqual([]);
    const message = { id: last?.id };
    expect(last?.body.components).toHaveLength(2);
    await act(choice('actions:2', ['go 30'], message), channel);
    await act(click('not by us'), channel);
    await act(modal('form', { title: 'It burns' }, 'labels'), channel);
    await eventually(() =>
      expect(platform.textsIn(channel).slice(-3)).toEqual([
        'heard: go 30',
        'heard: not by us',
        'heard: It burns',
      ]),
    );
  });

  test('without access is notified, and no agent is called', async () => {
    const channel = newChannel('roles');
    for (const each of [command('ask', { text: 'forbidden' }), click('forbidden')])
      await act(each, channel, platform.ann);
    await eventually(() => expect(platform.visibleMessages(channel)).toHaveLength(2));
    expect(platform.thinkingIn(channel)).toBe(0);
    expect(program.requests.filter(({ body }) => body.input.includes('forbidden'))).toEqual([]);
  });

  test('gets the list of current work although the channel is busy', async () => {
    const channel = newChannel('busy');
    await ask('held', channel);
    await eventually(() => expect(program.requests.some(({ body }) => body.input === 'held')).toBe(true));
    await act(command('agent', { action: 'status' }), channel);
    await eventually(() => expect(platform.textsIn(channel)).toEqual([expect.stringContaining('desk')]));
    await act(command('flow', { workflow: 'nightly-x', action: 'show' }), channel);
    await eventually(() => expect(platform.textsIn(channel)[1]).toContain('nightly-x'));
    expect(platform.thinkingIn(channel)).toBe(1);
    release();
    await eventually(() => expect(platform.textsIn(channel)).toContain('heard: held'));
  });

  test('gets an answer to every built-in command, from an agent or from the gateway itself', async () => {
    const channel = newChannel('built in');
    const runCommand = async (name: string, values: Readonly<Record<string, string>>, answer: unknown) => {
      const { length } = platform.visibleMessages(channel);
      await act(command(name, values), channel);
      await eventually(() => expect(platform.textsIn(channel).slice(length)).toEqual([answer]));
    };
    const matching = (pattern: RegExp) => expect.stringMatching(pattern);
    await runCommand('agent', { action: 'run', agent_id: 'desk', input: 'by name' }, 'heard: by name');
    await runCommand(
      'agent',
      { action: 'run', agent_id: 'nobody', input: 'by name' },
      matching(/no agent "nobody".* desk/),
    );
    await runCommand('agent', { action: 'run' }, matching(/A parameter is missing:.*input/s));
    await runCommand('agent', { action: 'stop' }, 'Nothing is running here.');
    await runCommand('task', { action: 'run', description: 'a task' }, 'heard: a task');
    await runCommand('task', { action: 'status' }, 'Nothing is running here.');
    await runCommand('fleet', { action: 'status' }, matching(/no fleets/));
    await runCommand('flow', { workflow: 'nightly' }, matching(/no flow "nightly"/));
    expect(program.requests.filter(({ body }) => body.input === 'by name')).toHaveLength(1);
  });

  test('stops the current work of a channel with /agent, and sees the stop in the message', async () => {
    const channel = newChannel('stopped');
    const reply = await ask('endless', channel);
    await eventually(() => expect(program.requests.some(({ body }) => body.input === 'endless')).toBe(true));
    await act(command('task', { action: 'status' }), channel);
    await eventually(() =>
      expect(platform.textsIn(channel)).toEqual([expect.stringMatching(/^Running here: 1, /)]),
    );
    await act(command('agent', { action: 'stop' }), channel);
    await eventually(() =>
      expect(platform.textsIn(channel).toSorted()).toEqual([
        expect.stringMatching(/^Running here: 1, /),
        'Stopped: 1.',
        'This was stopped. There will be no answer.',
      ]),
    );
    expect(await delivery(eventId(reply))).toMatchObject({ state: 'ignored' });
    expect(platform.thinkingIn(channel)).toBe(0);
  });

  test('gets an answer although another answer in the same channel fails', async () => {
    const channel = newChannel('jammed');
    const hanging = platform.fail({ kind: 'hang' }, channel);
    await ask('jammed', channel);
    await hanging;
    await ask('behind it', channel);
    await expectTexts(channel, 'heard: behind it');
    expect(platform.thinkingIn(channel)).toBe(1);
  });

  test('gets no answer if the platform refuses the message; the delivery record contains the reason', async () => {
    const channel = newChannel('late');
    platform.refuse(50027, channel);
    const reply = await ask('late', channel);
    await eventually(async () =>
      expect(await delivery(`outbox:${eventId(reply)}/1`)).toMatchObject({
        state: 'dead',
        attempts: 1,
        note: expect.stringMatching(/^50027 the interaction is older than 15 minutes/),
      }),
    );
    expect(await delivery(eventId(reply))).toMatchObject({ state: 'done' });
  });
});

test('acknowledged commands are answered once after kill -9, even if they are delivered again', async () => {
  const channel = newChannel('killed');
  const hanging = platform.faults.plan(
    { kind: 'hang', isTaken: true },
    (each) => each.channel === channel.id,
  );
  const reply = await ask('before the end', channel);
  await hanging;
  await gateway.stop('SIGKILL');
  output += gateway.text();
  await begin();
  const secondResponse = await platform.send({
    act: command('ask', { text: 'before the end' }),
    channel,
    person: boss,
    again: reply,
  });
  expect(secondResponse.status).toBe(200);
  await eventually(async () =>
    expect(await delivery(`outbox:${eventId(reply)}/1`)).toMatchObject({ state: 'done' }),
  );
  expect(platform.textsIn(channel)).toEqual(['heard: before the end']);
  expect(program.requests.filter(({ body }) => body.input === 'before the end')).toHaveLength(1);
  // Every process registers the menu once.
  await eventually(() => expect(platform.calls.filter(({ method }) => method === 'PUT')).toHaveLength(2));
});

test('an answer after the 15 minutes that the platform allows is a dead delivery, with the reason in log and record', async () => {
  const channel = newChannel('too late');
  const before = program.requests.length;
  const reply = await ask('held again', channel);
  await eventually(() => expect(program.requests.length).toBeGreaterThan(before));
  platform.world.advance(900_001);
  releaseAgain();
  const row = `outbox:${eventId(reply)}/1`;
  const note = expect.stringMatching(/^50027 the interaction is older than 15 minutes/);
  await eventually(async () =>
    expect(await delivery(row)).toMatchObject({ state: 'dead', attempts: 1, note }),
  );
  expect(await delivery(eventId(reply))).toMatchObject({ state: 'done' });
  expect([platform.textsIn(channel), platform.thinkingIn(channel)]).toEqual([[], 1]);
  const lines = gateway
    .text()
    .split('\n')
    .filter((line) => line.includes(row));
  expect(lines.some((line) => /"level":"(error|warn)"/.test(line) && line.includes('50027'))).toBe(true);
  const dead = await (await fetch(`${gateway.url}/deliveries?state=dead`)).json();
  expect(dead).toMatchObject({
    deliveries: expect.arrayContaining([expect.objectContaining({ id: row, note })]),
  });
});

test('no bot or interaction token was in the log, in a record or in a request to the agent', async () => {
  const list = (await (await fetch(`${gateway.url}/deliveries?limit=1000`)).json()) as {
    readonly deliveries: readonly { readonly id: string }[];
  };
  const records = await Promise.all(list.deliveries.map(({ id }) => delivery(id)));
  const triggers = await (await fetch(`${gateway.url}/triggers`)).json();
  const texts = output + gateway.text() + JSON.stringify([records, triggers, program.requests]);
  for (const secret of [platform.world.botToken, ...tokens]) expect(texts).not.toContain(secret);
  expect(records.length).toBeGreaterThan(10);
});
