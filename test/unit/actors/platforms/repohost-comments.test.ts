// Answers as comments, with a REST API on loopback: posted once, truncated at the size limit, and kinds of
// refusals.

import { setTimeout } from 'node:timers/promises';
import { sign } from '@octokit/webhooks-methods';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DeliveryError } from '../../../../actors/events/outbox/delivery-error.ts';
import { htmlMarks } from '../../../../actors/events/outbox/resend-mark.ts';
import type { Adapter } from '../../../../actors/platforms/adapter.ts';
import { commentText } from '../../../../actors/platforms/repository-hosts/outbound.ts';
import { repoHostAdapter } from '../../../../actors/platforms/repository-hosts/repohost/adapter.ts';
import type { NewEvent, StoredEvent } from '../../../../actors/store/event.ts';
import type { RepoHostTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { rowsOfAnswer, sendRow } from '../../../fixtures/automation/outbound.ts';
import { repoExample } from '../../../fixtures/automation/repo-payloads.ts';
import { TestSourceHost } from '../../../fixtures/automation/source-host.ts';
import { repoHostTrigger } from '../../../fixtures/automation/triggers.ts';
import type { Refusal } from '../../../fixtures/repositories/fake-repo-api.ts';
import { RepoRestHost } from '../../../fixtures/repositories/repo-rest-host.ts';

const TOKEN = 'ghp_the_secret_token';
const PLACE = 'Codertocat/Hello-World#1';
const form = { marks: htmlMarks, maxComment: 65_536 };
const POST = /^POST .*\/comments$/;

let repoHost: RepoRestHost;
let host: TestSourceHost;
let adapter: Adapter<RepoHostTrigger>;
let trigger: RepoHostTrigger;
let close: () => Promise<void>;

beforeEach(async () => {
  repoHost = await new RepoRestHost().start();
  host = await new TestSourceHost().start();
  adapter = repoHostAdapter({ maxBodyBytes: 1_000_000 });
  // A new token per test, because the limits apply per token.
  trigger = repoHostTrigger('reviews', { token: `${TOKEN}${Math.random()}`, api_url: repoHost.url });
  ({ close } = await adapter.open(trigger, host));
});
afterEach(async () => {
  await close();
  await host.stop();
  await repoHost.stop();
});

async function receive(event: string, payload: object) {
  const body = JSON.stringify(payload);
  const response = await fetch(host.url + trigger.config.path, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': `d-${host.store.events.length + 1}`,
      'x-hub-signature-256': await sign(trigger.config.webhook_secret, body),
    },
  });
  return { status: response.status, body: (await response.json()) as { readonly status: string } };
}

/** Returns the rows of an answer to an event. */
async function rowsFor(
  event: string,
  action: string | undefined,
  text: string,
): Promise<readonly NewEvent[]> {
  await receive(event, repoExample(event, action));
  return rowsOfAnswer(adapter, trigger, host.event(), text);
}

async function rowFor(text: string): Promise<StoredEvent> {
  const [row] = await rowsFor('issue_comment', 'created', text);
  if (row === undefined) throw new Error('no row');
  return { ...row, seq: 2, at: Date.now(), attempt: 1, crashes: 0 };
}

const send = (row: StoredEvent, signal?: AbortSignal) =>
  sendRow(adapter, trigger, row, signal === undefined ? {} : { signal });

async function failure(row: StoredEvent, signal?: AbortSignal): Promise<DeliveryError> {
  const error: unknown = await send(row, signal).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DeliveryError)) throw new Error(`expected a DeliveryError, not ${error}`);
  const errorText = `${error.message} ${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`;
  expect(errorText).not.toContain(TOKEN);
  return error;
}

const postedBodies = () => (repoHost.comments.get(PLACE) ?? []).map(({ body }) => body);

