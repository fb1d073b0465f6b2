// Answers as comments on pull requests, with the host's API on loopback: posted once, found, edited, and
// kinds of refusals.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DeliveryError } from '../../../../../../actors/events/outbox/delivery-error.ts';
import type { Adapter } from '../../../../../../actors/platforms/adapter.ts';
import { repoHostCAdapter } from '../../../../../../actors/platforms/repository-hosts/repohostc/adapter.ts';
import type { NewEvent, StoredEvent } from '../../../../../../actors/store/event.ts';
import type { RepoHostCTrigger } from '../../../../../../config/resources/triggers/trigger.ts';
import { rowsOfAnswer, sendRow } from '../../../../../fixtures/automation/outbound.ts';
import { TestSourceHost } from '../../../../../fixtures/automation/source-host.ts';
import { repoHostCTrigger } from '../../../../../fixtures/automation/triggers.ts';
import { signed } from '../../../../../fixtures/repositories/local-repohostc.ts';
import {
  type PayloadValues,
  repoHostCPayload,
} from '../../../../../fixtures/repositories/repohostc-payloads.ts';
import { RepoHostCPlatform } from '../../../../../fixtures/repositories/repohostc-platform.ts';

const TOKEN = 'ATCTT3_the_secret_token';
const PLACE = 'acme/shop!5';
const POST = /^POST .*\/comments$/;
const MARK = /^\[\/\/\]: # \(actor-gateway:[0-9a-f]{32}\)\n\n/;

let platform: RepoHostCPlatform;
let host: TestSourceHost;
let adapter: Adapter<RepoHostCTrigger>;
let trigger: RepoHostCTrigger;
let serial = 0;

beforeEach(async () => {
  platform = await new RepoHostCPlatform().start();
  host = await new TestSourceHost().start();
  adapter = repoHostCAdapter({ maxBodyBytes: 1_000_000 });
  trigger = withToken(`${TOKEN}${Math.random()}`);
  await adapter.open(trigger, host);
});
afterEach(async () => {
  await host.stop();
  await platform.stop();
});

/** Returns a trigger with another token, because rate limits apply per token. */
function withToken(token: string): RepoHostCTrigger {
  return repoHostCTrigger('reviews', { token, api_url: `${platform.url}/2.0`, replay_window_seconds: 0 });
}

async function receive(key: string, original: PayloadValues = {}) {
  serial += 1;
  const body = JSON.stringify(repoHostCPayload(key, { serial, ...original }));
  const { headers } = signed({ key, body, secret: trigger.config.webhook_secret });
  const response = await fetch(`${host.url}/webhook/repohostc`, { method: 'POST', body, headers });
  return { status: response.status, body: (await response.json()) as { readonly status: string } };
}

async function rowsFor(key: string, text: string): Promise<readonly NewEvent[]> {
  await receive(key);
  return rowsOfAnswer(adapter, trigger, host.event(), text);
}

async function rowFor(text: string): Promise<StoredEvent> {
  const [row] = await rowsFor('pullrequest:comment_created', text);
  if (row === undefined) throw new Error('no row');
  return { ...row, seq: 2, at: Date.now(), attempt: 1, crashes: 0 };
}

/** Sends a row with a new token, which has a free slot. */
const send = (row: StoredEvent, more = {}) =>
  sendRow(adapter, withToken(`${TOKEN}${Math.random()}`), row, more);

async function failure(sending: Promise<unknown>): Promise<DeliveryError> {
  const error: unknown = await sending.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DeliveryError)) throw new Error(`expected a DeliveryError, not ${error}`);
  const errorText = `${error.message} ${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`;
  expect(errorText).not.toContain(TOKEN);
  return error;
}

const postedBodies = () => (platform.comments.get(PLACE) ?? []).map(({ body }) => body);

