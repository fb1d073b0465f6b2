// Outbound messages of the community chat, with the fake platform over real HTTP: deferred replies, further
// parts, messages without an interaction, refusals, and rate limit headers.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { OutboundMessage, OutboundTarget } from '../../../../../actors/events/outbox/message.ts';
import type { Outbound, SendContext, SendReceipt } from '../../../../../actors/events/outbox/outbound.ts';
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
let interaction: Reply;

beforeEach(async () => {
  host = await new TestSourceHost().start();
  platform = await new CommunityPlatform().start();
  platform.webhookUrl = `${host.url}/webhook/communitychat`;
  adapter = communityChatAdapter(adapterServices(host));
  if (adapter.outbound === undefined) throw new Error('the adapter has no outbound part');
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
  interaction = await platform.send({ act: command('deploy') });
});
afterEach(() => Promise.all([host.stop(), platform.stop()]));

const context = (more: Partial<SendContext> = {}): SendContext => ({
  signal: AbortSignal.timeout(10_000),
  rowId: 'row',
  createdAt: Date.now(),
  wasTried: false,
  receiptOf: async () => undefined,
  ...more,
});

function eventTarget(): OutboundTarget {
  const target = outbound.target(trigger, adapter.read(host.event()));
  if (target === undefined) throw new Error('the event has no target');
  return target;
}

/** Sends the rows like the outbox, with retries after rate limits. */
async function send(text: string, more: Partial<OutboundMessage> = {}, of: Partial<SendContext> = {}) {
  const message: OutboundMessage = { target: eventTarget(), action: { do: 'post' }, text, ...more };
  const receipts: SendReceipt[] = [];
  for (const [index, rendered] of outbound.render(trigger, message).entries())
    for (;;) {
      try {
        receipts.push(await outbound.send(trigger, rendered, context({ rowId: `row/${index}`, ...of })));
        break;
      } catch (error) {
        if (!(error instanceof DeliveryError) || !error.isRateLimited) throw error;
        await new Promise((done) => setTimeout(done, error.retryAfterMs));
      }
    }
  return receipts;
}

const refusalOf = (sending: Promise<unknown>): Promise<DeliveryError> =>
  sending.then(
    () => Promise.reject(new Error('the request succeeded')),
    (error: DeliveryError) => error,
  );