describe('an answer', () => {
  test('becomes one outbox row for its issue, which is posted as a comment with a hidden mark', async () => {
    const row = await rowFor('Thank **you**.');
    expect(row).toMatchObject({
      id: 'outbox:repohost:reviews/d-1/1',
      key: `outbox/repohost/${new URL(repoHost.url).host}/${PLACE}`,
      trace: host.event().trace,
    });
    expect(JSON.parse(row.meta)).toEqual({ trigger: 'reviews', action: 'post', sender: expect.any(String) });
    expect(await send(row)).toEqual({ id: '1' });
    expect(postedBodies()).toEqual([`${htmlMarks.markFor(row.id)}\n\nThank **you**.`]);
    expect(repoHost.requestsFor('POST', /comments/)[0]?.authorization).toBe(`token ${trigger.config.token}`);
  });

  test('in a row of an older version is posted unchanged', async () => {
    const row = await rowFor('Thank you.');
    const body = `${htmlMarks.markFor('repohost:reviews/d-1/1')}\n\nThank you.`;
    const comment = { repository: 'Codertocat/Hello-World', number: 1, body };
    const id = 'repohost:reviews/d-1/1';
    await send({ ...row, id, meta: '{"trigger":"reviews"}', body: Buffer.from(JSON.stringify(comment)) });
    expect(postedBodies()).toEqual([body]);
  });

  test('edits an earlier comment, and reports a missing comment', async () => {
    const first = await rowFor('Thinking…');
    const message = { target: { place: PLACE }, action: { do: 'edit', of: first.id } as const };
    const [rendered] = adapter.outbound!.render(trigger, { ...message, text: 'Thank you.' });
    const edit = { ...first, id: 'outbox:edit/1', body: Buffer.from(JSON.stringify(rendered)) };
    const { id } = await send(first);
    // A new token per call has a free slot.
    const sendEdit = (before?: string) => {
      const other = repoHostTrigger('reviews', { token: `${TOKEN}${Math.random()}`, api_url: repoHost.url });
      const receiptOf = async (row: string) =>
        row === first.id && before !== undefined ? { id: before } : undefined;
      return sendRow(adapter, other, edit, { receiptOf });
    };
    await expect(sendEdit('77')).rejects.toMatchObject({ isTargetMissing: true, platformCode: 404 });
    expect(await sendEdit(id)).toEqual({ id });
    expect(postedBodies()).toEqual([`${htmlMarks.markFor(edit.id)}\n\nThank you.`]);
    expect((await sendEdit()).id).not.toBe(id);
    expect(postedBodies()).toHaveLength(2);
  });

  test('becomes no row if it is empty, for events without comments, and without a token', async () => {
    expect(await rowsFor('issue_comment', 'created', ' \n ')).toEqual([]);
    expect(await rowsFor('push', undefined, 'hello')).toEqual([]);
    const silent = repoHostTrigger('silent');
    expect(rowsOfAnswer(adapter, silent, host.event(), 'hello')).toEqual([]);
  });

  test('above the size limit is cut visibly and accepted', async () => {
    const row = await rowFor(`\`\`\`\n${'line of code 🙂\n'.repeat(10_000)}`);
    await send(row);
    const [body = ''] = postedBodies();
    expect(body.length).toBeLessThanOrEqual(65_536);
    expect(body.length).toBeGreaterThan(65_000);
    expect(encodeURIComponent(body)).toContain('%F0%9F%99%82'); // throws for half a character
  });

  test.each(['```\ncode', '~~~\ncode', '<!-- open', '<details>\n```\ncode\n\nmore', '<div title="', '> ```'])(
    'shows the mark and the cut although it contains the open element %j',
    (open) => {
      const mark = htmlMarks.markFor('row');
      const bodyOf = (text: string) => `${mark}\n\n${commentText(text, form)}`;
      expect(bodyOf(open)).toBe(`${mark}\n\n${open}`);
      const long = `${open}${' 🙂'.repeat(30_000)}`;
      const body = bodyOf(long);
      // The text is one shorter if a character of two code units does not fit.
      expect([65_535, 65_536]).toContain(body.length);
      const note = `*(cut: the answer has ${long.length} characters, more than a comment can hold)*`;
      expect(body.startsWith(`${mark}\n\n${note}\n\n${open} `)).toBe(true);
    },
  );

  test('of the maximum size is not cut', () => {
    const text = 'x'.repeat(65_536 - `${htmlMarks.markFor('row')}\n\n`.length);
    expect(commentText(text, form)).toBe(text);
    expect(commentText(`${text}x`, form)).toContain('*(cut: ');
  });

  test('cannot contain the hidden mark by which a retry finds the comment of another outbox row', async () => {
    const other = htmlMarks.markFor('outbox:repohost:other/d/1');
    const row = await rowFor(`look: ${other}`);
    await send(row);
    expect(postedBodies()[0]).not.toContain(other);
    expect(postedBodies()[0]).toContain(htmlMarks.markFor(row.id));
  });

  test('contains its title, fields and linked actions as text', async () => {
    await receive('issue_comment', repoExample('issue_comment', 'created'));
    const data = {
      title: 'Review',
      fields: [{ name: 'risk', value: 'low' }],
      actions: [
        { id: 'a', title: 'Again' },
        { id: 'l', title: 'Log', url: 'https://ci.example/1' },
      ],
    };
    const [row] = rowsOfAnswer(adapter, trigger, host.event(), 'Fine.', data);
    expect(JSON.parse(Buffer.from(row?.body ?? []).toString())).toMatchObject({
      text: '**Review**\n\nFine.\n\n- **risk**: low\n- [Log](https://ci.example/1)',
    });
  });
});

