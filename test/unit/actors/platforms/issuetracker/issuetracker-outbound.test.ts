// Answers as comments, with a local tracker: posted once, found after a lost response, edited, and kinds of
// refusals.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { Adapter } from '../../../../../actors/platforms/adapter.ts';
import { issueTrackerAdapter } from '../../../../../actors/platforms/issuetracker/adapter.ts';
import { plainText } from '../../../../../actors/platforms/issuetracker/document/nodes.ts';
import { commentMark } from '../../../../../actors/platforms/issuetracker/own-comments.ts';
import type { StoredEvent } from '../../../../../actors/store/event.ts';
import type { IssueTrackerTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { rowsOfAnswer, sendRow } from '../../../../fixtures/automation/outbound.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import { issueTrackerTrigger } from '../../../../fixtures/automation/triggers.ts';
import { documentFaults } from '../../../../fixtures/issue-tracker/document-faults.ts';
import { IssueTracker } from '../../../../fixtures/issue-tracker/issue-tracker.ts';
import { commentCreated } from '../../../../fixtures/issue-tracker/payloads.ts';
import { refusal } from '../../../../fixtures/issue-tracker/refusal.ts';
import { postTrackerEvent, userIn } from '../../../../fixtures/issue-tracker/tracker-events.ts';

const KEY = 'OPS-7';
const POST = /\/comment$/;
const TOKEN = 'ATATT3x-secret-token';
const person = { accountId: '5b10a2844c20165700ede21g', displayName: 'Mia' };

let tracker: IssueTracker;
let issueId: string;
let host: TestSourceHost;
let adapter: Adapter<IssueTrackerTrigger>;
let trigger: IssueTrackerTrigger;
let close: () => Promise<void>;

beforeEach(async () => {
  tracker = await new IssueTracker({ email: 'agent@example.com', apiToken: TOKEN }).start();
  issueId = tracker.addIssue(KEY);
  host = await new TestSourceHost().start();
  adapter = issueTrackerAdapter(adapterServices(host));
  const credentials = { base_url: tracker.url, email: 'agent@example.com', api_token: TOKEN };
  trigger = issueTrackerTrigger('desk', credentials);
  ({ close } = await adapter.open(trigger, host));
});
afterEach(async () => {
  await close();
  await host.stop();
  await tracker.stop();
});

async function receive(change: (event: Record<string, unknown>) => void = () => {}): Promise<StoredEvent> {
  const author = userIn(tracker.url, person);
  const issue = { key: KEY, id: issueId, site: tracker.url };
  const event = commentCreated('please help', issue, { author });
  change(event as Record<string, unknown>);
  const { webhook_secret, path } = trigger.config;
  expect((await postTrackerEvent(host.url + path, webhook_secret, event)).status).toBe(202);
  return host.event();
}

async function rowsFor(text: string, data?: unknown): Promise<readonly StoredEvent[]> {
  const rows = rowsOfAnswer(adapter, trigger, await receive(), text, data);
  return rows.map((row, i) => ({ ...row, seq: 2 + i, at: Date.now(), attempt: 1, crashes: 0 }));
}

async function rowFor(text: string): Promise<StoredEvent> {
  const rows = await rowsFor(text);
  expect(rows).toHaveLength(1);
  return rows[0] as StoredEvent;
}

const secondAttempt = (row: StoredEvent): StoredEvent => ({ ...row, attempt: 2 });
const send = (row: StoredEvent, more = {}) => sendRow(adapter, trigger, row, more);

async function failure(row: StoredEvent, more = {}): Promise<DeliveryError> {
  const error: unknown = await send(row, more).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DeliveryError)) throw new Error(`expected a DeliveryError, not ${error}`);
  const errorText = `${error.message} ${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`;
  expect(errorText).not.toContain(TOKEN);
  expect(errorText).not.toContain(Buffer.from(`agent@example.com:${TOKEN}`).toString('base64'));
  return error;
}