test('a reply replaces the placeholder of its interaction without the bot token, and further parts follow it', async () => {
  expect(platform.thinkingIn()).toBe(1);
  const text = `${'a '.repeat(999)}\n\n${'b '.repeat(999)}`;
  const [first, second] = await send(text);
  expect(platform.visibleMessages().map(({ id }) => id)).toEqual([first?.id, second?.id]);
  expect(platform.thinkingIn()).toBe(0);
  // Notices, drafts and repetitions all edit the deferred reply.
  await send('instead');
  await send('instead', { action: { do: 'edit', of: 'any row' } });
  expect(platform.textsIn()[0]).toBe('instead');
  expect(platform.visibleMessages()).toHaveLength(2);
  const agents = platform.calls.map(({ agent, authorization }) => [agent, authorization]);
  for (const each of agents)
    expect(each).toEqual([expect.stringMatching(/^DiscordBot \(https:.*, \d/), undefined]);
});

test('the parts of one reply are sent in order, independently of other interactions in the channel', async () => {
  const secondResponse = await platform.send({ act: command('deploy') });
  const long = 'a '.repeat(1_500);
  const keys = [-2, -1]
    .map((index) => host.event(index))
    .map((event) => rowsOfAnswer(adapter, trigger, event, long).map(({ key }) => key));
  const channel = `outbox/communitychat/${platform.world.applicationId}/${platform.ops.id}`;
  expect(keys).toEqual([interaction, secondResponse].map(({ id }) => Array(2).fill(`${channel}/${id}`)));
});

test('a reply that is replaced by one without a card shows neither card nor buttons', async () => {
  await send('x', { card: { title: 'T', actions: [{ id: 'a', title: 'A' }] } });
  await send('y');
  expect(platform.visibleMessages()).toMatchObject([{ body: { content: 'y', embeds: [], components: [] } }]);
});

test('a message without an interaction is sent once to the channel with the bot token, and can be edited', async () => {
  const conversation = `communitychat/${platform.world.applicationId}/${platform.ops.id}`;
  const target = await outbound.destination?.(trigger, conversation);
  expect(target).toEqual({ place: platform.ops.id });
  for (const otherName of [
    `${conversation}/commands`,
    `communitychat/1/${platform.ops.id}`,
    'x',
    `${conversation}x`,
  ])
    expect(await outbound.destination?.(trigger, otherName)).toBeUndefined();
  if (target === undefined) return;
  const [receipt] = await send('hello', { target });
  // Simulates a lost response to the first attempt.
  expect(await send('hello', { target }, { wasTried: true })).toEqual([receipt]);
  expect(platform.textsIn()).toEqual(['hello']);
  expect(platform.calls[0]?.authorization).toBe(`Bot ${platform.world.botToken}`);
  const edit = { target, action: { do: 'edit', of: 'row' } } as const;
  await send('changed', edit, { receiptOf: async () => receipt });
  expect(platform.textsIn()).toEqual(['changed']);
  const missing = refusalOf(send('x', edit, { receiptOf: async () => ({ id: '1' }) }));
  expect(await missing).toMatchObject({ isTargetMissing: true, isFinal: true, platformCode: 10008 });
});

test('a message that is accepted with an unreadable response is not sent again', async () => {
  platform.fail({ kind: 'garbled' }, undefined, 3);
  const text = `${'a '.repeat(999)}\n\n${'b '.repeat(999)}`;
  expect(await send(text)).toEqual([{ id: '' }, { id: '' }]);
  expect(platform.calls).toHaveLength(2);
  expect(platform.textsIn()).toHaveLength(2);
});

describe('the retry of a later part of a reply', () => {
  const part = async (more: Partial<SendContext>) => {
    const text = `${'a '.repeat(999)}\n\n${'b '.repeat(999)}`;
    const [, row = {}] = outbound.render(trigger, { target: eventTarget(), action: { do: 'post' }, text });
    return outbound.send(trigger, row, context({ rowId: 'part', ...more }));
  };
  const TWICE = /possible duplicate/;

  test('mentions a possible duplicate after an unknown outcome, also after a refusal in between', async () => {
    await send('first');
    platform.fail({ kind: 'cut', isTaken: true });
    expect(await refusalOf(part({}))).toMatchObject({ isOutcomeUnknown: true });
    platform.fail({ kind: 'too many', seconds: 0.01 });
    const retryContext = { wasTried: true };
    expect(await refusalOf(part(retryContext))).toMatchObject({ isRateLimited: true });
    const retried = await eventually(() => part(retryContext));
    expect(retried.note).toMatch(TWICE);
    expect(platform.textsIn()).toHaveLength(3);
    // Another process does not know about earlier attempts.
    const another = await eventually(() => part({ ...retryContext, rowId: 'another' }));
    expect(another.note).toMatch(TWICE);
  });

  test('mentions no duplicate after a certain refusal; first parts and messages with a known id never mention one', async () => {
    await send('first');
    platform.fail({ kind: 'refuse', error: { status: 503, code: 0, message: 'away' } });
    expect(await refusalOf(part({}))).toMatchObject({ isOutcomeUnknown: false });
    expect((await part({ wasTried: true })).note).toBeUndefined();
    const target = { place: platform.ops.id };
    const retry = (createdAt: number) => send('x', { target }, { wasTried: true, createdAt });
    expect((await send('instead', {}, { wasTried: true }))[0]?.note).toBeUndefined();
    expect((await retry(Date.now()))[0]?.note).toBeUndefined();
    expect((await retry(Date.now() - 120_000))[0]?.note).toMatch(TWICE);
  });
});

describe('a refused message', () => {
  test.each([10003, 10008, 10062, 40001, 40060, 50001, 50013, 50027])(
    'with code %i is a permanent failure, with code, meaning and text of the platform in the note',
    async (code) => {
      platform.refuse(code);
      const { message } = chatError(code);
      const error = await refusalOf(send('x'));
      expect(error).toMatchObject({ isFinal: true, platformCode: code });
      expect(error.message).toMatch(
        new RegExp(`^${code} \\S.*: ${message.slice(0, 20).replace(/[()]/g, '.')}`),
      );
    },
  );

  test('with form errors reports the first error, without token and secret', async () => {
    const faults = [
      {
        path: 'embeds.0.title',
        code: 'BASE_TYPE_MAX_LENGTH',
        message: `Must be 256 or fewer: ${interaction.token}`,
      },
      { path: 'content', code: 'OTHER', message: 'the second' },
    ];
    platform.fail({ kind: 'refuse', error: formError(faults) });
    const { message } = await refusalOf(send('x'));
    expect(message).toBe(
      '50035 invalid form body: Invalid Form Body: embeds.0.title: Must be 256 or fewer: … (BASE_TYPE_MAX_LENGTH)',
    );
  });

  test('without a known error code is classified by its HTTP status', async () => {
    platform.fail({ kind: 'refuse', error: chatError(0) });
    expect(await refusalOf(send('x'))).toMatchObject({
      isFinal: true,
      platformCode: 401,
      message: '401 the bot token is not accepted: 401: Unauthorized',
    });
    platform.fail({ kind: 'refuse', error: { status: 400, code: 77_777, message: 'something new' } });
    expect((await refusalOf(send('x'))).message).toBe('77777 (HTTP 400): something new');
    platform.fail({ kind: 'refuse', error: { status: 503, code: 0, message: 'away' } });
    expect(await refusalOf(send('x'))).toMatchObject({ isFinal: false, isPlatformDown: true });
    platform.fail({ kind: 'html', status: 200 });
    expect(await refusalOf(send('x'))).toMatchObject({ isFinal: false, isOutcomeUnknown: true });
  });

  test('with code 10015 is retried twice if the message is recent, and then fails permanently', async () => {
    platform.refuse(10015);
    await send('x');
    expect(platform.textsIn()).toEqual(['x']);
    platform.refuse(10015, undefined, 3);
    const [row = {}] = outbound.render(trigger, { target: eventTarget(), action: { do: 'post' }, text: 'x' });
    const sentAt = (ageMs: number) =>
      refusalOf(outbound.send(trigger, row, context({ createdAt: Date.now() - ageMs })));
    expect(await sentAt(-60_000)).toMatchObject({ isFinal: true, platformCode: 10015 });
    expect(await sentAt(600)).toMatchObject({ isRateLimited: true, retryAfterMs: 2_000 });
    expect(await sentAt(2_600)).toMatchObject({ isFinal: true, platformCode: 10015 });
  });

  test('after the 15 minutes of the token fails permanently, by the clock of the gateway or of the platform', async () => {
    platform.world.advance(900_001);
    expect((await refusalOf(send('x'))).message).toMatch(/^50027 the interaction is older than 15 minutes/);
    await host.store.delete('communitychat-tokens', `${platform.world.applicationId}/${interaction.id}`);
    const calls = platform.calls.length;
    expect(await refusalOf(send('x'))).toMatchObject({
      isFinal: true,
      message: expect.stringContaining('15 minutes') as unknown,
    });
    expect(platform.calls.length).toBe(calls);
  });

  test('with a rate limit waits for the whole pause', async () => {
    platform.fail({ kind: 'too many', seconds: 0.4, scope: 'global' });
    await send('x');
    const [first, second] = platform.calls.map(({ at }) => at);
    // The header has whole seconds, which are rounded up.
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(1_000);
    expect(platform.calls).toHaveLength(2);
  });
});

test('a long answer respects the rate limit headers and meets no refusal', async () => {
  platform.limits.limits.set('POST /webhooks', { maxRequests: 2, ms: 400 });
  platform.limits.limits.set('PATCH /webhooks/messages', { maxRequests: 2, ms: 400 });
  const text = Array.from({ length: 5 }, (_, i) => `${i} `.repeat(800)).join('\n\n');
  const receipts = await send(text);
  expect(receipts.length).toBeGreaterThanOrEqual(5);
  expect(platform.calls.filter(({ status }) => status === 429)).toEqual([]);
  expect(platform.textsIn().join(' ').replace(/\s/g, '')).toBe(text.replace(/\s/g, ''));
});

test('a channel gets five messages in five seconds, and another channel is independent', async () => {
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
  const error = await refusalOf(post(platform.ops.id, 6));
  expect(error).toMatchObject({ isRateLimited: true, isUncontacted: true });
  // Measured from the first message.
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

test('an exceeded rate limit is shown by its name, without the token of the interaction', async () => {
  platform.fail({ kind: 'too many', seconds: 5 });
  const [row = {}] = outbound.render(trigger, { target: eventTarget(), action: { do: 'post' }, text: 'x' });
  await refusalOf(outbound.send(trigger, row, context()));
  const heldLimits = outbound.limits?.(trigger).held;
  expect(heldLimits).toEqual([{ of: 'answers to interactions', forMs: expect.any(Number) as unknown }]);
});
