// Answers as notes, with an API on loopback: posted, found, edited, and without quick actions. Also write
// permissions and approvals.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DeliveryError } from '../../../../../../actors/events/outbox/delivery-error.ts';
import { htmlMarks } from '../../../../../../actors/events/outbox/resend-mark.ts';
import type { Adapter } from '../../../../../../actors/platforms/adapter.ts';
import type { RepoItemRef } from '../../../../../../actors/platforms/repository-hosts/host.ts';
import { repoHostBAdapter } from '../../../../../../actors/platforms/repository-hosts/repohostb/adapter.ts';
import { RepoHostBApi } from '../../../../../../actors/platforms/repository-hosts/repohostb/api.ts';
import type { RepoHostBTrigger } from '../../../../../../config/resources/triggers/trigger.ts';
import { rowsOfAnswer, sendRow } from '../../../../../fixtures/automation/outbound.ts';
import { TestSourceHost } from '../../../../../fixtures/automation/source-host.ts';
import { repoHostBTrigger } from '../../../../../fixtures/automation/triggers.ts';
import {
  issueEvent,
  mergeRequest,
  noteOnCommit,
  noteOnIssue,
  noteOnRequest,
  push,
} from '../../../../../fixtures/repositories/repohostb-payloads.ts';
import { RepoHostBPlatform } from '../../../../../fixtures/repositories/repohostb-platform.ts';

const PROJECT = 'acme/team/shop';
const request: RepoItemRef = { repository: PROJECT, sign: '!', number: 5 };
const { signal } = new AbortController();

let repoHost: RepoHostBPlatform;
let host: TestSourceHost;
let adapter: Adapter<RepoHostBTrigger>;
let trigger: RepoHostBTrigger;
let api: RepoHostBApi;

beforeEach(async () => {
  repoHost = await new RepoHostBPlatform().start();
  host = await new TestSourceHost().start();
  adapter = repoHostBAdapter({ maxBodyBytes: 1_000_000 });
  trigger = repoHostBTrigger('reviews', { token: `glpat-${Math.random()}`, api_url: repoHost.apiUrl });
  await adapter.open(trigger, host);
  api = new RepoHostBApi(repoHost.apiUrl, `glpat-${Math.random()}`, 0);
});
afterEach(async () => {
  await host.stop();
  await repoHost.stop();
});

async function rowsFor(payload: unknown, text: string, data?: unknown) {
  const before = host.store.events.length;
  const response = await fetch(`${host.url}/webhook/repohostb`, {
    method: 'POST',
    body: JSON.stringify(payload),
    headers: { 'x-gitlab-token': trigger.config.webhook_secret, 'idempotency-key': `k-${before}` },
  });
  expect(response.status).toBe(202);
  const rows = rowsOfAnswer(adapter, trigger, host.event(), text, data);
  return rows.map((row) => ({ ...row, seq: 1, at: Date.now(), attempt: 1, crashes: 0 }));
}

const notes = (place: string) => (repoHost.comments.get(place) ?? []).map(({ body }) => body);