const texts = () => tracker.commentsOf(KEY).map(({ body }) => plainText(body));
const paragraph = (text: string) => ({
  version: 1,
  type: 'doc',
  content: [{ type: 'paragraph', content: [{ type: 'text', text }] }],
});

describe('an answer', () => {
  test('becomes one outbox row for its issue, which is posted as a comment with an invisible mark', async () => {
    const row = await rowFor('Thank **you**.');
    const account = new URL(tracker.url).host;
    expect(row).toMatchObject({ key: `outbox/issuetracker/${account}/${KEY}` });
    const { id } = await send(row);
    const [comment] = tracker.commentsOf(KEY);
    expect(comment).toMatchObject({ id, properties: [commentMark(row.id)] });
    expect(comment?.body).toEqual({
      version: 1,
      type: 'doc',
      content: [
        {
          type: 'paragraph',
          content: [
            { type: 'text', text: 'Thank ' },
            { type: 'text', text: 'you', marks: [{ type: 'strong' }] },
            { type: 'text', text: '.' },
          ],
        },
      ],
    });
  });

  test('becomes no outbox row if it is empty, for a deleted issue, for a sprint, or without a token', async () => {
    const event = await receive();
    expect(rowsOfAnswer(adapter, trigger, event, ' \n ')).toEqual([]);
    expect(rowsOfAnswer(adapter, issueTrackerTrigger('silent'), event, 'hello')).toEqual([]);
    const deleted = await receive((payload) => {
      payload.webhookEvent = 'jira:issue_deleted';
      delete payload.comment;
    });
    expect(rowsOfAnswer(adapter, trigger, deleted, 'hello')).toEqual([]);
    const sprint = await receive((payload) => {
      payload.webhookEvent = 'sprint_started';
      payload.sprint = { id: 4, self: `${tracker.url}/rest/agile/1.0/sprint/4`, name: 'S', state: 'active' };
      delete payload.comment;
      delete payload.issue;
    });
    expect(rowsOfAnswer(adapter, trigger, sprint, 'hello')).toEqual([]);
  });

  test('above the size limit becomes several comments, in order', async () => {
    const words = Array.from({ length: 12_000 }, (_, n) => `w${n}`).join(' ');
    const rows = await rowsFor(words);
    expect(rows.length).toBeGreaterThan(1);
    for (const row of rows) await send(row);
    expect(texts().join(' ').split(/\s+/)).toEqual(words.split(' '));
  });

  test('far above the size limit is cut, and its last line says so', async () => {
    const rows = await rowsFor('*a* '.repeat(1_000_000));
    expect(rows.length).toBeLessThanOrEqual(100);
    expect(rows.length).toBeGreaterThan(80);
    const last = JSON.parse(Buffer.from(rows.at(-1)?.body ?? []).toString()) as { body: object };
    expect(documentFaults(last.body)).toBe('');
    expect(plainText(last.body)).toMatch(/too long to send: about [\d,]+ characters/);
  });

  test('contains its title, fields and linked actions', async () => {
    const data = {
      title: 'Review',
      fields: [{ name: 'risk', value: 'low' }],
      actions: [
        { id: 'a', title: 'Again' },
        { id: 'l', title: 'Log', url: 'https://ci.example/1' },
      ],
    };
    const [row] = await rowsFor('Fine.', data);
    await send(row as StoredEvent);
    expect(texts()).toEqual(['Review\nFine.\nrisk: low\nLog']);
    expect(JSON.stringify(tracker.commentsOf(KEY))).toContain('"href":"https://ci.example/1"');
  });

  test('never mentions people, for any text', async () => {
    await send(await rowFor(`@mia [~accountid:${person.accountId}] <@mia> @all`));
    expect(texts()).toEqual([`@mia [~accountid:${person.accountId}] <@mia> @all`]);
    expect(JSON.stringify(tracker.commentsOf(KEY))).not.toContain('"mention"');
  });

  test('cannot be a reaction', () => {
    const action = { do: 'react', to: '1', emoji: '👍' } as const;
    const message = { target: { place: KEY }, action, text: '' };
    expect(() => adapter.outbound?.render(trigger, message)).toThrow(/not reacted to/);
  });

  test('can be sent to an issue without an earlier event, but only at the tracker of the trigger', async () => {
    const account = new URL(tracker.url).host;
    const place = async (name: string, of = trigger) =>
      (await adapter.outbound?.destination?.(of, `issuetracker/${name}`))?.place;
    expect(await place(`${account}/${KEY}`)).toBe(KEY);
    expect(await place(`other.example/${KEY}`)).toBeUndefined();
    expect(await place(`${account}/sprint/4`)).toBeUndefined();
    expect(await place(`${account}/../x`)).toBeUndefined();
    expect(
      await place(`${account}/${KEY}`, { ...trigger, config: { ...trigger.config, api_token: undefined } }),
    ).toBe(undefined);
  });
});

