// Answers with a verdict on a pull request are posted as reviews, found after a lost response, and posted as
// comments if the host refuses reviews.

import { sign } from '@octokit/webhooks-methods';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DeliveryError } from '../../../../actors/events/outbox/delivery-error.ts';
import { htmlMarks } from '../../../../actors/events/outbox/resend-mark.ts';
import type { Adapter } from '../../../../actors/platforms/adapter.ts';
import type { RepoApi, ReviewVerdict } from '../../../../actors/platforms/repository-hosts/host.ts';
import { repoOutbound } from '../../../../actors/platforms/repository-hosts/outbound.ts';
import { repoHostAdapter } from '../../../../actors/platforms/repository-hosts/repohost/adapter.ts';
import type { NewEvent, StoredEvent } from '../../../../actors/store/event.ts';
import type { RepoHostTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { rowsOfAnswer, sendRow } from '../../../fixtures/automation/outbound.ts';
import { repoInbound, reviewPayload, storedRepoEvent } from '../../../fixtures/automation/repo-comments.ts';
import { repoExample } from '../../../fixtures/automation/repo-payloads.ts';
import { TestSourceHost } from '../../../fixtures/automation/source-host.ts';
import { repoHostTrigger } from '../../../fixtures/automation/triggers.ts';
import { RepoRestHost } from '../../../fixtures/repositories/repo-rest-host.ts';

const REVIEWS = /\/reviews$/;
const opened = repoExample('pull_request', 'opened') as {
  readonly number: number;
  readonly repository: object;
};
const PLACE = `Codertocat/Hello-World#${opened.number}`;
const approving = { actions: [{ id: 'approve', title: 'Approve it' }] };

let repoHost: RepoRestHost;
let host: TestSourceHost;
let adapter: Adapter<RepoHostTrigger>;
let trigger: RepoHostTrigger;
let close: () => Promise<void>;
beforeEach(async () => {
  repoHost = await new RepoRestHost().start();
  host = await new TestSourceHost().start();
  adapter = repoHostAdapter({ maxBodyBytes: 1_000_000 });
  trigger = triggerWith({});
  ({ close } = await adapter.open(trigger, host));
});
afterEach(async () => {
  await close();
  await host.stop();
  await repoHost.stop();
});

/** Creates a trigger with a new token, which has a free slot. */
const triggerWith = (config: Partial<RepoHostTrigger['config']>) =>
  repoHostTrigger('reviews', {
    token: `ghp_${Math.random()}`,
    api_url: repoHost.url,
    reviews: 'allow',
    ...config,
  });

function rowsFor(
  data: object,
  { text = 'It reads well.', event = 'pull_request', payload = opened as object, of = trigger } = {},
): readonly NewEvent[] {
  return rowsOfAnswer(adapter, of, storedRepoEvent(event, payload, ['reviews']), text, data);
}

function rowFor(data: object = approving, more: Parameters<typeof rowsFor>[1] = {}): StoredEvent {
  const [row, ...others] = rowsFor(data, more);
  if (row === undefined || others.length > 0) throw new Error(`${others.length} rows more than one`);
  return { ...row, seq: 2, at: Date.now(), attempt: 1, crashes: 0 };
}

const send = (row: StoredEvent, of = trigger) => sendRow(adapter, of, row);
const secondAttempt = (row: StoredEvent): StoredEvent => ({ ...row, attempt: 2 });
const reviews = () => (repoHost.reviews.get(PLACE) ?? []).map(({ state, body }) => [state, body]);
const comments = () => (repoHost.comments.get(PLACE) ?? []).map(({ body }) => body);

describe('an agent answer with a verdict on a pull request', () => {
  test.each([
    ['approve', 'APPROVED', 'APPROVE'],
    ['request_changes', 'CHANGES_REQUESTED', 'REQUEST_CHANGES'],
  ])('becomes one review with its text if its action is %s', async (id, state, event) => {
    const row = rowFor({ actions: [{ id }], fields: [{ name: 'Risk', value: 'low' }] });
    expect(row.key).toBe(`outbox/repohost/${new URL(repoHost.url).host}/${PLACE}`);
    expect(await send(row)).toEqual({ id: '80' });
    expect(reviews()).toEqual([[state, `${htmlMarks.markFor(row.id)}\n\nIt reads well.\n\n- **Risk**: low`]]);
    expect(repoHost.requestsFor('POST', REVIEWS).map(({ body }) => body)).toMatchObject([{ event }]);
    expect(comments()).toEqual([]);
  });

  test('becomes a review even without a text', async () => {
    await send(rowFor(approving, { text: '' }));
    expect(reviews()).toMatchObject([['APPROVED', expect.stringContaining('<!-- actor-gateway:')]]);
  });

  test('becomes a review for comments and reviews on a pull request', () => {
    const { issue, ...comment } = repoExample('issue_comment', 'created') as { readonly issue: object };
    const commentOnPull = { ...comment, issue: { ...issue, pull_request: { url: 'https://x.example' } } };
    const reviewOnPull = reviewPayload('Ready?');
    for (const [event, payload] of [
      ['issue_comment', commentOnPull],
      ['pull_request_review', reviewOnPull],
    ] as const)
      expect(rowFor(approving, { event, payload }).body.toString()).toContain('"verdict":"approve"');
  });
});

describe('an answer becomes a comment', () => {
  test.each([
    ['without reviews: allow', approving, { reviews: 'none' }, {}],
    ['on an issue', approving, {}, { event: 'issues', payload: repoExample('issues', 'opened') }],
    ['with two verdicts', { actions: [{ id: 'approve' }, { id: 'request_changes' }] }, {}, {}],
    ['without a verdict', { actions: [{ id: 'merge' }] }, {}, {}],
    ['with a link as action', { actions: [{ id: 'approve', url: 'https://x.example' }] }, {}, {}],
  ] as const)('%s', async (_, data, config, more) => {
    const of = triggerWith(config);
    const row = rowFor(data, { ...more, of });
    expect(row.body.toString()).not.toContain('verdict');
    await send(row, of);
    expect(repoHost.requestsFor('POST', REVIEWS)).toEqual([]);
    expect([...repoHost.comments.values()].flat()).toHaveLength(1);
  });
});

describe('a review that may already exist', () => {
  test('is found among many reviews, and not posted again', async () => {
    repoHost.pageSize = 2;
    for (let n = 0; n < 5; n += 1) await send(rowFor(approving, { of: triggerWith({}) }), triggerWith({}));
    void repoHost.refuse(REVIEWS, { status: 0, isCut: true });
    const row = { ...rowFor(), id: 'outbox:another/1' };
    await expect(send(row)).rejects.toMatchObject({ isFinal: false });
    expect(reviews()).toHaveLength(6);
    expect(await send(secondAttempt(row))).toEqual({ id: '85' });
    expect(reviews()).toHaveLength(6);
    expect(repoHost.requestsFor('GET', REVIEWS)).toHaveLength(3);
  });

  test('is posted if it does not exist', async () => {
    expect(await send(secondAttempt(rowFor()))).toEqual({ id: '80' });
    expect(repoHost.requestsFor('GET', REVIEWS)).toHaveLength(1);
  });
});

describe('if the host refuses a review', () => {
  beforeEach(() => repoHost.ownRequests.add(PLACE));

  test('the answer is posted as a comment with a note, within the rate limit', async () => {
    const row = rowFor();
    // The token's slot is occupied.
    await expect(send(row)).rejects.toMatchObject({ isRateLimited: true, isUncontacted: true });
    await new Promise((calls) => setTimeout(calls, 3_100));
    expect(await send(row)).toEqual({
      id: '1',
      note: `the host refuses a review (approve) of ${PLACE} by the token's user; posted as a comment`,
    });
    expect(comments()).toEqual([
      `${htmlMarks.markFor(row.id)}\n\n*(approve: no review, since the host refuses one by this account)*\n\nIt reads well.`,
    ]);
    expect(repoHost.requestsFor('POST', REVIEWS)).toHaveLength(1);
  });

  test('the comment of maximum size includes the note', async () => {
    const row = rowFor(approving, { text: 'x'.repeat(70_000) });
    await send(row).catch(() => {});
    await new Promise((calls) => setTimeout(calls, 3_100));
    await send(row);
    expect(comments()[0]?.length).toBeLessThanOrEqual(65_536);
  });
});

test.each([403, 404])('a token without review permission (%i) causes a permanent failure', async (status) => {
  void repoHost.refuse(REVIEWS, { status });
  await expect(send(rowFor())).rejects.toMatchObject({ isFinal: true, platformCode: status });
});

test('a response without review id is a permanent failure', async () => {
  void repoHost.refuse(REVIEWS, { status: 200 });
  await expect(send(rowFor())).rejects.toMatchObject({ isFinal: true });
});

describe('a review marked as written by the gateway', () => {
  const marked = `${htmlMarks.markFor('outbox:1/1')}\n\nFine.`;
  const isAccepted = (login: string, of = trigger) =>
    adapter.accepts?.(of, repoInbound('pull_request_review', reviewPayload(marked, login), ['reviews']));

  test('is ignored by every trigger if a trigger writes reviews as its author', async () => {
    await send(rowFor());
    expect(isAccepted(repoHost.login)).toBe(false);
    expect(isAccepted(repoHost.login, triggerWith({ token: undefined }))).toBe(false);
    expect(isAccepted('eve')).toBe(true);
    expect(isAccepted(repoHost.login, triggerWith({ api_url: 'https://elsewhere.example' }))).toBe(true);
  });

  test('is accepted if no trigger writes reviews', async () => {
    await close();
    expect(isAccepted(repoHost.login)).toBe(true);
    ({ close } = await adapter.open(trigger, host));
  });

  test('is ignored while the account of a trigger token is unknown', async () => {
    const unnamed = triggerWith({});
    void repoHost.refuse(/\/user$/, { status: 403 }, Number.POSITIVE_INFINITY);
    const opened = await adapter.open(unnamed, host);
    expect(isAccepted('eve')).toBe(false);
    await opened.close();
  });

  test('is ignored after another user edited it', async () => {
    await send(rowFor());
    const payload = reviewPayload(marked, repoHost.login);
    const edited = { ...payload, action: 'edited', sender: { ...(payload.sender as object), login: 'eve' } };
    const inbound = repoInbound('pull_request_review', edited, ['reviews']);
    expect(adapter.accepts?.(trigger, inbound)).toBe(false);
  });
});

test('a review by the account of the trigger token is ignored even without the mark of the gateway', async () => {
  await send(rowFor());
  const body = JSON.stringify(reviewPayload('without a mark', repoHost.login));
  const response = await fetch(host.url + trigger.config.path, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'pull_request_review',
      'x-github-delivery': 'd-1',
      'x-hub-signature-256': await sign(trigger.config.webhook_secret, body),
    },
  });
  expect(await response.json()).toMatchObject({ status: 'ignored' });
});