test('mentions are suppressed in any notation unless the trigger allows them, and code stays unchanged', async () => {
  await receive('issue_comment', repoExample('issue_comment', 'created'));
  const original = 'ask @ada, _@bob_, &#64;eve or @acme/team by mail@acme.example: `npm i @acme/kit`';
  const text = (mentions: 'none' | 'allow') => {
    const [row] = rowsOfAnswer(adapter, { ...trigger, mentions }, host.event(), original);
    return (JSON.parse(Buffer.from(row?.body ?? []).toString()) as { text: string }).text;
  };
  expect(text('allow')).toBe(original);
  expect(text('none').replaceAll('\u2060', '|')).toBe(
    'ask @|ada, _@|bob_, &|#64;eve or @|acme/team by mail@acme.example: `npm i @acme/kit`',
  );
});

describe('a comment', () => {
  test('is posted once if the first attempt ended before its response', async () => {
    const row = await rowFor('once');
    repoHost.refuse(POST, { status: 0, isCut: true });
    expect((await failure(row)).isFinal).toBe(false);
    await send({ ...row, attempt: 2 });
    expect(postedBodies()).toHaveLength(1);
  });

  test('is posted once although its first attempt, ended by a shutdown or before a replay, is not counted', async () => {
    const row = await rowFor('once');
    repoHost.refuse(POST, { status: 0, isCut: true });
    await failure(row);
    await send({ ...row, attempt: 1, wasClaimed: true });
    expect(postedBodies()).toHaveLength(1);
  });

  test('is posted once if the clock was ahead when its row was created', async () => {
    const row = { ...(await rowFor('once')), at: Date.now() + 7_200_000 };
    await send(row);
    await send({ ...row, attempt: 2 });
    expect(postedBodies()).toHaveLength(1);
  });

  test('is searched on all pages since its row was created', async () => {
    const row = await rowFor('once');
    await send(row);
    repoHost.pageSize = 2;
    const mine = repoHost.comments.get(PLACE)?.[0];
    if (mine === undefined) throw new Error('nothing was posted');
    repoHost.comments.set(PLACE, [...Array.from({ length: 5 }, () => ({ ...mine, body: 'other' })), mine]);
    await send({ ...row, attempt: 2 });
    expect(postedBodies()).toHaveLength(6);
    expect(repoHost.requestsFor('GET', /comments/)).toHaveLength(3);
  });

  test('is not posted while the list of comments is invalid', async () => {
    const row = await rowFor('once');
    await send(row);
    repoHost.refuse(/^GET .*\/comments/, { status: 200, message: 'a page of a proxy' });
    const error = await failure({ ...row, attempt: 2 });
    expect(error).toMatchObject({ isFinal: false });
    expect(error.message).toContain(`the comments on ${PLACE}`);
    await send({ ...row, attempt: 3 });
    expect(postedBodies()).toHaveLength(1);
  });

  test('is posted if the earlier attempt was refused', async () => {
    const row = await rowFor('late');
    repoHost.refuse(POST, { status: 500 });
    expect((await failure(row)).isFinal).toBe(false);
    expect(repoHost.requestsFor('POST', /comments/)).toHaveLength(1);
    const tooSoon = await failure({ ...row, attempt: 2 });
    expect(tooSoon).toMatchObject({ isRateLimited: true });
    await setTimeout(tooSoon.retryAfterMs);
    await send({ ...row, attempt: 2 });
    expect(postedBodies()).toHaveLength(1);
  });
});