describe('a comment whose response was lost', () => {
  test('is found by its mark and not posted again', async () => {
    const row = await rowFor('Thank you.');
    tracker.fail({ kind: 'cut', isTaken: true }, 'POST', POST);
    expect(await failure(row)).toMatchObject({ isOutcomeUnknown: true, isFinal: false });
    const [comment] = tracker.commentsOf(KEY);
    expect(await send(secondAttempt(row))).toEqual({ id: comment?.id });
    expect(texts()).toEqual(['Thank you.']);
  });

  test('is posted if it does not exist, even if the same text exists', async () => {
    await send(await rowFor('Done.'));
    tracker.addComment(KEY, paragraph('Done.'), person);
    const row = await rowFor('Done.');
    tracker.fail({ kind: 'cut' }, 'POST', POST);
    expect((await failure(row)).isOutcomeUnknown).toBe(true);
    await send(secondAttempt(row));
    expect(texts()).toEqual(['Done.', 'Done.', 'Done.']);
  });

  test('is found among several pages of comments', async () => {
    tracker.pageSize = 2;
    const row = await rowFor('Thank you.');
    await send(row);
    for (let n = 0; n < 5; n += 1) tracker.addComment(KEY, paragraph(`no ${n}`), person);
    const { id } = tracker.commentsOf(KEY)[0] ?? {};
    expect(await send(secondAttempt(row))).toEqual({ id });
    expect(tracker.callsOf('GET', POST)).toHaveLength(3);
  });

  test('is searched back to the time of its outbox row, and further if the clocks differ', async () => {
    tracker.pageSize = 1;
    const row = { ...(await rowFor('Thank you.')), at: Date.now() + 3_600_000 };
    await send(row);
    for (let n = 0; n < 3; n += 1) tracker.addComment(KEY, paragraph(`no ${n}`), person);
    // The local clock is wrong, so all comments look older than the row. The comment is found nevertheless.
    expect(await send(secondAttempt(row))).toEqual({ id: tracker.commentsOf(KEY)[0]?.id });
    const requestsBefore = tracker.callsOf('GET', POST).length;
    expect(requestsBefore).toBe(4);
    const older = { ...row, id: 'outbox:another/1', at: Date.now() };
    tracker.behindMs = 3_600_000;
    tracker.addComment(KEY, paragraph('old'), person);
    await send(secondAttempt(older));
    expect(tracker.callsOf('GET', POST).length - requestsBefore).toBe(1);
    expect(texts()).toHaveLength(6);
  });

  test('may be a duplicate if there are too many to search, and its note says so', async () => {
    tracker.pageSize = 1;
    for (let n = 0; n < 12; n += 1) tracker.addComment(KEY, paragraph(`no ${n}`), person);
    const receipt = await send(secondAttempt(await rowFor('Thank you.')));
    expect(receipt).toMatchObject({ note: expect.stringContaining('possible duplicate') });
    expect(tracker.callsOf('GET', POST)).toHaveLength(10);
  });

  test('is found on a tracker that lists comments without properties', async () => {
    tracker.hidesProperties = true;
    const row = await rowFor('Thank you.');
    await send(row);
    tracker.addComment(KEY, paragraph('Thank you.'), person);
    expect(await send(secondAttempt(row))).toEqual({ id: tracker.commentsOf(KEY)[0]?.id });
    expect(tracker.callsOf('POST', /comment\/list$/)).toHaveLength(1);
  });

  test.each([
    { kind: 'refuse', refusal: refusal(404, []) },
    { kind: 'page', status: 200 },
  ] as const)('is found by its text if no request returns properties: $kind', async (fault) => {
    tracker.hidesProperties = true;
    tracker.fail(fault, 'POST', /comment\/list$/);
    const row = await rowFor('Thank **you**.\n\n- a');
    await send(row);
    tracker.addComment(KEY, paragraph('no'), person);
    expect(await send(secondAttempt(row))).toEqual({ id: tracker.commentsOf(KEY)[0]?.id });
  });

  test('is not posted while the search fails', async () => {
    const row = await rowFor('Thank you.');
    for (const fault of [{ kind: 'page', status: 502 }, { kind: 'cut' }] as const) {
      tracker.fail(fault, 'GET', POST);
      expect((await failure(secondAttempt(row))).isFinal).toBe(false);
    }
    tracker.hidesProperties = true;
    tracker.addComment(KEY, paragraph('no'), person);
    tracker.fail({ kind: 'page', status: 503 }, 'POST', /comment\/list$/);
    expect((await failure(secondAttempt(row))).isFinal).toBe(false);
    expect(texts()).toEqual(['no']);
  });
});

