// Answers as comments, at a local tracker: written once each, found again, changed, and what becomes of refusals.

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
const TOKEN = 'ATATT3x-nobody-may-see-this';
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
  const made = { key: KEY, id: issueId, site: tracker.url };
  const event = commentCreated('please help', made, { id: '900', author });
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

const again = (row: StoredEvent): StoredEvent => ({ ...row, attempt: 2 });
const send = (row: StoredEvent, more = {}) => sendRow(adapter, trigger, row, more);

async function failure(row: StoredEvent, more = {}): Promise<DeliveryError> {
  const error: unknown = await send(row, more).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DeliveryError)) throw new Error(`expected a DeliveryError, not ${error}`);
  const shown = `${error.message} ${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`;
  expect(shown).not.toContain(TOKEN);
  expect(shown).not.toContain(Buffer.from(`agent@example.com:${TOKEN}`).toString('base64'));
  return error;
}

const texts = () => tracker.commentsOf(KEY).map(({ body }) => plainText(body));
const paragraph = (text: string) => ({
  version: 1,
  type: 'doc',
  content: [{ type: 'paragraph', content: [{ type: 'text', text }] }],
});

describe('an answer', () => {
  test('becomes one row for its issue, and the row a comment that has a mark nobody sees (ITC1)', async () => {
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

  test('becomes no row when it is empty, of an issue that is deleted, of a sprint, and without a token', async () => {
    const event = await receive();
    expect(rowsOfAnswer(adapter, trigger, event, ' \n ')).toEqual([]);
    expect(rowsOfAnswer(adapter, issueTrackerTrigger('silent'), event, 'hello')).toEqual([]);
    const deleted = await receive((said) => {
      said.webhookEvent = 'jira:issue_deleted';
      delete said.comment;
    });
    expect(rowsOfAnswer(adapter, trigger, deleted, 'hello')).toEqual([]);
    const sprint = await receive((said) => {
      said.webhookEvent = 'sprint_started';
      said.sprint = { id: 4, self: `${tracker.url}/rest/agile/1.0/sprint/4`, name: 'S', state: 'active' };
      delete said.comment;
      delete said.issue;
    });
    expect(rowsOfAnswer(adapter, trigger, sprint, 'hello')).toEqual([]);
  });

  test('that is too long becomes several, in their order', async () => {
    const words = Array.from({ length: 12_000 }, (_, n) => `w${n}`).join(' ');
    const rows = await rowsFor(words);
    expect(rows.length).toBeGreaterThan(1);
    for (const row of rows) await send(row);
    expect(texts().join(' ').split(/\s+/)).toEqual(words.split(' '));
  });

  test('that is much too long has its beginning, and a last line that says so', async () => {
    const rows = await rowsFor('*a* '.repeat(1_000_000));
    expect(rows.length).toBeLessThanOrEqual(100);
    expect(rows.length).toBeGreaterThan(80);
    const last = JSON.parse(Buffer.from(rows.at(-1)?.body ?? []).toString()) as { body: object };
    expect(documentFaults(last.body)).toBe('');
    expect(plainText(last.body)).toMatch(/too long to be sent here: about [\d,]+ characters/);
  });

  test('has its title and fields, and of its actions those that lead to a page', async () => {
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

  test('mentions nobody, whatever is written (TO2)', async () => {
    await send(await rowFor(`@mia [~accountid:${person.accountId}] <@mia> @all`));
    expect(texts()).toEqual([`@mia [~accountid:${person.accountId}] <@mia> @all`]);
    expect(JSON.stringify(tracker.commentsOf(KEY))).not.toContain('"mention"');
  });

  test('can be no reaction', () => {
    const action = { do: 'react', to: '1', emoji: '👍' } as const;
    const message = { target: { place: KEY }, action, text: '' };
    expect(() => adapter.outbound?.render(trigger, message)).toThrow(/not reacted to/);
  });

  test('can go to an issue without an event, of the own account only', async () => {
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

describe('a comment whose answer was lost', () => {
  test('is found by its mark, and not written again (TO1)', async () => {
    const row = await rowFor('Thank you.');
    tracker.fail({ kind: 'cut', isTaken: true }, 'POST', POST);
    expect(await failure(row)).toMatchObject({ isOutcomeUnknown: true, isFinal: false });
    const [comment] = tracker.commentsOf(KEY);
    expect(await send(again(row))).toEqual({ id: comment?.id });
    expect(texts()).toEqual(['Thank you.']);
  });

  test('is written when it is not there, though the same was said before, and by others', async () => {
    await send(await rowFor('Done.'));
    tracker.addComment(KEY, paragraph('Done.'), person);
    const row = await rowFor('Done.');
    tracker.fail({ kind: 'cut' }, 'POST', POST);
    expect((await failure(row)).isOutcomeUnknown).toBe(true);
    await send(again(row));
    expect(texts()).toEqual(['Done.', 'Done.', 'Done.']);
  });

  test('is found among many others, in pages (ITL1)', async () => {
    tracker.pageSize = 2;
    const row = await rowFor('Thank you.');
    await send(row);
    for (let n = 0; n < 5; n += 1) tracker.addComment(KEY, paragraph(`no ${n}`), person);
    const { id } = tracker.commentsOf(KEY)[0] ?? {};
    expect(await send(again(row))).toEqual({ id });
    expect(tracker.callsOf('GET', POST)).toHaveLength(3);
  });

  test('is looked for no further than when its row was made; where the clocks differ further (ITL1, ITL2)', async () => {
    tracker.pageSize = 1;
    const row = { ...(await rowFor('Thank you.')), at: Date.now() + 3_600_000 };
    await send(row);
    for (let n = 0; n < 3; n += 1) tracker.addComment(KEY, paragraph(`no ${n}`), person);
    // By a clock that was wrong: nothing is as new as the row, and it is found all the same.
    expect(await send(again(row))).toEqual({ id: tracker.commentsOf(KEY)[0]?.id });
    const asked = tracker.callsOf('GET', POST).length;
    expect(asked).toBe(4);
    const older = { ...row, id: 'outbox:another/1', at: Date.now() };
    tracker.behindMs = 3_600_000;
    tracker.addComment(KEY, paragraph('old'), person);
    await send(again(older));
    expect(tracker.callsOf('GET', POST).length - asked).toBe(1);
    expect(texts()).toHaveLength(6);
  });

  test('may stand there twice where there are too many to look through, and says so (ITL1)', async () => {
    tracker.pageSize = 1;
    for (let n = 0; n < 12; n += 1) tracker.addComment(KEY, paragraph(`no ${n}`), person);
    const receipt = await send(again(await rowFor('Thank you.')));
    expect(receipt).toMatchObject({ note: expect.stringContaining('may stand there twice') });
    expect(tracker.callsOf('GET', POST)).toHaveLength(10);
  });

  test('is found where lists of an issue come without properties', async () => {
    tracker.hidesProperties = true;
    const row = await rowFor('Thank you.');
    await send(row);
    tracker.addComment(KEY, paragraph('Thank you.'), person);
    expect(await send(again(row))).toEqual({ id: tracker.commentsOf(KEY)[0]?.id });
    expect(tracker.callsOf('POST', /comment\/list$/)).toHaveLength(1);
  });

  test.each([
    { kind: 'refuse', refusal: refusal(404, []) },
    { kind: 'page', status: 200 },
  ] as const)('is found by what it says where nothing tells of properties: $kind', async (fault) => {
    tracker.hidesProperties = true;
    tracker.fail(fault, 'POST', /comment\/list$/);
    const row = await rowFor('Thank **you**.\n\n- a');
    await send(row);
    tracker.addComment(KEY, paragraph('no'), person);
    expect(await send(again(row))).toEqual({ id: tracker.commentsOf(KEY)[0]?.id });
  });

  test('is not written while nobody can say whether it is there', async () => {
    const row = await rowFor('Thank you.');
    for (const fault of [{ kind: 'page', status: 502 }, { kind: 'cut' }] as const) {
      tracker.fail(fault, 'GET', POST);
      expect((await failure(again(row))).isFinal).toBe(false);
    }
    tracker.hidesProperties = true;
    tracker.addComment(KEY, paragraph('no'), person);
    tracker.fail({ kind: 'page', status: 503 }, 'POST', /comment\/list$/);
    expect((await failure(again(row))).isFinal).toBe(false);
    expect(texts()).toEqual(['no']);
  });
});

describe('an edit', () => {
  const editOf = (first: StoredEvent, text: string): StoredEvent => {
    const message = { target: { place: KEY }, action: { do: 'edit', of: first.id } as const, text };
    const [rendered] = adapter.outbound?.render(trigger, message) ?? [];
    return { ...first, id: 'outbox:edit/1', body: Buffer.from(JSON.stringify(rendered)) };
  };

  test('changes the comment; of one that is gone it is told so, and without one it is posted', async () => {
    const first = await rowFor('Thinking…');
    const edit = editOf(first, 'Thank you.');
    const { id } = await send(first);
    const before = { receiptOf: async (row: string) => (row === first.id ? { id } : undefined) };
    expect(await send(edit, before)).toEqual({ id });
    expect(texts()).toEqual(['Thank you.']);
    tracker.deleteComment(KEY, id);
    expect(await failure(edit, before)).toMatchObject({
      isTargetGone: true,
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
    [401, { status: 401, body: { message: 'no' } }, '401 the e-mail address and the token'],
    [
      403,
      refusal(403, ['You may not comment.']),
      '403 the account of the token may not do that: You may not',
    ],
    [404, refusal(404, ['Issue does not exist']), '404 no such issue or comment'],
    [413, refusal(413, []), '413 longer than the tracker takes'],
  ])('says %i is not asked again', async (status, answer, words) => {
    const row = await rowFor('hello');
    tracker.fail({ kind: 'refuse', refusal: answer }, 'POST', POST);
    const error = await failure(row);
    expect(error).toMatchObject({ isFinal: true, platformCode: status });
    expect(error.message).toContain(words);
  });

  test('asks for a pause is given it whole, without an attempt; all under the token wait', async () => {
    const row = await rowFor('hello');
    const answer = { ...refusal(429, ['Rate limit exceeded.']), headers: { 'retry-after': '7' } };
    tracker.fail({ kind: 'refuse', refusal: answer }, 'POST', POST);
    expect(await failure(row)).toMatchObject({ isTooSoon: true, retryAfterMs: 7_000, isFinal: false });
    tracker.addIssue('OPS-8');
    const other = await receive((said) => {
      (said.issue as { key: string }).key = 'OPS-8';
    });
    const [elsewhere] = rowsOfAnswer(adapter, trigger, other, 'hello');
    const unasked = await failure({ ...elsewhere, seq: 9, at: 0, attempt: 1, crashes: 0 } as StoredEvent);
    expect(unasked).toMatchObject({ isTooSoon: true, isUnasked: true });
    expect(unasked.retryAfterMs).toBeGreaterThan(6_000);
    expect(texts()).toEqual([]);
  });

  test('asks for a pause for one issue is written to elsewhere', async () => {
    const row = await rowFor('hello');
    const headers = { 'retry-after': '5', 'ratelimit-reason': 'jira-per-issue-on-write' };
    tracker.fail({ kind: 'refuse', refusal: { ...refusal(429, []), headers } }, 'POST', POST);
    expect(await failure(row)).toMatchObject({ isTooSoon: true, retryAfterMs: 5_000 });
    tracker.addIssue('OPS-8');
    const other = await receive((said) => {
      (said.issue as { key: string }).key = 'OPS-8';
    });
    const [elsewhere] = rowsOfAnswer(adapter, trigger, other, 'hello');
    await send({ ...elsewhere, seq: 9, at: 0, attempt: 1, crashes: 0 } as StoredEvent);
    expect(tracker.commentsOf('OPS-8')).toHaveLength(1);
    expect(await failure(row)).toMatchObject({ isTooSoon: true, isUnasked: true });
    expect(adapter.outbound?.limits?.(trigger).held).toMatchObject([{ of: KEY }]);
  });

  test.each([500, 502, 503, 504])('is down with %i is asked again (TA1)', async (status) => {
    const row = await rowFor('hello');
    tracker.fail({ kind: 'page', status }, 'POST', POST);
    const error = await failure(row);
    expect(error).toMatchObject({ isFinal: false, isPlatformDown: true, isTooSoon: false });
    expect(error.message).toContain(String(status));
    expect(tracker.callsOf('POST', POST)).toHaveLength(1);
  });

  test('is replaced by a page of something else has taken nothing', async () => {
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

  test('hangs is left when the attempt ends', async () => {
    const row = await rowFor('hello');
    tracker.fail({ kind: 'hang' }, 'POST', POST);
    const error = await failure(row, { signal: AbortSignal.timeout(300) });
    expect(error).toMatchObject({ isFinal: false, isOutcomeUnknown: true });
  });

  test('gets the credentials in a header, and nowhere else', async () => {
    await send(await rowFor('hello'));
    const [call] = tracker.callsOf('POST', POST);
    expect(call?.authorization).toBe(`Basic ${Buffer.from(`agent@example.com:${TOKEN}`).toString('base64')}`);
    expect(JSON.stringify(call?.body)).not.toContain(TOKEN);
  });
});

test('its own comment is known when it comes back as an event', async () => {
  await send(await rowFor('hello'));
  const [comment] = tracker.commentsOf(KEY);
  const event = await receive((said) => {
    Object.assign(said.comment as object, { id: comment?.id, author: { accountId: tracker.user.accountId } });
  });
  const inbound = adapter.read(event);
  const complete = (await adapter.complete?.(inbound, [trigger])) ?? inbound;
  expect(adapter.takes?.(trigger, complete)).toBe('the comment is one of our own');
  const other = adapter.read(await receive());
  expect(adapter.takes?.(trigger, (await adapter.complete?.(other, [trigger])) ?? other)).toBe(true);
});