describe('a refusal by the repository host', () => {
  const inTenMinutes = () => String(Math.floor(Date.now() / 1000) + 600);
  test.each([
    ['401', { status: 401, message: `Bad credentials ${TOKEN}` }, true, undefined],
    ['403', { status: 403, message: 'Resource not accessible by integration' }, true, undefined],
    ['404', { status: 404 }, true, undefined],
    ['410', { status: 410 }, true, undefined],
    ['422', { status: 422 }, true, undefined],
    ['500', { status: 500 }, false, undefined],
    ['502', { status: 502 }, false, undefined],
    ['429 with Retry-After', { status: 429, headers: { 'retry-after': '7' } }, false, [7_000, 7_000]],
    ['429 without', { status: 429 }, false, [60_000, 60_000]],
    ['503 with Retry-After', { status: 503, headers: { 'retry-after': '3' } }, false, [3_000, 3_000]],
    [
      '403 at the end of the hour’s quota',
      {
        status: 403,
        message: 'API rate limit exceeded for user ID 1.',
        headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': inTenMinutes() },
      },
      false,
      [400_000, 602_000],
    ],
    [
      '403 for concurrent requests',
      { status: 403, headers: { 'retry-after': '30' } },
      false,
      [30_000, 30_000],
    ],
    [
      '403 for concurrent requests, without a time',
      { status: 403, message: 'You have exceeded a secondary rate limit.' },
      false,
      [60_000, 60_000],
    ],
    ['500 with Retry-After', { status: 500, headers: { 'retry-after': '9' } }, false, [9_000, 9_000]],
  ] as const)('with %s is classified', async (_, refusal, isFinal, pauses) => {
    const row = await rowFor('x');
    repoHost.refuse(POST, refusal);
    const error = await failure(row);
    // A response with a requested pause is not a failed attempt.
    expect([error.isFinal, error.isRateLimited]).toEqual([isFinal, pauses !== undefined]);
    expect(error.platformCode).toBe(refusal.status);
    expect(error.message).toContain(`127.0.0.1:${new URL(repoHost.url).port} answered ${refusal.status}`);
    expect(error.message).toContain(PLACE);
    if (pauses === undefined) expect(error.retryAfterMs).toBeUndefined();
    else {
      expect(error.retryAfterMs).toBeGreaterThanOrEqual(pauses[0]);
      expect(error.retryAfterMs).toBeLessThanOrEqual(pauses[1]);
    }
    expect(repoHost.requestsFor('POST', /comments/)).toHaveLength(1);
  });

  test('of the connection is temporary', async () => {
    const row = await rowFor('x');
    await repoHost.stop();
    const error = await failure(row);
    expect(error).toMatchObject({ isFinal: false });
    expect(error.message).toContain('ECONNREFUSED');
    repoHost = await new RepoRestHost().start();
  });

  test('by a redirect is permanent, because no comment was posted', async () => {
    const row = await rowFor('x');
    repoHost.refuse(POST, {
      status: 301,
      headers: { location: `${repoHost.url}/repos/o/r/issues/1/comments` },
    });
    expect(await failure(row)).toMatchObject({ isFinal: true });
    expect(repoHost.requestsFor('GET', /comments/)).toHaveLength(0);
  });

  test('is temporary and needs no request if the attempt was aborted before', async () => {
    const row = await rowFor('x');
    const abort = new AbortController();
    abort.abort();
    expect((await failure(row, abort.signal)).isFinal).toBe(false);
    expect(repoHost.requestsFor('POST', /comments/)).toHaveLength(0);
  });

  test('without a token is permanent', async () => {
    const row = await rowFor('x');
    trigger = repoHostTrigger('reviews');
    expect(await failure(row)).toMatchObject({ isFinal: true });
  });
});