describe('an edit', () => {
  const editOf = (first: StoredEvent, text: string): StoredEvent => {
    const message = { target: { place: KEY }, action: { do: 'edit', of: first.id } as const, text };
    const [rendered] = adapter.outbound?.render(trigger, message) ?? [];
    return { ...first, id: 'outbox:edit/1', body: Buffer.from(JSON.stringify(rendered)) };
  };

  test('changes the comment, reports a missing comment, and is posted if there is no earlier comment', async () => {
    const first = await rowFor('Thinking…');
    const edit = editOf(first, 'Thank you.');
    const { id } = await send(first);
    const before = { receiptOf: async (row: string) => (row === first.id ? { id } : undefined) };
    expect(await send(edit, before)).toEqual({ id });
    expect(texts()).toEqual(['Thank you.']);
    tracker.deleteComment(KEY, id);
    expect(await failure(edit, before)).toMatchObject({
      isTargetMissing: true,
      isFinal: true,
      platformCode: 404,
    });
    expect((await send(edit)).id).not.toBe(id);
    expect(texts()).toEqual(['Thank you.']);
  });
});

describe('a tracker that', () => {
  test.each([
    [400, refusal(400, ['INVALID_INPUT']), '400: INVALID_INPUT'],
    [400, refusal(400, [], { comment: 'too long' }), '400: comment: too long'],
    [401, { status: 401, body: { message: 'no' } }, '401 the email address or API token'],
    [403, refusal(403, ['You may not comment.']), "403 the token's account lacks permission: You may not"],
    [404, refusal(404, ['Issue does not exist']), '404 no such issue or comment'],
    [413, refusal(413, []), '413 too long for the tracker'],
  ])('refuses with %i causes a permanent failure', async (status, answer, words) => {
    const row = await rowFor('hello');
    tracker.fail({ kind: 'refuse', refusal: answer }, 'POST', POST);
    const error = await failure(row);
    expect(error).toMatchObject({ isFinal: true, platformCode: status });
    expect(error.message).toContain(words);
  });

  test('requests a pause is not called before its end, for any message with the same token', async () => {
    const row = await rowFor('hello');
    const answer = { ...refusal(429, ['Rate limit exceeded.']), headers: { 'retry-after': '7' } };
    tracker.fail({ kind: 'refuse', refusal: answer }, 'POST', POST);
    expect(await failure(row)).toMatchObject({ isRateLimited: true, retryAfterMs: 7_000, isFinal: false });
    tracker.addIssue('OPS-8');
    const other = await receive((payload) => {
      (payload.issue as { key: string }).key = 'OPS-8';
    });
    const [otherRow] = rowsOfAnswer(adapter, trigger, other, 'hello');
    const failureOfOtherRow = await failure({
      ...otherRow,
      seq: 9,
      at: 0,
      attempt: 1,
      crashes: 0,
    } as StoredEvent);
    expect(failureOfOtherRow).toMatchObject({ isRateLimited: true, isUncontacted: true });
    expect(failureOfOtherRow.retryAfterMs).toBeGreaterThan(6_000);
    expect(texts()).toEqual([]);
  });

  test('limits the rate for one issue still receives comments for other issues', async () => {
    const row = await rowFor('hello');
    const headers = { 'retry-after': '5', 'ratelimit-reason': 'jira-per-issue-on-write' };
    tracker.fail({ kind: 'refuse', refusal: { ...refusal(429, []), headers } }, 'POST', POST);
    expect(await failure(row)).toMatchObject({ isRateLimited: true, retryAfterMs: 5_000 });
    tracker.addIssue('OPS-8');
    const other = await receive((payload) => {
      (payload.issue as { key: string }).key = 'OPS-8';
    });
    const [otherRow] = rowsOfAnswer(adapter, trigger, other, 'hello');
    await send({ ...otherRow, seq: 9, at: 0, attempt: 1, crashes: 0 } as StoredEvent);
    expect(tracker.commentsOf('OPS-8')).toHaveLength(1);
    expect(await failure(row)).toMatchObject({ isRateLimited: true, isUncontacted: true });
    expect(adapter.outbound?.limits?.(trigger).held).toMatchObject([{ of: KEY }]);
  });

  test.each([500, 502, 503, 504])('fails with %i is retried', async (status) => {
    const row = await rowFor('hello');
    tracker.fail({ kind: 'page', status }, 'POST', POST);
    const error = await failure(row);
    expect(error).toMatchObject({ isFinal: false, isPlatformDown: true, isRateLimited: false });
    expect(error.message).toContain(String(status));
    expect(tracker.callsOf('POST', POST)).toHaveLength(1);
  });

  test('answers with an HTML page instead of JSON causes an unknown outcome', async () => {
    const row = await rowFor('hello');
    tracker.fail({ kind: 'page', status: 200 }, 'POST', POST);
    expect(await failure(row)).toMatchObject({ isFinal: false, isOutcomeUnknown: true });
    tracker.fail(
      { kind: 'page', status: 302, headers: { location: 'https://login.example/' } },
      'POST',
      POST,
    );
    expect(await failure(row)).toMatchObject({ isFinal: true });
  });

  test('hangs causes an unknown outcome at the end of the attempt', async () => {
    const row = await rowFor('hello');
    tracker.fail({ kind: 'hang' }, 'POST', POST);
    const error = await failure(row, { signal: AbortSignal.timeout(300) });
    expect(error).toMatchObject({ isFinal: false, isOutcomeUnknown: true });
  });

  test('accepts a comment has received the credentials only in a header', async () => {
    await send(await rowFor('hello'));
    const [call] = tracker.callsOf('POST', POST);
    expect(call?.authorization).toBe(`Basic ${Buffer.from(`agent@example.com:${TOKEN}`).toString('base64')}`);
    expect(JSON.stringify(call?.body)).not.toContain(TOKEN);
  });
});

test('an event about a comment of the gateway is recognised', async () => {
  await send(await rowFor('hello'));
  const [comment] = tracker.commentsOf(KEY);
  const event = await receive((payload) => {
    Object.assign(payload.comment as object, {
      id: comment?.id,
      author: { accountId: tracker.user.accountId },
    });
  });
  const inbound = adapter.read(event);
  const complete = (await adapter.addLookups?.(inbound, [trigger])) ?? inbound;
  expect(adapter.accepts?.(trigger, complete)).toBe('the comment is our own');
  const other = adapter.read(await receive());
  expect(adapter.accepts?.(trigger, (await adapter.addLookups?.(other, [trigger])) ?? other)).toBe(true);
});
