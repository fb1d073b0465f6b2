// Outbound messages of the business messenger, over real sockets to the fake cloud API.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { GrowingPauses } from '../../../../../actors/events/outbox/growing-pauses.ts';
import type { OutboundMessage } from '../../../../../actors/events/outbox/message.ts';
import type { Outbound } from '../../../../../actors/events/outbox/outbound.ts';
import { businessMessengerOutbound } from '../../../../../actors/platforms/businessmessenger/outbound.ts';
import { SendsInProgress } from '../../../../../actors/platforms/businessmessenger/sends-in-progress.ts';
import type { BusinessMessengerTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { businessMessengerTrigger } from '../../../../fixtures/automation/triggers.ts';
import { BusinessPlatform, type Fault } from '../../../../fixtures/business-platform/business-platform.ts';
import { graphError } from '../../../../fixtures/business-platform/graph-error.ts';

const PHONE = '100000000000001';
const ADA = '15550002222';
const TOKEN = 'a-secret-token';

let platform: BusinessPlatform;
let outbound: Outbound<BusinessMessengerTrigger>;
let trigger: BusinessMessengerTrigger;

beforeEach(async () => {
  platform = await new BusinessPlatform({ token: TOKEN, phoneNumberIds: [PHONE] }).start();
  outbound = businessMessengerOutbound(new SendsInProgress());
  trigger = {
    ...businessMessengerTrigger('desk', { bot_token: TOKEN, graph_url: platform.url }),
    retry: { attempts: 3, min_backoff_seconds: 2, max_backoff_seconds: 15, factor: 3 },
  };
});
afterEach(() => platform.stop());

async function send(text: string, place = ADA, signal = AbortSignal.timeout(20_000)): Promise<string> {
  const message: OutboundMessage = { target: { place }, action: { do: 'post' }, text };
  const [rendered] = outbound.render(trigger, message);
  const receiptOf = async () => undefined;
  const context = { signal, rowId: 'row', createdAt: Date.now(), wasTried: false, receiptOf };
  return (await outbound.send(trigger, rendered ?? {}, context)).id;
}

const refusalOf = (text = 'hello', place = ADA) =>
  send(text, place).then(
    () => undefined,
    (error: DeliveryError) => error,
  );

it('a message is sent from the number of the trigger and returns its id', async () => {
  const id = await send('hello');
  expect(platform.sent).toMatchObject([{ id, phoneNumberId: PHONE, whom: ADA }]);
  expect(platform.calls[0]).toMatchObject({
    path: `/v24.0/${PHONE}/messages`,
    authorization: `Bearer ${TOKEN}`,
  });
});

it('an HTML page with status 200 as response to a message is an unknown outcome', async () => {
  platform.fail({ kind: 'html', status: 200 });
  expect(await refusalOf()).toMatchObject({ isFinal: false, isRateLimited: false, isOutcomeUnknown: true });
});

describe('the error code of a refused message', () => {
  it.each([100, 190, 368, 131008, 131009, 131026, 131030, 131047, 131051])(
    '%i is permanent',
    async (code) => {
      platform.refuse(code, `details: ${TOKEN}`);
      const error = await refusalOf();
      expect(error).toMatchObject({ platformCode: code, isFinal: true, isRateLimited: false });
      expect(error?.message).toMatch(new RegExp(`^${code} [a-z].*: details: `));
      expect(error?.message).not.toContain(TOKEN);
    },
  );

  it.each([
    [131000, 500],
    [131016, 400],
    [131016, 503],
    [131057, 400],
  ])('%i with status %i is temporary', async (code, status) => {
    platform.refuse(code, 'refused', { status });
    expect(await refusalOf()).toMatchObject({ platformCode: code, isFinal: false, isRateLimited: false });
  });

  it.each([
    [130429, 400],
    [131056, 400],
    [80007, 429],
  ])('%i with status %i is a rate limit', async (code, status) => {
    platform.refuse(code, 'too much', { status });
    expect(await refusalOf()).toMatchObject({ isRateLimited: true, isFinal: false, retryAfterMs: 2_000 });
    // No request is sent in the pause.
    expect((await refusalOf())?.isRateLimited).toBe(true);
    expect(platform.calls).toHaveLength(1);
  });

  it('without Retry-After causes growing pauses by spec.retry, until a message is accepted', () => {
    const pauses = new GrowingPauses();
    const { retry } = trigger;
    expect([1, 2, 3, 4].map(() => pauses.next('a', retry))).toEqual([2_000, 6_000, 15_000, 15_000]);
    expect(pauses.next('b', retry)).toBe(2_000);
    pauses.end('a');
    expect(pauses.next('a', retry)).toBe(2_000);
  });

  it('with Retry-After causes a pause of this length', async () => {
    platform.refuse(130429, 'too much', { headers: { 'retry-after': '7' } });
    expect(await refusalOf()).toMatchObject({ isRateLimited: true, retryAfterMs: 7_000 });
  });

  it('for one recipient delays only messages to this recipient; the code for the sender number delays all messages', async () => {
    platform.refuse(131056);
    expect(await refusalOf('hello', ADA)).toMatchObject({ platformCode: 131056 });
    await send('hello', '15550003333');
    expect(await refusalOf('again', ADA)).toMatchObject({ isRateLimited: true });
    expect(platform.calls).toHaveLength(2);
    platform.refuse(130429);
    expect(await refusalOf('hello', '15550003333')).toMatchObject({ platformCode: 130429 });
    expect(await refusalOf('hello', '15550004444')).toMatchObject({ isRateLimited: true });
    expect(platform.calls).toHaveLength(3);
  });
});

describe('without a platform error code', () => {
  const cases: readonly (readonly [string, Fault, object])[] = [
    [
      'an error page of a proxy is temporary',
      { kind: 'html', status: 502 },
      { isFinal: false, isOutcomeUnknown: true },
    ],
    [
      'Retry-After of a proxy is respected',
      { kind: 'html', status: 503, retryAfter: '3' },
      { isRateLimited: true, retryAfterMs: 3_000 },
    ],
    [
      'status 429 is a rate limit',
      { kind: 'html', status: 429 },
      { isRateLimited: true, retryAfterMs: 2_000 },
    ],
    ['a cut connection is temporary', { kind: 'cut' }, { isFinal: false, isOutcomeUnknown: true }],
    [
      'an unknown code with status 400 is permanent',
      { kind: 'refuse', error: graphError(139999, 'what?') },
      { isFinal: true, platformCode: 139999 },
    ],
  ];
  it.each(cases)('%s', async (_, fault, expected) => {
    platform.fail(fault);
    expect(await refusalOf()).toMatchObject(expected);
  });

  it('a request to a hanging platform is aborted at the end of the attempt', async () => {
    platform.fail({ kind: 'hang' });
    const error = await send('hello', ADA, AbortSignal.timeout(100)).catch((reason: DeliveryError) => reason);
    expect(error).toMatchObject({ isFinal: false, isOutcomeUnknown: true });
    await send('and again');
    expect(platform.textsTo(ADA)).toEqual(['✅ and again']);
  });
});

it('read marks and typing indicators are the same as those of a third-party client', async () => {
  const { signal } = new AbortController();
  const inbound = { context: { 'message.id': 'wamid.7' } } as unknown as Parameters<
    NonNullable<typeof outbound.markSeen>
  >[1];
  await outbound.markSeen?.(trigger, inbound, signal);
  await outbound.showTyping?.(trigger, { place: ADA, repliesTo: 'wamid.8' }, signal);
  await outbound.showTyping?.(trigger, { place: ADA }, signal);
  expect(platform.calls.map(({ body }) => body)).toEqual([
    { messaging_product: 'whatsapp', status: 'read', message_id: 'wamid.7' },
    {
      messaging_product: 'whatsapp',
      status: 'read',
      message_id: 'wamid.8',
      typing_indicator: { type: 'text' },
    },
  ]);
});