describe('a rate limit of the host', () => {
  const posts = () => repoHost.requestsFor('POST', /comments/).length;
  const refuseFor = (seconds: number) =>
    repoHost.refuse(POST, { status: 429, headers: { 'retry-after': String(seconds) } });

  test('without remaining quota holds requests until the reset', async () => {
    const row = await rowFor('Thank you.');
    repoHost.headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset-after': '600' };
    await send(row);
    const requestsBefore = repoHost.requests.length;
    const error = await failure({ ...row, id: 'outbox:repohost:reviews/d-2/1' });
    expect(error).toMatchObject({ isRateLimited: true });
    expect(error.retryAfterMs).toBeGreaterThan(590_000);
    expect(repoHost.requests).toHaveLength(requestsBefore);
  });

  test('holds the requests of all triggers with the token', async () => {
    const row = await rowFor('x');
    refuseFor(600);
    expect(await failure(row)).toMatchObject({ isRateLimited: true, retryAfterMs: 600_000 });
    const other = repoHostTrigger('other', { token: trigger.config.token, api_url: repoHost.url });
    const pendingSend = sendRow(adapter, other, { ...row, id: 'other' });
    const error: unknown = await pendingSend.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ isRateLimited: true });
    expect((error as DeliveryError).retryAfterMs).toBeGreaterThan(600_000);
    expect(await failure({ ...row, attempt: 2 })).toMatchObject({ isRateLimited: true });
    expect([posts(), repoHost.requestsFor('GET', /comments/).length]).toEqual([1, 0]);
  });

  test('does not affect another token', async () => {
    const row = await rowFor('x');
    refuseFor(600);
    await failure(row);
    trigger = repoHostTrigger('reviews', { token: `${TOKEN}${Math.random()}`, api_url: repoHost.url });
    await send(row);
    expect(postedBodies()).toHaveLength(1);
  });

  test('is timed by the clock of the host, not of the gateway', async () => {
    const row = await rowFor('x');
    const tomorrow = Date.now() + 86_400_000;
    repoHost.refuse(POST, {
      status: 403,
      message: 'API rate limit exceeded for user ID 1.',
      headers: {
        date: new Date(tomorrow).toUTCString(),
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': String(Math.floor(tomorrow / 1000) + 60),
      },
    });
    expect((await failure(row)).retryAfterMs).toBeLessThan(100_000);
  });
});

test('one of several concurrent comments is sent, and each other comment gets its own retry time', async () => {
  const row = await rowFor('x');
  const all = await Promise.allSettled(
    Array.from({ length: 15 }, (_, index) => send({ ...row, id: `${row.id}/${index}` })),
  );
  const refused = all.flatMap((each) => (each.status === 'rejected' ? [each.reason as DeliveryError] : []));
  expect(refused).toHaveLength(14);
  expect(repoHost.requestsFor('POST', /comments/)).toHaveLength(1);
  const seconds = refused.map(({ retryAfterMs = 0 }) => Math.round(retryAfterMs / 1000));
  expect(seconds).toEqual(refused.map((_, index) => (index + 1) * 3));
});

