// How answers leave for the community chat, against the fake of its platform over real HTTP: in the place of what was announced,
// further parts, messages of their own, refusals in the platform's words, and what its headers say is left.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { Outbound, Receipt, SendContext } from '../../../../../actors/events/outbox/outbound.ts';
import type {
  OutboundMessage,
  OutboundTarget,
} from '../../../../../actors/events/outbox/outbound-message.ts';
import type { Adapter } from '../../../../../actors/platforms/adapter.ts';
import { communityChatAdapter } from '../../../../../actors/platforms/communitychat/adapter.ts';
import type { CommunityChatTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { eventually } from '../../../../fixtures/automation/automation.ts';
import { rowsOfAnswer } from '../../../../fixtures/automation/outbound.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import { communityChatTrigger } from '../../../../fixtures/automation/triggers.ts';
import { chatError, formError } from '../../../../fixtures/community-platform/chat-error.ts';
import { CommunityPlatform, type Reply } from '../../../../fixtures/community-platform/community-platform.ts';
import { command } from '../../../../fixtures/community-platform/interactions.ts';

let host: TestSourceHost;
let platform: CommunityPlatform;
let adapter: Adapter<CommunityChatTrigger>;
let outbound: Outbound<CommunityChatTrigger>;
let trigger: CommunityChatTrigger;
let asked: Reply;

beforeEach(async () => {
  host = await new TestSourceHost().start();
  platform = await new CommunityPlatform().start();
  platform.webhookUrl = `${host.url}/webhook/communitychat`;
  adapter = communityChatAdapter(adapterServices(host));
  if (adapter.outbound === undefined) throw new Error('it sends nothing');
  outbound = adapter.outbound;
  const { publicKey: public_key, apiRoot: api_root, world } = platform;
  trigger = communityChatTrigger('desk', {
    public_key,
    api_root,
    application_id: world.applicationId,
    bot_token: world.botToken,
    register: 'never',
  });
  await adapter.open(trigger, host);
  asked = await platform.send({ act: command('deploy') });
});
afterEach(() => Promise.all([host.stop(), platform.stop()]));

const context = (more: Partial<SendContext> = {}): SendContext => ({
  signal: AbortSignal.timeout(10_000),
  rowId: 'row',
  madeAt: Date.now(),
  wasTried: false,
  receiptOf: async () => undefined,
  ...more,
});

function targetOf(): OutboundTarget {
  const target = outbound.target(trigger, adapter.read(host.event()));
  if (target === undefined) throw new Error('there is nowhere to send it');
  return target;
}

/** Each row as the outbox sends it: what is too soon comes again when it is told to. */
async function send(text: string, more: Partial<OutboundMessage> = {}, of: Partial<SendContext> = {}) {
  const message: OutboundMessage = { target: targetOf(), action: { do: 'post' }, text, ...more };
  const receipts: Receipt[] = [];
  for (const [index, rendered] of outbound.render(trigger, message).entries())
    for (;;) {
      try {
        receipts.push(await outbound.send(trigger, rendered, context({ rowId: `row/${index}`, ...of })));
        break;
      } catch (error) {
        if (!(error instanceof DeliveryError) || !error.isTooSoon) throw error;
        await new Promise((done) => setTimeout(done, error.retryAfterMs));
      }
    }
  return receipts;
}

const refused = (sending: Promise<unknown>): Promise<DeliveryError> =>
  sending.then(
    () => Promise.reject(new Error('it was not refused')),
    (error: DeliveryError) => error,
  );

test('the answer stands in the place of what was announced, without the token of the bot, and says more behind it (CCM2)', async () => {
  expect(platform.thinkingIn()).toBe(1);
  const text = `${'a '.repeat(999)}\n\n${'b '.repeat(999)}`;
  const [first, second] = await send(text);
  expect(platform.seen().map(({ id }) => id)).toEqual([first?.id, second?.id]);
  expect(platform.thinkingIn()).toBe(0);
  // A notice, a draft, the same once more: all of it is in that place.
  await send('instead');
  await send('instead', { action: { do: 'edit', of: 'any row' } });
  expect(platform.textsIn()[0]).toBe('instead');
  expect(platform.seen()).toHaveLength(2);
  const agents = platform.calls.map(({ agent, authorization }) => [agent, authorization]);
  for (const each of agents)
    expect(each).toEqual([expect.stringMatching(/^DiscordBot \(https:.*, \d/), undefined]);
});

test('parts of one answer are in one order, and those of another interaction in its channel in another one (CCO3)', async () => {
  const again = await platform.send({ act: command('deploy') });
  const long = 'a '.repeat(1_500);
  const keys = [-2, -1]
    .map((index) => host.event(index))
    .map((event) => rowsOfAnswer(adapter, trigger, event, long).map(({ key }) => key));
  const channel = `outbox/communitychat/${platform.world.applicationId}/${platform.ops.id}`;
  expect(keys).toEqual([asked, again].map(({ id }) => Array(2).fill(`${channel}/${id}`)));
});

test('an answer with a card that is taken back has neither card nor buttons any more (CCM3)', async () => {
  await send('x', { card: { title: 'T', actions: [{ id: 'a', title: 'A' }] } });
  await send('y');
  expect(platform.seen()).toMatchObject([{ body: { content: 'y', embeds: [], components: [] } }]);
});

test('what answers nothing goes to the channel under the token of the bot, once, and can be edited (CCO1)', async () => {
  const conversation = `communitychat/${platform.world.applicationId}/${platform.ops.id}`;
  const target = await outbound.destination?.(trigger, conversation);
  expect(target).toEqual({ place: platform.ops.id });
  for (const none of [
    `${conversation}/commands`,
    `communitychat/1/${platform.ops.id}`,
    'x',
    `${conversation}x`,
  ])
    expect(await outbound.destination?.(trigger, none)).toBeUndefined();
  if (target === undefined) return;
  const [receipt] = await send('hello', { target });
  // The answer to the first attempt was lost.
  expect(await send('hello', { target }, { wasTried: true })).toEqual([receipt]);
  expect(platform.textsIn()).toEqual(['hello']);
  expect(platform.calls[0]?.authorization).toBe(`Bot ${platform.world.botToken}`);
  const edit = { target, action: { do: 'edit', of: 'row' } } as const;
  await send('changed', edit, { receiptOf: async () => receipt });
  expect(platform.textsIn()).toEqual(['changed']);
  const gone = refused(send('x', edit, { receiptOf: async () => ({ id: '1' }) }));
  expect(await gone).toMatchObject({ isTargetGone: true, isFinal: true, platformCode: 10008 });
});

test('what is taken with an answer that nobody can read is not sent once more', async () => {
  platform.fail({ kind: 'garbled' }, undefined, 3);
  const text = `${'a '.repeat(999)}\n\n${'b '.repeat(999)}`;
  expect(await send(text)).toEqual([{ id: '' }, { id: '' }]);
  expect(platform.calls).toHaveLength(2);
  expect(platform.textsIn()).toHaveLength(2);
});

describe('a further part whose attempt before', () => {
  const part = async (more: Partial<SendContext>) => {
    const text = `${'a '.repeat(999)}\n\n${'b '.repeat(999)}`;
    const [, row = {}] = outbound.render(trigger, { target: targetOf(), action: { do: 'post' }, text });
    return outbound.send(trigger, row, context({ rowId: 'part', ...more }));
  };
  const TWICE = /may stand there twice/;

  test('has an outcome that nobody knows says so in its record, also after a refusal in between (CCO1)', async () => {
    await send('first');
    platform.fail({ kind: 'cut', isTaken: true });
    expect(await refused(part({}))).toMatchObject({ isOutcomeUnknown: true });
    platform.fail({ kind: 'too many', seconds: 0.01 });
    const again = { wasTried: true };
    expect(await refused(part(again))).toMatchObject({ isTooSoon: true });
    const told = await eventually(() => part(again));
    expect(told.note).toMatch(TWICE);
    expect(platform.textsIn()).toHaveLength(3);
    // Another process knows of no attempt.
    const another = await eventually(() => part({ ...again, rowId: 'another' }));
    expect(another.note).toMatch(TWICE);
  });

  test('was refused for certain says nothing, and neither does the first one, or a message that the platform knows', async () => {
    await send('first');
    platform.fail({ kind: 'refuse', error: { status: 503, code: 0, message: 'away' } });
    expect(await refused(part({}))).toMatchObject({ isOutcomeUnknown: false });
    expect((await part({ wasTried: true })).note).toBeUndefined();
    const target = { place: platform.ops.id };
    const tried = (madeAt: number) => send('x', { target }, { wasTried: true, madeAt });
    expect((await send('instead', {}, { wasTried: true }))[0]?.note).toBeUndefined();
    expect((await tried(Date.now()))[0]?.note).toBeUndefined();
    expect((await tried(Date.now() - 120_000))[0]?.note).toMatch(TWICE);
  });
});

describe('a refusal', () => {
  test.each([10003, 10008, 10062, 40001, 40060, 50001, 50013, 50027])(
    'with %i is final, and its note has the code, its meaning and the words of the platform',
    async (code) => {
      platform.refuse(code);
      const { message } = chatError(code);
      const error = await refused(send('x'));
      expect(error).toMatchObject({ isFinal: true, platformCode: code });
      expect(error.message).toMatch(
        new RegExp(`^${code} \\S.*: ${message.slice(0, 20).replace(/[()]/g, '.')}`),
      );
    },
  );

  test('of a form has its first inner fault, and neither token nor secret', async () => {
    const faults = [
      {
        path: 'embeds.0.title',
        code: 'BASE_TYPE_MAX_LENGTH',
        message: `Must be 256 or fewer: ${asked.token}`,
      },
      { path: 'content', code: 'OTHER', message: 'the second' },
    ];
    platform.fail({ kind: 'refuse', error: formError(faults) });
    const { message } = await refused(send('x'));
    expect(message).toBe(
      '50035 invalid form body: Invalid Form Body: embeds.0.title: Must be 256 or fewer: … (BASE_TYPE_MAX_LENGTH)',
    );
  });

  test('without a code of its own has the status; of a code that nobody knows the status decides', async () => {
    platform.fail({ kind: 'refuse', error: chatError(0) });
    expect(await refused(send('x'))).toMatchObject({
      isFinal: true,
      platformCode: 401,
      message: '401 the bot token is not accepted: 401: Unauthorized',
    });
    platform.fail({ kind: 'refuse', error: { status: 400, code: 77_777, message: 'something new' } });
    expect((await refused(send('x'))).message).toBe('77777 (HTTP 400): something new');
    platform.fail({ kind: 'refuse', error: { status: 503, code: 0, message: 'away' } });
    expect(await refused(send('x'))).toMatchObject({ isFinal: false, isPlatformDown: true });
    platform.fail({ kind: 'html', status: 200 });
    expect(await refused(send('x'))).toMatchObject({ isFinal: false, isOutcomeUnknown: true });
  });

  test('with 10015 right after the row was made is tried again twice, and then it is final (CCO2)', async () => {
    platform.refuse(10015);
    await send('x');
    expect(platform.textsIn()).toEqual(['x']);
    platform.refuse(10015, undefined, 3);
    const [row = {}] = outbound.render(trigger, { target: targetOf(), action: { do: 'post' }, text: 'x' });
    const sentAt = (ageMs: number) =>
      refused(outbound.send(trigger, row, context({ madeAt: Date.now() - ageMs })));
    expect(await sentAt(-60_000)).toMatchObject({ isFinal: true, platformCode: 10015 });
    expect(await sentAt(600)).toMatchObject({ isTooSoon: true, retryAfterMs: 2_000 });
    expect(await sentAt(2_600)).toMatchObject({ isFinal: true, platformCode: 10015 });
  });

  test('after the 15 minutes is final, by our clock or by that of the platform, and says so', async () => {
    platform.world.advance(900_001);
    expect((await refused(send('x'))).message).toMatch(/^50027 the 15 minutes of the interaction are over/);
    await host.store.delete('communitychat-tokens', `${platform.world.applicationId}/${asked.id}`);
    const calls = platform.calls.length;
    expect(await refused(send('x'))).toMatchObject({
      isFinal: true,
      message: expect.stringContaining('15 minutes') as unknown,
    });
    expect(platform.calls.length).toBe(calls);
  });

  test('for too many is waited for whole', async () => {
    platform.fail({ kind: 'too many', seconds: 0.4, scope: 'global' });
    await send('x');
    const [first, second] = platform.calls.map(({ at }) => at);
    // A header in whole seconds is rounded up: that is the pause.
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(1_000);
    expect(platform.calls).toHaveLength(2);
  });
});

test('a long answer keeps to what the headers say is left, and meets no refusal', async () => {
  platform.limits.limits.set('POST /webhooks', { most: 2, ms: 400 });
  platform.limits.limits.set('PATCH /webhooks/messages', { most: 2, ms: 400 });
  const text = Array.from({ length: 5 }, (_, i) => `${i} `.repeat(800)).join('\n\n');
  const receipts = await send(text);
  expect(receipts.length).toBeGreaterThanOrEqual(5);
  expect(platform.calls.filter(({ status }) => status === 429)).toEqual([]);
  expect(platform.textsIn().join(' ').replace(/\s/g, '')).toBe(text.replace(/\s/g, ''));
});

test('five messages in five seconds go to a channel, whatever the headers say; another channel waits for none of them', async () => {
  const post = async (place: string, nth: number) => {
    const [row = {}] = outbound.render(trigger, {
      target: { place },
      action: { do: 'post' },
      text: `${nth}`,
    });
    return outbound.send(trigger, row, context({ rowId: `${place} ${nth}` }));
  };
  const startedAt = performance.now();
  for (let nth = 1; nth <= 5; nth += 1) await post(platform.ops.id, nth);
  const error = await refused(post(platform.ops.id, 6));
  expect(error).toMatchObject({ isTooSoon: true, isUnasked: true });
  // From when the first one left.
  expect((error.retryAfterMs ?? 0) + performance.now() - startedAt).toBeGreaterThanOrEqual(5_000);
  expect(platform.calls).toHaveLength(5);
  const other = platform.world.channel('other').id;
  await eventually(() => post(other, 7), 2_000);
  expect(outbound.limits?.(trigger).rates).toEqual(
    expect.arrayContaining([
      { of: 'account', most: 1, perMs: 25, atOnce: 5 },
      { of: 'channel', most: 5, perMs: 5_000 },
    ]),
  );
});

test('what the platform takes nothing of now is shown with the limits, without a token', async () => {
  platform.fail({ kind: 'too many', seconds: 5 });
  const [row = {}] = outbound.render(trigger, { target: targetOf(), action: { do: 'post' }, text: 'x' });
  await refused(outbound.send(trigger, row, context()));
  const held = outbound.limits?.(trigger).held;
  expect(held).toEqual([{ of: 'answers to interactions', forMs: expect.any(Number) as unknown }]);
});
