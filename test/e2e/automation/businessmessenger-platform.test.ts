// The platform of the business messenger at its worst, with the whole program: limits, refusals, cuts, and many at once.

import { describe, expect, it } from 'vitest';
import { eventually, httpAgent, startAgent, startAutomation } from '../../fixtures/automation/automation.ts';
import type { Fault } from '../../fixtures/business-platform/business-platform.ts';
import {
  APP_SECRET,
  business,
  credentials,
  startMessenger,
  startPlatform,
  TOKEN,
  VERIFY_TOKEN,
} from '../../fixtures/business-platform/messenger.ts';
import {
  messagesOf,
  notification,
  type Person,
  textMessage,
} from '../../fixtures/business-platform/notification.ts';
import { WebhookSender } from '../../fixtures/business-platform/webhook-sender.ts';

const ada = { name: 'Ada', number: '15550002222' };

describe('the platform', () => {
  it('that says "too much" again and again loses nothing, and uses up no attempt', async () => {
    const desk = await startMessenger({
      spec: { retry: { attempts: 2, min_backoff_seconds: 0.1, factor: 1, max_backoff_seconds: 0.1 } },
    });
    for (const code of [130429, 131056, 80007, 130429, 131056]) desk.platform.refuse(code);
    await desk.say(ada, textMessage(ada, 'hello'));
    await eventually(() => expect(desk.platform.textsTo(ada.number)).toEqual(['✅ heard: hello']));
    await eventually(async () =>
      expect((await desk.outbox())[0]).toMatchObject({ state: 'done', attempts: 1 }),
    );
    expect(desk.platform.sendings).toHaveLength(6);
  });

  it('that refuses for good is asked once; the note has its code, and the event is done', async () => {
    const desk = await startMessenger();
    const said = textMessage(ada, 'hello');
    desk.platform.closedWindows.add(ada.number);
    await desk.say(ada, said);
    await eventually(async () =>
      expect((await desk.outbox())[0]).toMatchObject({
        state: 'dead',
        attempts: 1,
        note: expect.stringMatching(
          /131047 re-engagement message required: \(#131047\) Re-engagement message: More than 24 hours/,
        ),
      }),
    );
    expect(await desk.delivery(`businessmessenger:desk/${said.id}`)).toMatchObject({ state: 'done' });
    expect(desk.platform.sendings).toHaveLength(1);
    desk.platform.closedWindows.clear();
    const { id } = (await desk.outbox())[0] ?? { id: '' };
    await desk.replay(id);
    await eventually(() => expect(desk.platform.textsTo(ada.number)).toEqual(['✅ heard: hello']));
    expect(desk.agent.requests).toHaveLength(1);
    const shown = desk.gateway.text() + JSON.stringify(await desk.outbox());
    for (const secret of [TOKEN, APP_SECRET, VERIFY_TOKEN]) expect(shown).not.toContain(secret);
  });

  it('that says afterwards that a message did not arrive: its delivery is dead, over kill -9, and a replay sends it again', async () => {
    const first = await startMessenger();
    await first.say(ada, textMessage(ada, 'hello'));
    await eventually(async () => expect(await first.outbox()).toMatchObject([{ state: 'done' }]));
    const [{ id = '' } = {}] = first.platform.sent;
    const errors = [{ code: 131047, title: 'x', error_data: { details: 'More than 24 hours have passed' } }];
    const status = { id, status: 'failed', timestamp: '1772998035', recipient_id: ada.number, errors };
    const failed = notification(business, { statuses: [status] });
    await first.sender.deliver(failed);
    await first.gateway.stop('SIGKILL');
    const desk = await first.again();
    const [row] = await desk.outbox();
    expect(row).toMatchObject({
      state: 'dead',
      attempts: 1,
      note: '131047 re-engagement message required: More than 24 hours have passed',
    });
    expect(await desk.delivery(row?.id ?? '')).toMatchObject({ receipt: id });
    await desk.replay(row?.id ?? '');
    await eventually(async () => expect(await desk.outbox()).toMatchObject([{ state: 'done', note: null }]));
    // What is said of the first message is nothing to the second, and nobody is told of it in the chat.
    await desk.sender.deliver(failed);
    expect(await desk.outbox()).toMatchObject([{ state: 'done' }]);
    expect(desk.platform.textsTo(ada.number)).toEqual(['✅ heard: hello', '✅ heard: hello']);
    expect(desk.agent.requests).toHaveLength(1);
  });

  it.each<readonly [string, Fault]>([
    ['answers with a page', { kind: 'html', status: 502 }],
    ['cuts the connection', { kind: 'cut' }],
    [
      'is out of service under 400',
      { kind: 'refuse', error: { code: 131016, details: 'busy', status: 400 } },
    ],
  ])(
    'that %s is asked again, in the middle of a long answer too, and all of it arrives in order',
    async (_, fault) => {
      const long = Array.from({ length: 1_500 }, (_, i) => `line ${i}`).join('\n');
      const desk = await startMessenger({ answer: () => ({ text: long }) });
      desk.platform.fail(fault);
      await desk.say(ada, textMessage(ada, 'tell me'));
      await eventually(() => expect(desk.platform.sent.length).toBeGreaterThan(1));
      desk.platform.fail(fault);
      await eventually(() => expect(desk.platform.textsTo(ada.number).join('\n')).toBe(`✅ ${long}`));
    },
  );

  it('that hangs delays nobody but those it hangs for', async () => {
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

it('300 messages of 100 people in one notification are taken within seconds, and each is answered once, in order', async () => {
  const desk = await startMessenger({ answer: ({ body }) => ({ text: body.input }) });
  const people = Array.from({ length: 100 }, (_, i) => ({ name: `P${i}`, number: String(15551000000 + i) }));
  const said = Array.from({ length: 300 }, (_, i) => {
    const person = people[i % 100] as Person;
    return [person, textMessage(person, `m${i}`)] as const;
  });
  await desk.sender.deliver(messagesOf(business, said));
  expect(desk.sender.attempts).toEqual([{ status: 200, tookMs: expect.any(Number) }]);
  expect(desk.sender.attempts[0]?.tookMs).toBeLessThan(5_000);
  await eventually(() => expect(desk.platform.sent).toHaveLength(300), 60_000);
  for (const [i, { number }] of people.entries())
    expect(desk.platform.textsTo(number)).toEqual([`✅ m${i}`, `✅ m${i + 100}`, `✅ m${i + 200}`]);
  expect(desk.agent.requests).toHaveLength(300);
});