describe('a host whose verdicts have no text', () => {
  /** Creates a host that accepts only approvals. */
  function createHost(answers: (string | undefined | DeliveryError)[], found?: string) {
    const calls: string[] = [];
    const api = {
      own: undefined,
      postComment: async (_: unknown, body: string) => {
        calls.push(`comment ${body.split('\n').at(-1)}`);
        return 'c1';
      },
      findComment: async () => undefined,
      reviews: {
        find: async (_: unknown, verdict: ReviewVerdict) => {
          calls.push(`look for ${verdict}`);
          return found;
        },
        post: async (_: unknown, verdict: ReviewVerdict, body: string) => {
          calls.push(`${verdict} "${body}"`);
          const answer = answers.shift();
          if (answer instanceof DeliveryError) throw answer;
          return answer;
        },
      },
    } as unknown as RepoApi;
    const outbound = repoOutbound(
      {
        marks: htmlMarks,
        maxComment: 1_000,
        mentions: { pattern: /@x/g },
        reviews: { verdicts: ['approve'], haveText: false },
      },
      () => api,
      () => 'sender',
    );
    const adapterWithoutText = { ...adapter, outbound } as unknown as Adapter<RepoHostTrigger>;
    const rows = (data: object, text = 'Fine.') =>
      rowsOfAnswer(
        adapterWithoutText,
        trigger,
        storedRepoEvent('pull_request', opened, ['reviews']),
        text,
        data,
      ).map((row): StoredEvent => ({ ...row, seq: 2, at: 1, attempt: 1, crashes: 0 }));
    const sendWithoutText = async (row: StoredEvent) => sendRow(adapterWithoutText, trigger, row);
    return { rows, sendWithoutText, calls };
  }

  test('gets the text as a comment, then the verdict', async () => {
    const { rows, sendWithoutText, calls } = createHost(['r1']);
    const receipts = [];
    for (const row of rows(approving)) receipts.push(await sendWithoutText(row));
    expect(calls).toEqual(['comment Fine.', 'approve ""']);
    expect(receipts).toEqual([{ id: 'c1' }, { id: 'r1' }]);
  });

  test('gets only the verdict if the answer has no text; a retry first looks for it', async () => {
    const { rows, sendWithoutText, calls } = createHost([], 'r1');
    const [row, ...others] = rows(approving, '');
    expect(others).toEqual([]);
    expect(await sendWithoutText(secondAttempt(row as StoredEvent))).toEqual({ id: 'r1' });
    expect(calls).toEqual(['look for approve']);
  });

  test('that refuses the verdict gets the comment only, and the row is dead with the reason', async () => {
    const { rows, sendWithoutText } = createHost([undefined]);
    const [, verdict] = rows(approving);
    await expect(sendWithoutText(verdict as StoredEvent)).rejects.toMatchObject({
      isFinal: true,
      message: expect.stringContaining('refuses a review (approve)'),
    });
  });

  test('gets an unsupported verdict as a comment', () => {
    expect(createHost([]).rows({ actions: [{ id: 'request_changes' }] })).toHaveLength(1);
  });
});