describe('an answer', () => {
  test('becomes one comment on its pull request, which contains a mark and the answer', async () => {
    const row = await rowFor('Thank **you**.');
    expect(row.key).toBe(`outbox/repohostc/${new URL(platform.url).host}/${PLACE}`);
    expect(await sendRow(adapter, trigger, row)).toEqual({ id: '1' });
    expect(postedBodies()).toEqual([expect.stringMatching(MARK)]);
    expect(postedBodies()[0]?.replace(MARK, '')).toBe('Thank **you**.');
    const [request] = platform.requestsFor('POST', /comments/);
    expect(request).toMatchObject({
      path: '/2.0/repositories/acme/shop/pullrequests/5/comments',
      authorization: `Bearer ${trigger.config.token}`,
      body: { content: { raw: postedBodies()[0] } },
    });
  });

  test.each(['issue:created', 'issue:comment_created', 'repo:push', 'repo:commit_comment_created'])(
    'to %s is not posted',
    async (key) => {
      expect(await rowsFor(key, 'hello')).toEqual([]);
    },
  );

  test('with a user’s token uses basic authentication, and errors contain no credential', async () => {
    const row = await rowFor('hello');
    const token = `ann@example.com:${TOKEN}`;
    await sendRow(adapter, withToken(token), row);
    const basic = Buffer.from(token).toString('base64');
    expect(platform.requestsFor('POST', /comments/)[0]?.authorization).toBe(`Basic ${basic}`);
    void platform.refuse(POST, { status: 400, message: `${basic} ${TOKEN}` });
    const error = await failure(sendRow(adapter, withToken(`ann@example.com:${TOKEN}2`), row));
    expect(error).toMatchObject({ isFinal: true, platformCode: 400 });
    expect(error.message).not.toContain(basic);
  });

  test('cannot contain the mark of another answer, and is cut at the size limit', async () => {
    const other = '[//]: # (actor-gateway:0123456789abcdef0123456789abcdef)';
    await send(await rowFor(`look: ${other}`));
    await send(await rowFor('word '.repeat(10_000)));
    const [first = '', second = ''] = postedBodies();
    expect(first).not.toContain(other);
    expect(second).toContain('*(cut: the answer has 49999 characters, more than a comment can hold)*');
    expect(second.length).toBeLessThanOrEqual(32_768);
    expect(second.length).toBeGreaterThan(32_700);
  });

  test('suppresses mentions unless the trigger allows them, and keeps code unchanged', async () => {
    await receive('pullrequest:comment_created');
    const original = 'ask @ann, @{557058:7a3f} or &#64;bob: `@x`\n\n```java\n@Override\n```\n\n```\n@open';
    const text = (mentions: 'none' | 'allow') => {
      const [row] = rowsOfAnswer(adapter, { ...trigger, mentions }, host.event(), original);
      return (JSON.parse(Buffer.from(row?.body ?? []).toString()) as { text: string }).text;
    };
    expect(text('allow')).toBe(original);
    expect(text('none').replaceAll('\u2060', '|')).toBe(
      'ask @|ann, @|{557058:7a3f} or &|#64;bob: `@x`\n\n```java\n@Override\n```\n\n```\n@|open',
    );
  });
});

describe('a comment', () => {
  test('is posted once if the first attempt ended before its response', async () => {
    const row = await rowFor('once');
    void platform.refuse(POST, { status: 0, isCut: true });
    expect((await failure(send(row))).isFinal).toBe(false);
    expect(await send({ ...row, attempt: 2 })).toEqual({ id: '1' });
    expect(postedBodies()).toHaveLength(1);
    const [request] = platform.requestsFor('GET', /comments$/);
    expect(request?.query.toString()).toBe('pagelen=100&sort=-created_on');
  });

  test('that may already exist is searched from the newest comment on, on all relevant pages', async () => {
    const row = await rowFor('once');
    await send(row);
    platform.pageSize = 2;
    const all = platform.comments.get(PLACE) ?? [];
    const [mine] = all;
    if (mine === undefined) throw new Error('nothing was posted');
    const later = Array.from({ length: 5 }, (_, i) => ({ ...mine, id: 10 + i, body: 'other' }));
    platform.comments.set(PLACE, [mine, ...later]);
    expect(await send({ ...row, attempt: 2 })).toEqual({ id: '1' });
    expect(platform.requestsFor('GET', /comments$/)).toHaveLength(3);
    expect(postedBodies()).toHaveLength(6);
  });

  test('is not searched among comments older than its answer, unless the host’s clock is behind', async () => {
    const row = await rowFor('late');
    const at = new Date(Date.now() - 7_200_000).toISOString();
    const old = Array.from({ length: 9 }, (_, id) => ({ id, body: 'other', author: 'ann', at }));
    platform.comments.set(PLACE, old);
    platform.pageSize = 2;
    await send({ ...row, attempt: 2 });
    expect(platform.requestsFor('GET', /comments$/)).toHaveLength(1);
    platform.headers = { date: new Date(Date.now() - 3_600_000).toUTCString() };
    await send({ ...row, id: `${row.id}0`, attempt: 2 });
    expect(platform.requestsFor('GET', /comments$/)).toHaveLength(1 + 5);
  });

  test('is not posted again while the host returns an invalid list of comments', async () => {
    const row = await rowFor('once');
    await send(row);
    void platform.refuse(/^GET .*\/comments$/, { status: 200, message: 'a page of a proxy' });
    expect(await failure(send({ ...row, attempt: 2 }))).toMatchObject({ isFinal: false });
    await send({ ...row, attempt: 3 });
    expect(postedBodies()).toHaveLength(1);
  });
});