describe('an answer', () => {
  test.each([
    ['a merge request', mergeRequest(), '!5', 'merge_requests'],
    ['a note on one', noteOnRequest(), '!5', 'merge_requests'],
    ['an issue', issueEvent(), '#5', 'issues'],
    ['a task', issueEvent({}, 'work_item'), '#5', 'issues'],
    ['a note on an issue', noteOnIssue(), '#5', 'issues'],
  ])('to %s becomes a note at the same place', async (_, payload, place, kind) => {
    const [row] = await rowsFor(payload, 'Thank you.');
    if (row === undefined) throw new Error('no row was made');
    const receipt = await sendRow(adapter, trigger, row);
    expect(notes(`${PROJECT}${place}`)).toEqual([`${htmlMarks.markFor(row.id)}\n\nThank you.`]);
    const [posted] = repoHost.requestsFor('POST', /notes$/);
    expect(posted?.path).toBe(`/api/v4/projects/acme%2Fteam%2Fshop/${kind}/5/notes`);
    expect(posted?.authorization).toBe(`Bearer ${trigger.config.token}`);
    // A later attempt finds the note.
    expect(await sendRow(adapter, trigger, { ...row, attempt: 2 })).toEqual(receipt);
    expect(notes(`${PROJECT}${place}`)).toHaveLength(1);
  });

  test.each([
    ['a push', push()],
    ['a note on a commit', noteOnCommit()],
  ])('to %s becomes no outbox row', async (_, payload) => {
    expect(await rowsFor(payload, 'Thank you.')).toEqual([]);
  });

  test('contains no effective quick action in text or card, although the host runs quick actions', async () => {
    const data = { title: '/merge', fields: [{ name: '/close', value: '/assign @eve' }] };
    const [row] = await rowsFor(mergeRequest(), 'See\n/close\r/approve\n```\n/merge\n```', data);
    if (row === undefined) throw new Error('no row was made');
    await sendRow(adapter, trigger, row);
    expect(repoHost.carriedOut).toEqual([]);
    const [note = ''] = notes(`${PROJECT}!5`);
    expect(note).toContain('\\/close\n\\/approve\n```\n/merge\n```');
    // The fake host runs unescaped quick actions.
    await api.postComment(request, '/close', signal).catch(() => {});
    expect(repoHost.carriedOut).toEqual([{ place: `${PROJECT}!5`, action: 'close' }]);
  });

  test('to an internal note is internal and approves nothing', async () => {
    trigger = { ...trigger, config: { ...trigger.config, reviews: 'allow' } };
    const data = { actions: [{ id: 'approve', title: 'Approve' }] };
    const internal = { ...noteOnRequest(), event_type: 'confidential_note' };
    const [row, ...others] = await rowsFor(internal, 'Between us.', data);
    if (row === undefined) throw new Error('no row was made');
    expect(Buffer.from(row.body).toString()).toMatch(/internal/i);
    await sendRow(adapter, trigger, row);
    expect(repoHost.requestsFor('POST', /notes$/)).toMatchObject([{ body: { internal: true } }]);
    expect(others).toEqual([]);
  });

  test('to a note on a confidential issue is visible to all who see the issue', async () => {
    const note = noteOnIssue() as { issue: object };
    const confidential = {
      ...note,
      event_type: 'confidential_note',
      issue: { ...note.issue, confidential: true },
    };
    for (const payload of [confidential, noteOnIssue()]) {
      const [row] = await rowsFor(payload, 'Thank you.');
      expect(Buffer.from(row?.body ?? '').toString()).toContain('Thank you.');
      expect(Buffer.from(row?.body ?? '').toString()).not.toMatch(/internal/i);
    }
  });

  test('edits its note, and reports a missing note', async () => {
    const id = await api.postComment(request, 'one', signal);
    await expect(api.changeComment(request, '999', 'two', signal)).rejects.toMatchObject({
      isRateLimited: true,
    });
    const other = new RepoHostBApi(repoHost.apiUrl, 'another-token', 0);
    await other.changeComment(request, id, 'two', signal);
    expect(notes(`${PROJECT}!5`)).toEqual(['two']);
    const third = new RepoHostBApi(repoHost.apiUrl, 'a-third-token', 0);
    await expect(third.changeComment(request, '999', 'x', signal)).rejects.toMatchObject({
      isFinal: true,
      isTargetMissing: true,
    });
  });
});

