// Faults of the business messenger platform, with the whole program: limits, refusals, cut connections and
// floods of messages.

import { describe, expect, it } from 'vitest';
import { eventually, httpAgent, startAgent, startAutomation } from '../../fixtures/automation/automation.ts';
import type { Fault } from '../../fixtures/business-platform/business-platform.ts';
import { graphError } from '../../fixtures/business-platform/graph-error.ts';
import {
  APP_SECRET,
  business,
  credentials,
  type Messenger,
  startMessenger,
  startPlatform,
  VERIFY_TOKEN,
} from '../../fixtures/business-platform/messenger.ts';
import {
  messagesOf,
  notification,
  type Person,
  textMessage,
} from '../../fixtures/business-platform/notification.ts';
import { vendorLimits } from '../../fixtures/business-platform/rate-meter.ts';
import { WebhookSender } from '../../fixtures/business-platform/webhook-sender.ts';

const ada = { name: 'Ada', number: '15550002222' };
const bob = { name: 'Bob', number: '15550003333' };

describe('the business messenger platform', () => {
  const impatient = { attempts: 2, min_backoff_seconds: 0.1, factor: 1, max_backoff_seconds: 0.1 };
  const rowOf = async ({ outbox }: Messenger, number: string) =>
    (await outbox()).find(({ conversation }) => conversation.endsWith(`/${number}`));

  it('may return many rate limit errors: the message is sent later, no attempt is counted', async () => {
    const desk = await startMessenger({ spec: { retry: impatient } });
    const plain: Fault = { kind: 'html', status: 429, retryAfter: '0' };
    const tooMuch = (code: number, status?: number): Fault => ({
      kind: 'refuse',
      error: graphError(code, 'too much', { status }),
    });
    const faults: readonly (readonly [string, readonly Fault[]])[] = [
      ['1', Array(4).fill(tooMuch(130429))],
      ['2', Array(4).fill(tooMuch(131056, 400))],
      ['3', Array(4).fill(tooMuch(80007))],
      ['4', [tooMuch(130429, 400), tooMuch(131056), tooMuch(80007, 400), tooMuch(4), plain]],
    ];
    for (const [end, all] of faults) {
      const person = { name: 'P', number: `1555000000${end}` };
      for (const fault of all) desk.platform.fail(fault, person.number);
      await desk.say(person, textMessage(person, 'hello'));
      await eventually(async () =>
        expect(await rowOf(desk, person.number)).toMatchObject({ state: 'done', attempts: 1 }),
      );
      expect(desk.platform.textsTo(person.number)).toEqual(['✅ heard: hello']);
      const row = await rowOf(desk, person.number);
      expect(row?.deferrals).toBeGreaterThanOrEqual(all.length);
      expect(await desk.delivery(row?.id ?? '')).toMatchObject({ failures: [] });
    }
    expect(desk.platform.sendings).toHaveLength(4 + 17);
  });

  it('is retried after each temporary error, but not after a permanent error', async () => {
    const desk = await startMessenger({ spec: { retry: { ...impatient, attempts: 3 } } });
    const people = (codes: readonly number[]) =>
      codes.map((code) => ({ name: 'P', number: String(15552000000 + code), code }));
    const passing = people([131000, 131016, 131057, 133004, 1, 2]);
    const final = people([100, 131030, 131047, 131051, 368, 190, 131026]);
    for (const person of [...passing, ...final]) {
      // Also under an unusual HTTP status, because the error code decides.
      const statuses = passing.includes(person) ? [undefined, 400] : [undefined];
      for (const status of statuses)
        desk.platform.fail(
          { kind: 'refuse', error: graphError(person.code, 'the reason', { status }) },
          person.number,
        );
    }
    const messages = [...passing, ...final].map((person) => [person, textMessage(person, 'hello')] as const);
    await desk.sender.deliver(messagesOf(business, messages));
    for (const { number, code } of passing) {
      await eventually(async () =>
        expect(await rowOf(desk, number), String(code)).toMatchObject({
          state: 'done',
          attempts: 3,
          deferrals: expect.any(Number),
        }),
      );
      expect(desk.platform.textsTo(number)).toEqual(['✅ heard: hello']);
    }
    for (const { number, code } of final) {
      await eventually(async () =>
        expect(await rowOf(desk, number), String(code)).toMatchObject({
          state: 'dead',
          attempts: 1,
          note: expect.stringMatching(new RegExp(`^${code} .*the reason$`)),
        }),
      );
      expect(desk.platform.sendings.filter(({ body }) => body.to === number)).toHaveLength(1);
    }
    for (const [person, { id }] of messages)
      expect(await desk.delivery(`businessmessenger:desk/${id}`), person.number).toMatchObject({
        state: 'done',
      });
    expect(desk.agent.requests).toHaveLength(messages.length);
  });

  it('is not called during a pause that it requested', async () => {
    const desk = await startMessenger({ spec: { retry: impatient } });
    desk.platform.refuse(130429, 'too much', { headers: { 'retry-after': '2' } });
    await desk.say(ada, textMessage(ada, 'hello'));
    await eventually(() => expect(desk.platform.sendings).toHaveLength(1));
    await desk.say(bob, textMessage(bob, 'hello'));
    await eventually(() => expect(desk.platform.sent).toHaveLength(2));
    const [refused, ...others] = desk.platform.sendings.map(({ at }) => at);
    for (const at of others) expect(at - (refused ?? 0)).toBeGreaterThanOrEqual(2_000);
    expect(others).toHaveLength(2);
    expect(await rowOf(desk, ada.number)).toMatchObject({ attempts: 1 });
  });

  it('may report a failed message later: its delivery is dead, and a replay sends it again', async () => {
    const first = await startMessenger();
    await first.say(ada, textMessage(ada, 'hello'));
    await eventually(async () => expect(await first.outbox()).toMatchObject([{ state: 'done' }]));
    const [{ id = '' } = {}] = first.platform.sent;
    const errors = [{ code: 131047, title: 'x', error_data: { details: 'More than 24 hours have passed' } }];
    const status = { id, status: 'failed', timestamp: '1772998035', recipient_id: ada.number, errors };
    const failed = notification(business, { statuses: [status] });
    await first.sender.deliver(failed);
    await first.gateway.stop('SIGKILL');
    const desk = await first.restart();
    const [row] = await desk.outbox();
    expect(row).toMatchObject({
      state: 'dead',
      attempts: 1,
      note: '131047 re-engagement message required: More than 24 hours have passed',
    });
    expect(await desk.delivery(row?.id ?? '')).toMatchObject({ receipt: id });
    await desk.replay(row?.id ?? '');
    await eventually(async () => expect(await desk.outbox()).toMatchObject([{ state: 'done', note: null }]));
    // A report about the first message does not affect the second, and the chat gets no notice.
    await desk.sender.deliver(failed);
    expect(await desk.outbox()).toMatchObject([{ state: 'done' }]);
    expect(desk.platform.textsTo(ada.number)).toEqual(['✅ heard: hello', '✅ heard: hello']);
    expect(desk.agent.requests).toHaveLength(1);
  });

  it.each<readonly [string, Fault]>([
    ['returns a page', { kind: 'html', status: 502 }],
    ['cuts the connection', { kind: 'cut' }],
    [
      'is out of service under 400',
      { kind: 'refuse', error: { code: 131016, details: 'busy', status: 400 } },
    ],
  ])('that %s is retried, also within a long answer, and all parts arrive in order', async (_, fault) => {
    const long = Array.from({ length: 1_500 }, (_, i) => `line ${i}`).join('\n');
    const desk = await startMessenger({ answer: () => ({ text: long }) });
    desk.platform.fail(fault);
    await desk.say(ada, textMessage(ada, 'tell me'));
    await eventually(() => expect(desk.platform.sent.length).toBeGreaterThan(1));
    desk.platform.fail(fault);
    await eventually(() => expect(desk.platform.textsTo(ada.number).join('\n')).toBe(`✅ ${long}`));
  });

  it('that hangs for one business number delays no message of another number', async () => {
    const hanging = await startPlatform();
    const platform = await startPlatform();
    for (let count = 0; count < 100; count += 1) hanging.fail({ kind: 'hang' });
    const program = await startAgent();
    const of = (name: string, phone: string, graph_url: string) => ({
      kind: 'Trigger' as const,
      name,
      spec: {
        type: 'BusinessMessenger',
        config: { ...credentials, phone_number_id: phone, graph_url },
        default_agent: 'desk',
      },
    });
    const other = { phone_number_id: '100000000000009', display_phone_number: '1' };
    const gateway = await startAutomation({
      resources: [
        of('desk', business.phone_number_id, platform.url),
        of('stuck', other.phone_number_id, hanging.url),
        httpAgent('desk', program.url),
      ],
    });
    const url = `${gateway.url}/webhook/businessmessenger`;
    const sender = new WebhookSender({ url, appSecret: APP_SECRET, verifyToken: VERIFY_TOKEN });
    const many = Array.from({ length: 80 }, (_, i) => {
      const person = { name: 'P', number: String(15551000000 + i) };
      return [person, textMessage(person, 'hello')] as const;
    });
    await sender.deliver(messagesOf(other, many));
    await eventually(() => expect(program.requests.length).toBe(80));
    await sender.deliver(messagesOf(business, [[ada, textMessage(ada, 'hello')]]));
    await eventually(() => expect(platform.textsTo(ada.number)).toEqual(['✅ heard: hello']), 15_000);
  });
});

