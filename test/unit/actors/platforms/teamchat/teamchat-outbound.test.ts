// Answers on their way out: to the service of the conversation, with one token for all, and every refusal told by name.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { outboxRows } from '../../../../../actors/events/outbox/outbox-rows.ts';
import { accountOf } from '../../../../../actors/platforms/adapter.ts';
import { teamChatAdapter } from '../../../../../actors/platforms/teamchat/adapter.ts';
import type { StoredEvent } from '../../../../../actors/store/event.ts';
import type { TeamChatTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { sendRow } from '../../../../fixtures/automation/outbound.ts';
import { teamChatTrigger } from '../../../../fixtures/automation/triggers.ts';
import { APP_PASSWORD, TeamPlatform } from '../../../../fixtures/team-platform/team-platform.ts';

const CONVERSATION = '19:0123456789abcdef@thread.tacv2;messageid=1767224924615';

let platform: TeamPlatform;
let adapter: ReturnType<typeof teamChatAdapter>;
let trigger: TeamChatTrigger;
let places = 0;

beforeAll(async () => {
  platform = await new TeamPlatform().start();
});
afterAll(() => platform.stop());
beforeEach(() => {
  adapter = teamChatAdapter(adapterServices());
  trigger = teamChatTrigger('desk', platform.config);
});
afterEach(() => {
  platform.calls.length = 0;
  platform.tokens.length = 0;
  platform.tokenRequests.length = 0;
  platform.gone.clear();
});

/** Each in a place of its own, so that none waits for another. */
const newPlace = () => `${CONVERSATION}${places++}`;

interface Said {
  readonly text?: string;
  readonly place?: string;
  readonly repliesTo?: string | undefined;
  readonly serviceUrl?: string;
  readonly of?: string;
}

function rowOf({
  text = 'hello',
  place = newPlace(),
  repliesTo = '1767',
  serviceUrl = platform.serviceUrl,
  of,
}: Said) {
  if (adapter.outbound === undefined) throw new Error('it cannot send');
  const [row] = outboxRows(
    adapter.outbound,
    accountOf(adapter, trigger),
    trigger,
    {
      target: { place, repliesTo, serviceUrl },
      text,
      action: of === undefined ? { do: 'post' } : { do: 'edit', of },
      mentions: trigger.mentions,
    },
    { eventId: 'e', trace: 't' },
  );
  return { ...row, seq: 1, at: 0, attempt: 1, crashes: 0 } as StoredEvent;
}

const send = (said: Said = {}, more: Parameters<typeof sendRow>[3] = {}) =>
  sendRow(adapter, trigger, rowOf(said), more);
const failure = (said: Said = {}): Promise<unknown> =>
  send(said).then(
    () => undefined,
    (error: unknown) => error,
  );

describe('a message', () => {
  test('answers an activity, with ids that are encoded, and gives the id that the platform has for it', async () => {
    const place = 'a:1/x y~';
    const { id } = await send({ place, repliesTo: 'f:1/2' });
    expect(platform.sentTo(place)).toMatchObject([
      { id, repliesTo: 'f:1/2', body: { type: 'message', text: 'hello', textFormat: 'markdown' } },
    ]);
    expect(platform.calls[0]?.path).toBe('/amer/v3/conversations/a%3A1%2Fx%20y~/activities/f%3A1%2F2');
  });

  test('that answers nothing is a new one in its conversation', async () => {
    const place = newPlace();
    const target = { place, serviceUrl: platform.serviceUrl };
    const [message] = adapter.outbound?.render(trigger, { target, text: 'hi', action: { do: 'post' } }) ?? [];
    await adapter.outbound?.send(trigger, message ?? {}, {
      signal: new AbortController().signal,
      rowId: 'r',
      madeAt: 0,
      wasTried: false,
      receiptOf: async () => undefined,
    });
    expect(platform.calls).toMatchObject([{ path: expect.stringMatching(/\/activities$/), status: 201 }]);
  });

  const sent = (place: string, rowId: string, wasTried: boolean) => {
    const target = { place, serviceUrl: platform.serviceUrl };
    const [message = {}] =
      adapter.outbound?.render(trigger, { target, text: 'hi', action: { do: 'post' } }) ?? [];
    const { signal } = new AbortController();
    const context = { signal, rowId, madeAt: 0, wasTried, receiptOf: async () => undefined };
    return adapter.outbound?.send(trigger, message, context);
  };

  test('that was tried before, nobody knows how, may stand there twice, and its record says so; one that was not says nothing (UR2)', async () => {
    expect((await sent(newPlace(), 'r', true))?.note).toMatch(/may stand there twice/);
    expect((await sent(newPlace(), 'r', false))?.note).toBe(undefined);
  });

  test.each([
    ['was refused says nothing', [412], false],
    ['was refused twice says nothing', [412, 503], false],
    ['may have arrived says so', [502], true],
    ['may have arrived says so also after a refusal', [502, 412], true],
  ])('whose attempt before %s (UR1)', async (_, statuses, isInDoubt) => {
    // Each in a place of its own: there is no second to wait for.
    for (const [i, status] of statuses.entries()) {
      platform.refuse(status, 'Busy');
      await expect(sent(newPlace(), 'row', i > 0)).rejects.toMatchObject({ platformCode: status });
    }
    const note = isInDoubt ? expect.stringContaining('may stand there twice') : undefined;
    expect((await sent(newPlace(), 'row', true))?.note).toEqual(note);
    // It stands there: what comes under its name is another one.
    expect((await sent(newPlace(), 'row', true))?.note).toMatch(/may stand there twice/);
  });

  test('in which somebody would be mentioned has a sign in it that nobody sees, unless the trigger allows it', async () => {
    const place = newPlace();
    const text = 'ask <at>Ada</at> or <attachment>';
    await send({ place, text });
    expect(platform.textsTo(place)).toEqual(['ask <\u2060at>Ada<\u2060/at> or <attachment>']);
    trigger = { ...trigger, mentions: 'allow' };
    const other = newPlace();
    await send({ place: other, text });
    expect(platform.textsTo(other)).toEqual([text]);
  });

  test('is changed where it stands; one that is gone is told so', async () => {
    const place = newPlace();
    const receipt = await send({ place, text: 'thinking' });
    const later = { receiptOf: async () => receipt };
    await new Promise((done) => setTimeout(done, 1_050));
    expect(await send({ place, text: 'done', of: 'row' }, later)).toEqual(receipt);
    expect(platform.sentTo(place)).toMatchObject([{ body: { text: 'done' }, isEdited: true }]);
    const gone = { receiptOf: async () => ({ id: '1:gone' }) };
    await expect(send({ text: 'x', of: 'row' }, gone)).rejects.toMatchObject({
      isFinal: true,
      isTargetGone: true,
      message: expect.stringContaining('404 invalid conversation: ActivityNotFoundInConversation'),
    });
  });

  test('goes to no service that is not allowed any more (TCO1)', async () => {
    expect(await failure({ serviceUrl: 'https://evil.example/' })).toMatchObject({ isFinal: true });
    expect(platform.tokenRequests).toEqual([]);
  });

  test('in one conversation waits its second, and in another does not', async () => {
    const place = newPlace();
    await send({ place });
    expect(await failure({ place })).toMatchObject({ isTooSoon: true, isUnasked: true });
    await send({ place: newPlace() });
    expect(platform.calls).toHaveLength(2);
  });

  test('while it is being made shows as typing', async () => {
    const place = newPlace();
    const target = { place, serviceUrl: platform.serviceUrl };
    await adapter.outbound?.typing?.(trigger, target, new AbortController().signal);
    expect(platform.typing).toContain(place);
  });
});

describe('a refusal', () => {
  test.each([
    [400, 'BadSyntax', '400 the platform does not understand the message: BadSyntax: no'],
    [403, 'BotNotInConversationRoster', '403 tenant not allowed, or the bot may not write there: BotNotIn'],
    [404, 'ConversationNotFound', '404 invalid conversation: ConversationNotFound: no'],
    [413, 'MessageSizeTooBig', '413 too large: MessageSizeTooBig: no'],
  ])('%i is final, and its note has the status and the words of the platform', async (status, code, note) => {
    platform.refuse(status, code, { message: 'no' });
    expect(await failure()).toMatchObject({
      isFinal: true,
      platformCode: status,
      message: expect.stringContaining(note),
    });
    expect(platform.calls).toHaveLength(1);
  });

  test.each([
    [412, false, false],
    [500, true, true],
    [502, true, true],
    [503, false, true],
    [504, true, true],
  ])(
    '%i is tried again; whether it arrived may be unknown: %s',
    async (status, isOutcomeUnknown, isPlatformDown) => {
      platform.refuse(status, 'Busy');
      expect(await failure()).toMatchObject({
        isFinal: false,
        isTooSoon: false,
        isOutcomeUnknown,
        isPlatformDown,
        message: expect.stringMatching(new RegExp(`^${status} .*: Busy: refused`)),
      });
    },
  );

  test('429 is put off by the pause that is named, else each time longer; others are not held up', async () => {
    trigger = { ...trigger, retry: { ...trigger.retry, min_backoff_seconds: 1, factor: 3 } };
    platform.refuse(429, 'TooManyRequests', { retryAfter: '7' });
    expect(await failure()).toMatchObject({ isTooSoon: true, retryAfterMs: 7_000 });
    const place = newPlace();
    platform.refuse(429, 'TooManyRequests', {}, place);
    expect(await failure({ place })).toMatchObject({ isTooSoon: true, retryAfterMs: 1_000 });
    expect(await failure({ place })).toMatchObject({ isTooSoon: true, isUnasked: true });
    await send();
  });

  test('by a page of a proxy is none of the platform', async () => {
    platform.fail({ kind: 'html', status: 200 });
    expect(await failure()).toMatchObject({ isFinal: false, isOutcomeUnknown: true });
    platform.fail({ kind: 'cut', isTaken: true });
    expect(await failure()).toMatchObject({ isFinal: false, isOutcomeUnknown: true, isPlatformDown: true });
  });
});

describe('the token', () => {
  test('is one for many messages, also at the same time and of several triggers', async () => {
    const other = teamChatTrigger('other', platform.config);
    await Promise.all([...Array.from({ length: 3 }, () => send()), sendRow(adapter, other, rowOf({}))]);
    expect(platform.tokenRequests).toHaveLength(1);
    expect(Object.fromEntries(platform.tokenRequests[0] ?? [])).toEqual({
      grant_type: 'client_credentials',
      client_id: trigger.config.app_id,
      client_secret: APP_PASSWORD,
      scope: 'https://api.botframework.com/.default',
    });
    expect(platform.calls.map(({ status }) => status)).toEqual(Array(4).fill(201));
  });

  test('that a service refuses is renewed, once, and the messages are sent', async () => {
    await send();
    platform.revokeTokens();
    await Promise.all(Array.from({ length: 3 }, () => send()));
    expect(platform.tokenRequests).toHaveLength(2);
    expect(platform.calls.filter(({ status }) => status === 201)).toHaveLength(4);
  });

  test('refused again and again makes the message dead after two calls (TCA1)', async () => {
    for (let time = 0; time < 2; time += 1) platform.refuse(401, 'Unauthorized');
    expect(await failure()).toMatchObject({
      isFinal: true,
      message: expect.stringContaining('401 invalid or expired token'),
    });
    expect(platform.calls).toHaveLength(2);
  });

  test('that lasts a minute is used for that minute', async () => {
    platform.tokenSeconds = 60;
    await send();
    await send();
    platform.tokenSeconds = 3_600;
    expect(platform.tokenRequests).toHaveLength(1);
  });

  test('that is not given is told by name, without the password, and the service is not asked (TCA3)', async () => {
    const body = { error: 'invalid_client', error_description: `AADSTS7000215: not ${APP_PASSWORD}` };
    platform.tokenFaults.push({ status: 401, body }, { status: 400, body }, { status: 503, body: {} });
    const wrong = await failure();
    expect(wrong).toMatchObject({
      isFinal: true,
      platformCode: 401,
      message: expect.stringContaining('invalid_client: AADSTS7000215'),
    });
    expect((wrong as Error).message).not.toContain(APP_PASSWORD);
    adapter = teamChatAdapter(adapterServices());
    expect(await failure()).toMatchObject({ isFinal: true, platformCode: 400 });
    adapter = teamChatAdapter(adapterServices());
    expect(await failure()).toMatchObject({ isFinal: false, isOutcomeUnknown: false, isPlatformDown: true });
    expect(platform.calls).toEqual([]);
    await send();
  });

  test('that is refused for good is asked for again after a while only, in which messages are put off (TCA2)', async () => {
    platform.tokenFaults.push({ status: 401, body: { error: 'invalid_client' } });
    expect(await failure()).toMatchObject({ isFinal: true });
    for (let n = 0; n < 20; n += 1)
      expect(await failure()).toMatchObject({ isFinal: false, isTooSoon: true, isUnasked: true });
    expect(platform.tokenRequests).toHaveLength(1);
    await expect.poll(() => failure(), { timeout: 10_000, interval: 100 }).toBe(undefined);
    expect(platform.tokenRequests).toHaveLength(2);
  });

  test('that is refused for now holds up the whole app, by a pause that grows once for each refusal (TCO2)', async () => {
    trigger = { ...trigger, retry: { ...trigger.retry, min_backoff_seconds: 1, factor: 3 } };
    platform.tokenFaults.push({ status: 429, body: {} }, { status: 429, body: {} });
    const together = await Promise.all(Array.from({ length: 3 }, () => failure()));
    for (const each of together) expect(each).toMatchObject({ isTooSoon: true, retryAfterMs: 1_000 });
    for (let n = 0; n < 20; n += 1)
      expect(await failure()).toMatchObject({ isTooSoon: true, isUnasked: true });
    expect(platform.tokenRequests).toHaveLength(1);
    const isAsked = async () =>
      ((await failure()) as { isUnasked?: boolean } | undefined)?.isUnasked === false;
    await expect.poll(isAsked, { timeout: 10_000, interval: 100 }).toBe(true);
    expect(platform.tokenRequests).toHaveLength(2);
    expect(adapter.outbound?.limits?.(trigger).held?.[0]).toMatchObject({ of: 'account' });
  });
});
