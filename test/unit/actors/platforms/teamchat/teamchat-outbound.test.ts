// Outbound messages: sent to the service URL of the conversation with a shared token, and kinds of refusals.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { outboxRows } from '../../../../../actors/events/outbox/rows.ts';
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
let conversationCount = 0;

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
  platform.removedConversations.clear();
});

/** Returns a new conversation, which has no active rate limit. */
const newConversation = () => `${CONVERSATION}${conversationCount++}`;

interface MessageOptions {
  readonly text?: string;
  readonly place?: string;
  readonly repliesTo?: string | undefined;
  readonly serviceUrl?: string;
  readonly of?: string;
}

function rowOf({
  text = 'hello',
  place = newConversation(),
  repliesTo = '1767',
  serviceUrl = platform.serviceUrl,
  of,
}: MessageOptions) {
  if (adapter.outbound === undefined) throw new Error('the adapter has no outbound part');
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

const send = (options: MessageOptions = {}, more: Parameters<typeof sendRow>[3] = {}) =>
  sendRow(adapter, trigger, rowOf(options), more);
const failure = (options: MessageOptions = {}): Promise<unknown> =>
  send(options).then(
    () => undefined,
    (error: unknown) => error,
  );

describe('an outgoing message', () => {
  test('replies to an activity, with URL-encoded ids, and returns the id of the posted message', async () => {
    const place = 'a:1/x y~';
    const { id } = await send({ place, repliesTo: 'f:1/2' });
    expect(platform.sentTo(place)).toMatchObject([
      { id, repliesTo: 'f:1/2', body: { type: 'message', text: 'hello', textFormat: 'markdown' } },
    ]);
    expect(platform.calls[0]?.path).toBe('/amer/v3/conversations/a%3A1%2Fx%20y~/activities/f%3A1%2F2');
  });

  test('without a reply target is a new message in its conversation', async () => {
    const place = newConversation();
    const target = { place, serviceUrl: platform.serviceUrl };
    const [message] = adapter.outbound?.render(trigger, { target, text: 'hi', action: { do: 'post' } }) ?? [];
    await adapter.outbound?.send(trigger, message ?? {}, {
      signal: new AbortController().signal,
      rowId: 'r',
      createdAt: 0,
      wasTried: false,
      receiptOf: async () => undefined,
    });
    expect(platform.calls).toMatchObject([{ path: expect.stringMatching(/\/activities$/), status: 201 }]);
  });

  const sendAttempt = (place: string, rowId: string, wasTried: boolean) => {
    const target = { place, serviceUrl: platform.serviceUrl };
    const [message = {}] =
      adapter.outbound?.render(trigger, { target, text: 'hi', action: { do: 'post' } }) ?? [];
    const { signal } = new AbortController();
    const context = { signal, rowId, createdAt: 0, wasTried, receiptOf: async () => undefined };
    return adapter.outbound?.send(trigger, message, context);
  };

  test('that is sent again after an unknown outcome is noted as a possible duplicate', async () => {
    expect((await sendAttempt(newConversation(), 'r', true))?.note).toMatch(/possible duplicate/);
    expect((await sendAttempt(newConversation(), 'r', false))?.note).toBe(undefined);
  });

  test.each([
    ['was refused has no note', [412], false],
    ['was refused twice has no note', [412, 503], false],
    ['may have arrived has a note', [502], true],
    ['may have arrived has a note after a refusal too', [502, 412], true],
  ])('whose earlier attempt %s', async (_, statuses, isPossiblyPosted) => {
    for (const [i, status] of statuses.entries()) {
      platform.refuse(status, 'Busy');
      await expect(sendAttempt(newConversation(), 'row', i > 0)).rejects.toMatchObject({
        platformCode: status,
      });
    }
    const note = isPossiblyPosted ? expect.stringContaining('possible duplicate') : undefined;
    expect((await sendAttempt(newConversation(), 'row', true))?.note).toEqual(note);
    // The line above has posted the message, so this attempt may duplicate it.
    expect((await sendAttempt(newConversation(), 'row', true))?.note).toMatch(/possible duplicate/);
  });

  test('has neutralised mentions unless the trigger allows them', async () => {
    const place = newConversation();
    const text = 'ask <at>Ada</at> or <attachment>';
    await send({ place, text });
    expect(platform.textsTo(place)).toEqual(['ask <\u2060at>Ada<\u2060/at> or <attachment>']);
    trigger = { ...trigger, mentions: 'allow' };
    const other = newConversation();
    await send({ place: other, text });
    expect(platform.textsTo(other)).toEqual([text]);
  });

  test('can be edited, and an edit of a missing message fails permanently', async () => {
    const place = newConversation();
    const receipt = await send({ place, text: 'thinking' });
    const later = { receiptOf: async () => receipt };
    await new Promise((done) => setTimeout(done, 1_050));
    expect(await send({ place, text: 'done', of: 'row' }, later)).toEqual(receipt);
    expect(platform.sentTo(place)).toMatchObject([{ body: { text: 'done' }, isEdited: true }]);
    const missing = { receiptOf: async () => ({ id: '1:gone' }) };
    await expect(send({ text: 'x', of: 'row' }, missing)).rejects.toMatchObject({
      isFinal: true,
      isTargetMissing: true,
      message: expect.stringContaining('404 invalid conversation: ActivityNotFoundInConversation'),
    });
  });

  test('is not sent to a service that is no longer allowed', async () => {
    expect(await failure({ serviceUrl: 'https://evil.example/' })).toMatchObject({ isFinal: true });
    expect(platform.tokenRequests).toEqual([]);
  });

  test('waits a second after the last one in its conversation, but not in another', async () => {
    const place = newConversation();
    await send({ place });
    expect(await failure({ place })).toMatchObject({ isRateLimited: true, isUncontacted: true });
    await send({ place: newConversation() });
    expect(platform.calls).toHaveLength(2);
  });

  test('shows a typing indicator while it is prepared', async () => {
    const place = newConversation();
    const target = { place, serviceUrl: platform.serviceUrl };
    await adapter.outbound?.showTyping?.(trigger, target, new AbortController().signal);
    expect(platform.typing).toContain(place);
  });
});

describe('a refused message', () => {
  test.each([
    [400, 'BadSyntax', '400 invalid message: BadSyntax: no'],
    [403, 'BotNotInConversationRoster', '403 the tenant or the bot is not allowed to write there: BotNotIn'],
    [404, 'ConversationNotFound', '404 invalid conversation: ConversationNotFound: no'],
    [413, 'MessageSizeTooBig', '413 too large: MessageSizeTooBig: no'],
  ])(
    'with status %i fails permanently, with status and text of the platform in the note',
    async (status, code, note) => {
      platform.refuse(status, code, { message: 'no' });
      expect(await failure()).toMatchObject({
        isFinal: true,
        platformCode: status,
        message: expect.stringContaining(note),
      });
      expect(platform.calls).toHaveLength(1);
    },
  );

  test.each([
    [412, false, false],
    [500, true, true],
    [502, true, true],
    [503, false, true],
    [504, true, true],
  ])(
    'with status %i is retried, with unknown outcome: %s',
    async (status, isOutcomeUnknown, isPlatformDown) => {
      platform.refuse(status, 'Busy');
      expect(await failure()).toMatchObject({
        isFinal: false,
        isRateLimited: false,
        isOutcomeUnknown,
        isPlatformDown,
        message: expect.stringMatching(new RegExp(`^${status} .*: Busy: refused`)),
      });
    },
  );

  test('with status 429 waits for Retry-After or a growing pause, and does not delay others', async () => {
    trigger = { ...trigger, retry: { ...trigger.retry, min_backoff_seconds: 1, factor: 3 } };
    platform.refuse(429, 'TooManyRequests', { retryAfter: '7' });
    expect(await failure()).toMatchObject({ isRateLimited: true, retryAfterMs: 7_000 });
    const place = newConversation();
    platform.refuse(429, 'TooManyRequests', {}, place);
    expect(await failure({ place })).toMatchObject({ isRateLimited: true, retryAfterMs: 1_000 });
    expect(await failure({ place })).toMatchObject({ isRateLimited: true, isUncontacted: true });
    await send();
  });

  test('whose response is the HTML page of a proxy has an unknown outcome', async () => {
    platform.fail({ kind: 'html', status: 200 });
    expect(await failure()).toMatchObject({ isFinal: false, isOutcomeUnknown: true });
    platform.fail({ kind: 'cut', isTaken: true });
    expect(await failure()).toMatchObject({ isFinal: false, isOutcomeUnknown: true, isPlatformDown: true });
  });
});

describe('the access token of the chat app', () => {
  test('is shared by concurrent messages and by triggers of the app', async () => {
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

  test('that a service refuses is renewed once, and the messages are sent', async () => {
    await send();
    platform.revokeTokens();
    await Promise.all(Array.from({ length: 3 }, () => send()));
    expect(platform.tokenRequests).toHaveLength(2);
    expect(platform.calls.filter(({ status }) => status === 201)).toHaveLength(4);
  });

  test('that is refused again after a renewal fails the message permanently', async () => {
    for (let time = 0; time < 2; time += 1) platform.refuse(401, 'Unauthorized');
    expect(await failure()).toMatchObject({
      isFinal: true,
      message: expect.stringContaining('401 invalid or expired token'),
    });
    expect(platform.calls).toHaveLength(2);
  });

  test('that is valid for only one minute is used during that minute', async () => {
    platform.tokenSeconds = 60;
    await send();
    await send();
    platform.tokenSeconds = 3_600;
    expect(platform.tokenRequests).toHaveLength(1);
  });

  test('that is not issued is reported without the password, and no message is sent', async () => {
    const body = { error: 'invalid_client', error_description: `AADSTS7000215: not ${APP_PASSWORD}` };
    platform.tokenFaults.push({ status: 401, body }, { status: 400, body }, { status: 503, body: {} });
    const sendFailure = await failure();
    expect(sendFailure).toMatchObject({
      isFinal: true,
      platformCode: 401,
      message: expect.stringContaining('invalid_client: AADSTS7000215'),
    });
    expect((sendFailure as Error).message).not.toContain(APP_PASSWORD);
    adapter = teamChatAdapter(adapterServices());
    expect(await failure()).toMatchObject({ isFinal: true, platformCode: 400 });
    adapter = teamChatAdapter(adapterServices());
    expect(await failure()).toMatchObject({ isFinal: false, isOutcomeUnknown: false, isPlatformDown: true });
    expect(platform.calls).toEqual([]);
    await send();
  });

  test('that is not issued is requested again only after a pause, and messages wait', async () => {
    platform.tokenFaults.push({ status: 401, body: { error: 'invalid_client' } });
    expect(await failure()).toMatchObject({ isFinal: true });
    for (let n = 0; n < 20; n += 1)
      expect(await failure()).toMatchObject({ isFinal: false, isRateLimited: true, isUncontacted: true });
    expect(platform.tokenRequests).toHaveLength(1);
    await expect.poll(() => failure(), { timeout: 10_000, interval: 100 }).toBe(undefined);
    expect(platform.tokenRequests).toHaveLength(2);
  });

  test('whose request is rate limited delays the whole app, with a growing pause', async () => {
    trigger = { ...trigger, retry: { ...trigger.retry, min_backoff_seconds: 1, factor: 3 } };
    platform.tokenFaults.push({ status: 429, body: {} }, { status: 429, body: {} });
    const together = await Promise.all(Array.from({ length: 3 }, () => failure()));
    for (const each of together) expect(each).toMatchObject({ isRateLimited: true, retryAfterMs: 1_000 });
    for (let n = 0; n < 20; n += 1)
      expect(await failure()).toMatchObject({ isRateLimited: true, isUncontacted: true });
    expect(platform.tokenRequests).toHaveLength(1);
    const isTokenRequested = async () =>
      ((await failure()) as { isUncontacted?: boolean } | undefined)?.isUncontacted === false;
    await expect.poll(isTokenRequested, { timeout: 10_000, interval: 100 }).toBe(true);
    expect(platform.tokenRequests).toHaveLength(2);
    expect(adapter.outbound?.limits?.(trigger).held?.[0]).toMatchObject({ of: 'account' });
  });
});