test('a comment is not delayed by hours after the clock is set back', async () => {
  const row = await rowFor('x');
  await send(row);
  const realNow = Date.now;
  Date.now = () => realNow() - 7_200_000;
  try {
    const tooSoon = await failure({ ...row, id: `${row.id}/2` });
    expect(tooSoon.retryAfterMs).toBeLessThan(4_000);
    // Timers truncate to whole milliseconds.
    await setTimeout(Math.ceil(tooSoon.retryAfterMs ?? 0) + 1);
    await send({ ...row, id: `${row.id}/2` });
  } finally {
    Date.now = realNow;
  }
  expect(postedBodies()).toHaveLength(2);
});

describe("the gateway's account", () => {
  const comment = (login: string, body = 'hello') => ({
    ...repoExample('issue_comment', 'created'),
    sender: { login },
    comment: { body },
  });

  test('is requested once, and its events are ignored afterwards', async () => {
    await expect
      .poll(async () => (await receive('issue_comment', comment('The-Bot'))).body.status)
      .toBe('ignored');
    expect((await receive('issue_comment', comment('ann'))).body.status).toBe('accepted');
    expect(repoHost.requestsFor('GET', /^\/user$/)).toHaveLength(1);
  });

  test('is learned from a comment if the host does not return it', async () => {
    await close();
    repoHost.login = 'an-app[bot]';
    repoHost.refuse(/GET \/user/, { status: 403, message: 'Resource not accessible by integration' });
    trigger = repoHostTrigger('reviews', { token: `${TOKEN}-app`, api_url: repoHost.url });
    ({ close } = await adapter.open(trigger, host));
    await expect.poll(() => repoHost.requestsFor('GET', /^\/user$/).length).toBeGreaterThan(1);
    await send(await rowFor('x'));
    expect((await receive('issue_comment', comment('an-app[bot]'))).body.status).toBe('ignored');
  });

  const countAccountRequests = () => repoHost.requestsFor('GET', /^\/user$/).length;

  /** Opens another trigger. The host refuses the first `times` account requests. */
  async function openWithRefusals(times: number, refusal: Refusal, userRetryMs?: number) {
    // The current trigger must send the account request first, otherwise it would receive the refusal.
    await expect.poll(countAccountRequests, { timeout: 15_000 }).toBe(1);
    await close();
    for (let count = 0; count < times; count += 1) repoHost.refuse(/GET \/user/, refusal);
    const options = userRetryMs === undefined ? {} : { userRetryMs };
    adapter = repoHostAdapter({ maxBodyBytes: 1_000_000, ...options });
    trigger = repoHostTrigger('other', { token: `${TOKEN}-other`, api_url: repoHost.url, path: '/other' });
    ({ close } = await adapter.open(trigger, host));
  }

  test('is requested again after a temporary failure', async () => {
    await openWithRefusals(2, { status: 503 }, 0);
    await expect
      .poll(async () => (await receive('issue_comment', comment('The-Bot'))).body.status, { timeout: 30_000 })
      .toBe('ignored');
    expect(countAccountRequests()).toBe(4);
  });

  test('is not requested for each event of a failing host', async () => {
    await openWithRefusals(100, { status: 503 });
    await expect.poll(countAccountRequests, { timeout: 30_000 }).toBe(2);
    for (let count = 0; count < 50; count += 1)
      expect((await receive('issue_comment', comment('ann'))).body.status).toBe('accepted');
    expect(countAccountRequests()).toBe(2);
  });

  test('does not delay an event', async () => {
    await openWithRefusals(1, { status: 0, isSilent: true });
    const before = performance.now();
    expect((await receive('issue_comment', comment('ann'))).body.status).toBe('accepted');
    // The timeout of the request would be twenty seconds.
    expect(performance.now() - before).toBeLessThan(15_000);
  });

  test('is not needed to recognise marked comments', async () => {
    const body = `${htmlMarks.markFor('outbox:repohost:other/d/1')}\n\nhello`;
    await receive('issue_comment', comment('other-user', body));
    expect(adapter.accepts?.(trigger, adapter.read(host.event()))).toBe(false);
  });
});