describe('a note from an earlier attempt', () => {
  const search = (mark: string, madeAt = Date.now()) => api.findComment(request, { mark, madeAt, signal });

  async function addNotes(count: number, ageMs = 0) {
    const all = Array.from({ length: count }, (_, n) => ({
      id: n + 1,
      body: `mark-${n + 1}-`,
      author: 'the-bot',
      at: new Date(Date.now() - ageMs).toISOString(),
    }));
    repoHost.comments.set(`${PROJECT}!5`, all);
  }

  test('is searched among the newest, on a bounded number of pages', async () => {
    repoHost.pageSize = 10;
    await addNotes(300);
    expect(await search('mark-300-')).toBe('300');
    expect(repoHost.requestsFor('GET', /notes$/)).toHaveLength(1);
    expect(await search('mark-250-')).toBe('250');
    expect(await search('mark-1-')).toBeUndefined();
    expect(repoHost.requestsFor('GET', /notes$/)).toHaveLength(1 + 6 + 10);
  });

  test('is not searched among notes older than its outbox row', async () => {
    repoHost.pageSize = 10;
    await addNotes(100, 3_600_000);
    expect(await search('none')).toBeUndefined();
    expect(repoHost.requestsFor('GET', /notes$/)).toHaveLength(1);
    // The local clock is wrong, so the row looks newer than all notes.
    expect(await search('mark-50-', Date.now() + 7_200_000)).toBe('50');
  });

  test('cannot be determined if the response to the search is no list', async () => {
    repoHost.refuse(/notes$/, { status: 200 });
    await expect(search('none')).rejects.toThrow(DeliveryError);
  });
});

describe('write permission', () => {
  const mayWrite = (name: string, id = String(repoHost.idOf(name))) =>
    api.mayWrite(PROJECT, { name, id }, signal);

  test.each([
    [10, false],
    [20, false],
    [30, true],
    [40, true],
    [50, true],
  ])('follows the access level of a member: %i means %s', async (level, expected) => {
    repoHost.levels.set('ann', level);
    expect(await mayWrite('ann')).toBe(expected);
  });

  test('is denied to unknown users, and is an error if the token cannot see the repository', async () => {
    expect(await mayWrite('eve')).toBe(false);
    repoHost.hidden.add(PROJECT);
    await expect(mayWrite('eve')).rejects.toMatchObject({
      isFinal: true,
      message: expect.stringContaining('the token needs membership of'),
    });
  });

  test('is requested by user id, which is looked up if an event has none', async () => {
    repoHost.levels.set('ann', 30);
    repoHost.idOf('ann');
    expect(await mayWrite('ann', 'ann')).toBe(true);
    expect(await mayWrite('nobody', 'nobody')).toBe(false);
  });

  test('is unknown while the host is unavailable', async () => {
    repoHost.refuse(/members/, { status: 503 });
    await expect(mayWrite('ann')).rejects.toMatchObject({ isPlatformDown: true });
    repoHost.refuse(/members/, { status: 401 });
    await expect(mayWrite('ann')).rejects.toThrow('the token is invalid');
  });
});

describe('an approval of a merge request', () => {
  const approve = () => api.reviews.post(request, 'approve', '', signal);
  const find = () => api.reviews.find(request, 'approve', { signal });

  test('is given once and found again', async () => {
    expect(await find()).toBeUndefined();
    expect(await approve()).toBe('approved');
    expect(await find()).toBe('approved');
    const otherToken = new RepoHostBApi(repoHost.apiUrl, 'another-token-of-the-same-user', 0);
    expect(await otherToken.reviews.post(request, 'approve', '', signal)).toBe('approved');
  });

  test('is not possible if the user of the token is the author', async () => {
    repoHost.ownRequests.add(`${PROJECT}!5`);
    expect(await approve()).toBeUndefined();
  });

  test('fails with an invalid token', async () => {
    repoHost.refuse(/approve$/, { status: 401 });
    await expect(approve()).rejects.toMatchObject({ platformCode: 401, isFinal: true });
  });

  test('is sent after the text of an answer if the trigger allows reviews', async () => {
    trigger = { ...trigger, config: { ...trigger.config, reviews: 'allow' } };
    const data = { actions: [{ id: 'approve', title: 'Approve' }] };
    const rows = await rowsFor(mergeRequest(), 'Well done.', data);
    expect(rows).toHaveLength(2);
    expect(await rowsFor(issueEvent(), 'Well done.', data)).toHaveLength(1);
  });
});
