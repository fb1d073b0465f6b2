// How answers leave for the business messenger: over real sockets to the fake of its cloud API.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { GrowingPauses } from '../../../../../actors/events/outbox/growing-pauses.ts';
import type { Outbound } from '../../../../../actors/events/outbox/outbound.ts';
import type { OutboundMessage } from '../../../../../actors/events/outbox/outbound-message.ts';
import { businessMessengerOutbound } from '../../../../../actors/platforms/businessmessenger/outbound.ts';
import { SendingNow } from '../../../../../actors/platforms/businessmessenger/sending-now.ts';
import type { BusinessMessengerTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { businessMessengerTrigger } from '../../../../fixtures/automation/triggers.ts';
import { BusinessPlatform, type Fault } from '../../../../fixtures/business-platform/business-platform.ts';
import { graphError } from '../../../../fixtures/business-platform/graph-error.ts';

const PHONE = '100000000000001';
const ADA = '15550002222';
const TOKEN = 'a-token-that-nobody-may-see';

let platform: BusinessPlatform;
let outbound: Outbound<BusinessMessengerTrigger>;
let trigger: BusinessMessengerTrigger;

beforeEach(async () => {
  platform = await new BusinessPlatform({ token: TOKEN, phoneNumberIds: [PHONE] }).start();
  outbound = businessMessengerOutbound(new SendingNow());
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
  const context = { signal, rowId: 'row', madeAt: Date.now(), wasTried: false, receiptOf };
  return (await outbound.send(trigger, rendered ?? {}, context)).id;
}

const refused = (text = 'hello', place = ADA) =>
  send(text, place).then(
    () => undefined,
    (error: DeliveryError) => error,
  );

it('a message leaves from its number, and its id comes back', async () => {
  const id = await send('hello');
  expect(platform.sent).toMatchObject([{ id, phoneNumberId: PHONE, whom: ADA }]);
  expect(platform.calls[0]).toMatchObject({
    path: `/v24.0/${PHONE}/messages`,
    authorization: `Bearer ${TOKEN}`,
  });
});

it('a page that something else answers with 200 is no message sent', async () => {
  platform.fail({ kind: 'html', status: 200 });
  expect(await refused()).toMatchObject({ isFinal: false, isTooSoon: false, isOutcomeUnknown: true });
});

describe('the code of a refusal decides', () => {
  it.each([100, 190, 368, 131008, 131009, 131026, 131030, 131047, 131051])('%i is final', async (code) => {
    platform.refuse(code, `the platform has said so: ${TOKEN}`);
    const error = await refused();
    expect(error).toMatchObject({ platformCode: code, isFinal: true, isTooSoon: false });
    expect(error?.message).toMatch(new RegExp(`^${code} [a-z].*: the platform has said so: `));
    expect(error?.message).not.toContain(TOKEN);
  });

  it.each([
    [131000, 500],
    [131016, 400],
    [131016, 503],
    [131057, 400],
  ])('%i, under %i, may pass', async (code, status) => {
    platform.refuse(code, 'refused', { status });
    expect(await refused()).toMatchObject({ platformCode: code, isFinal: false, isTooSoon: false });
  });

  it.each([
    [130429, 400],
    [131056, 400],
    [80007, 429],
  ])('%i, under %i, is no failure: it is put off', async (code, status) => {
    platform.refuse(code, 'too much', { status });
    expect(await refused()).toMatchObject({ isTooSoon: true, isFinal: false, retryAfterMs: 2_000 });
    // Nothing is asked again before that.
    expect((await refused())?.isTooSoon).toBe(true);
    expect(platform.calls).toHaveLength(1);
  });

  it('without a pause of the platform that of spec.retry grows, until something is taken', () => {
    const pauses = new GrowingPauses();
    const { retry } = trigger;
    expect([1, 2, 3, 4].map(() => pauses.next('a', retry))).toEqual([2_000, 6_000, 15_000, 15_000]);
    expect(pauses.next('b', retry)).toBe(2_000);
    pauses.end('a');
    expect(pauses.next('a', retry)).toBe(2_000);
  });

  it('a pause that is named is kept', async () => {
    platform.refuse(130429, 'too much', { headers: { 'retry-after': '7' } });
    expect(await refused()).toMatchObject({ isTooSoon: true, retryAfterMs: 7_000 });
  });

  it('what is too much for one person holds up no other; what is too much for the number does', async () => {
    platform.refuse(131056);
    expect(await refused('hello', ADA)).toMatchObject({ platformCode: 131056 });
    await send('hello', '15550003333');
    expect(await refused('again', ADA)).toMatchObject({ isTooSoon: true });
    expect(platform.calls).toHaveLength(2);
    platform.refuse(130429);
    expect(await refused('hello', '15550003333')).toMatchObject({ platformCode: 130429 });
    expect(await refused('hello', '15550004444')).toMatchObject({ isTooSoon: true });
    expect(platform.calls).toHaveLength(3);
  });
});

describe('without a code', () => {
  const cases: readonly (readonly [string, Fault, object])[] = [
    ['a page of a proxy may pass', { kind: 'html', status: 502 }, { isFinal: false, isOutcomeUnknown: true }],
    [
      'a pause of a proxy is kept',
      { kind: 'html', status: 503, retryAfter: '3' },
      { isTooSoon: true, retryAfterMs: 3_000 },
    ],
    ['too much is no failure', { kind: 'html', status: 429 }, { isTooSoon: true, retryAfterMs: 2_000 }],
    ['a cut connection may pass', { kind: 'cut' }, { isFinal: false, isOutcomeUnknown: true }],
    [
      'an unknown code under 400 is final',
      { kind: 'refuse', error: graphError(139999, 'what?') },
      { isFinal: true, platformCode: 139999 },
    ],
  ];
  it.each(cases)('%s', async (_, fault, expected) => {
    platform.fail(fault);
    expect(await refused()).toMatchObject(expected);
  });

  it('a platform that hangs is left at the end of the attempt', async () => {
    platform.fail({ kind: 'hang' });
    const error = await send('hello', ADA, AbortSignal.timeout(100)).catch((reason: DeliveryError) => reason);
    expect(error).toMatchObject({ isFinal: false, isOutcomeUnknown: true });
    await send('and again');
    expect(platform.textsTo(ADA)).toEqual(['✅ and again']);
  });
});

it('marks are sent as a client that others have written sends them', async () => {
  const { signal } = new AbortController();
  const inbound = { context: { 'message.id': 'wamid.7' } } as unknown as Parameters<
    NonNullable<typeof outbound.seen>
  >[1];
  await outbound.seen?.(trigger, inbound, signal);
  await outbound.typing?.(trigger, { place: ADA, repliesTo: 'wamid.8' }, signal);
  await outbound.typing?.(trigger, { place: ADA }, signal);
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