it('a notification with 300 messages is accepted within 5 seconds, and each message is answered once and in order', async () => {
  const desk = await startMessenger({ answer: ({ body }) => ({ text: body.input }) });
  desk.platform.meter.limits = vendorLimits;
  const people = Array.from({ length: 100 }, (_, i) => ({ name: `P${i}`, number: String(15551000000 + i) }));
  const messages = Array.from({ length: 300 }, (_, i) => {
    const person = people[i % 100] as Person;
    return [person, textMessage(person, `m${i}`)] as const;
  });
  await desk.sender.deliver(messagesOf(business, messages));
  expect(desk.sender.attempts).toEqual([{ status: 200, tookMs: expect.any(Number) }]);
  expect(desk.sender.attempts[0]?.tookMs).toBeLessThan(5_000);
  await eventually(() => expect(desk.platform.sent).toHaveLength(300), 60_000);
  for (const [i, { number }] of people.entries())
    expect(desk.platform.textsTo(number)).toEqual([`✅ m${i}`, `✅ m${i + 100}`, `✅ m${i + 200}`]);
  expect(desk.agent.requests).toHaveLength(300);
  // On a busy machine messages may arrive closer together than they were sent.
  expect(desk.platform.meter.refused.length).toBeLessThanOrEqual(3);
});