describe('an edited comment', () => {
  const edit = async (before: StoredEvent, text: string) => {
    const message = { target: { place: PLACE }, action: { do: 'edit', of: before.id } as const };
    const [rendered] = adapter.outbound?.render(trigger, { ...message, text }) ?? [];
    return { ...before, id: 'outbox:edit/1', body: Buffer.from(JSON.stringify(rendered)) };
  };

  test('has the new text', async () => {
    const row = await rowFor('Thinking…');
    const receipt = await send(row);
    const receiptOf = async () => receipt;
    expect(await send(await edit(row, 'Done.'), { receiptOf })).toEqual(receipt);
    expect(postedBodies().map((body) => body.replace(MARK, ''))).toEqual(['Done.']);
    expect(platform.requestsFor('PUT', /comments\/1$/)).toHaveLength(1);
  });

  test.each([true, false])(
    'is reported as missing after its deletion, even if the host shows deleted comments: %s',
    async (showsDeleted) => {
      platform.showsDeleted = showsDeleted;
      const row = await rowFor('Thinking…');
      const receipt = await send(row);
      platform.deleted.add(Number(receipt.id));
      const receiptOf = async () => receipt;
      expect(await failure(send(await edit(row, 'Done.'), { receiptOf }))).toMatchObject({
        isTargetMissing: true,
        isFinal: true,
      });
    },
  );
});

describe('a refusal', () => {
  test.each([
    ['400', { status: 400 }, true, undefined],
    ['401', { status: 401 }, true, undefined],
    [
      '403',
      { status: 403, message: 'Your credentials lack one or more required privilege scopes.' },
      true,
      undefined,
    ],
    ['404', { status: 404 }, true, undefined],
    [
      '429 without Retry-After',
      { status: 429, message: 'Rate limit for this resource has been exceeded' },
      false,
      60_000,
    ],
    ['429 with Retry-After', { status: 429, headers: { 'retry-after': '7' } }, false, 7_000],
    ['500', { status: 500 }, false, undefined],
    ['503 with Retry-After', { status: 503, headers: { 'retry-after': '3' } }, false, 3_000],
  ] as const)('with %s is classified', async (_, refusal, isFinal, retryAfterMs) => {
    const row = await rowFor('x');
    void platform.refuse(POST, refusal);
    const error = await failure(send(row));
    expect(error).toMatchObject({
      isFinal,
      isRateLimited: retryAfterMs !== undefined,
      retryAfterMs,
      platformCode: refusal.status,
    });
    expect(error.message).toMatch(new RegExp(`^a comment on ${PLACE}: .* answered ${refusal.status}$`));
    expect(postedBodies()).toEqual([]);
  });
});

describe('actions of the gateway', () => {
  const own = { sender: 'the-bot' };

  test('are recognised by the account id, not by the nickname', async () => {
    await expect.poll(() => platform.requestsFor('GET', /\/user$/)).toHaveLength(1);
    await expect.poll(async () => (await receive('pullrequest:approved', own)).body.status).toBe('ignored');
    const payload = repoHostCPayload('pullrequest:approved', { serial: 10_000, sender: 'eve' });
    const namesake = { ...payload, actor: { ...(payload.actor as object), nickname: 'the-bot' } };
    const body = JSON.stringify(namesake);
    const { headers } = signed({ key: 'pullrequest:approved', body, secret: trigger.config.webhook_secret });
    const url = `${host.url}/webhook/repohostc`;
    expect((await fetch(url, { method: 'POST', body, headers })).status).toBe(202);
  });

  test('with an access token are recognised by the mark, and by the account after the first comment', async () => {
    platform.isAccessToken = true;
    const other = withToken(`${TOKEN}${Math.random()}`);
    await adapter.open({ ...other, name: 'a-first', config: { ...other.config, webhook_secret: 'b' } }, host);
    await expect.poll(() => platform.requestsFor('GET', /\/user$/).length).toBeGreaterThan(0);
    const row = await rowFor('hello');
    await sendRow(adapter, other, row);
    const deliver = async (key: string, original: PayloadValues) => {
      const body = JSON.stringify(repoHostCPayload(key, { serial: ++serial, ...original }));
      const { headers } = signed({ key, body, secret: 'b' });
      const response = await fetch(`${host.url}/webhook/repohostc`, { method: 'POST', body, headers });
      return ((await response.json()) as { readonly status: string }).status;
    };
    expect(await deliver('pullrequest:comment_created', { ...own, text: postedBodies()[0] ?? '' })).toBe(
      'ignored',
    );
    expect(
      await deliver('pullrequest:comment_created', { sender: 'carl', text: postedBodies()[0] ?? '' }),
    ).toBe('accepted');
    expect(adapter.accepts?.(other, adapter.read(host.event()))).toBe(false);
  });
});
