// Answers that judge a request: what becomes a review and what does not, found again, and not lost where the host takes none.

import { sign } from '@octokit/webhooks-methods';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DeliveryError } from '../../../../actors/events/outbox/delivery-error.ts';
import { htmlMarks } from '../../../../actors/events/outbox/resend-mark.ts';
import type { Adapter } from '../../../../actors/platforms/adapter.ts';
import type { RepoApi, Verdict } from '../../../../actors/platforms/repository-hosts/host.ts';
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

let rest: RepoRestHost;
let host: TestSourceHost;
let adapter: Adapter<RepoHostTrigger>;
let trigger: RepoHostTrigger;
let close: () => Promise<void>;
beforeEach(async () => {
  rest = await new RepoRestHost().start();
  host = await new TestSourceHost().start();
  adapter = repoHostAdapter({ maxBodyBytes: 1_000_000 });
  trigger = triggerWith({});
  ({ close } = await adapter.open(trigger, host));
});
afterEach(async () => {
  await close();
  await host.stop();
  await rest.stop();
});

/** Each with a token of its own, which need not wait for its turn. */
const triggerWith = (config: Partial<RepoHostTrigger['config']>) =>
  repoHostTrigger('reviews', {
    token: `ghp_${Math.random()}`,
    api_url: rest.url,
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
const again = (row: StoredEvent): StoredEvent => ({ ...row, attempt: 2 });
const reviews = () => (rest.reviews.get(PLACE) ?? []).map(({ state, body }) => [state, body]);
const comments = () => (rest.comments.get(PLACE) ?? []).map(({ body }) => body);

describe('an answer that judges a request', () => {
  test.each([
    ['approve', 'APPROVED', 'APPROVE'],
    ['request_changes', 'CHANGES_REQUESTED', 'REQUEST_CHANGES'],
  ])('by the action %s is one review with its words', async (id, state, event) => {
    const row = rowFor({ actions: [{ id }], fields: [{ name: 'Risk', value: 'low' }] });
    expect(row.key).toBe(`outbox/repohost/${new URL(rest.url).host}/${PLACE}`);
    expect(await send(row)).toEqual({ id: '80' });
    expect(reviews()).toEqual([[state, `${htmlMarks.of(row.id)}\n\nIt reads well.\n\n- **Risk**: low`]]);
    expect(rest.askedFor('POST', REVIEWS).map(({ body }) => body)).toMatchObject([{ event }]);
    expect(comments()).toEqual([]);
  });

  test('may have no words', async () => {
    await send(rowFor(approving, { text: '' }));
    expect(reviews()).toMatchObject([['APPROVED', expect.stringContaining('<!-- actor-gateway:')]]);
  });

  test('comes of whatever is said about a request: a comment on it, a review', () => {
    const { issue, ...comment } = repoExample('issue_comment', 'created') as { readonly issue: object };
    const onRequest = { ...comment, issue: { ...issue, pull_request: { url: 'https://x.example' } } };
    const onReview = reviewPayload('Ready?');
    for (const [event, payload] of [
      ['issue_comment', onRequest],
      ['pull_request_review', onReview],
    ] as const)
      expect(rowFor(approving, { event, payload }).body.toString()).toContain('"verdict":"approve"');
  });
});

describe('an answer is a comment as always', () => {
  test.each([
    ['without reviews: allow', approving, { reviews: 'none' }, {}],
    ['on an issue', approving, {}, { event: 'issues', payload: repoExample('issues', 'opened') }],
    ['where it says both', { actions: [{ id: 'approve' }, { id: 'request_changes' }] }, {}, {}],
    ['where it says neither', { actions: [{ id: 'merge' }] }, {}, {}],
    ['where the action leads to a page', { actions: [{ id: 'approve', url: 'https://x.example' }] }, {}, {}],
  ] as const)('%s', async (_, data, config, more) => {
    const of = triggerWith(config);
    const row = rowFor(data, { ...more, of });
    expect(row.body.toString()).not.toContain('verdict');
    await send(row, of);
    expect(rest.askedFor('POST', REVIEWS)).toEqual([]);
    expect([...rest.comments.values()].flat()).toHaveLength(1);
  });
});

describe('a review that may be there already', () => {
  test('is found, however many there are, and not written again', async () => {
    rest.pageSize = 2;
    for (let n = 0; n < 5; n += 1) await send(rowFor(approving, { of: triggerWith({}) }), triggerWith({}));
    void rest.refuse(REVIEWS, { status: 0, isCut: true });
    const row = { ...rowFor(), id: 'outbox:another/1' };
    await expect(send(row)).rejects.toMatchObject({ isFinal: false });
    expect(reviews()).toHaveLength(6);
    expect(await send(again(row))).toEqual({ id: '85' });
    expect(reviews()).toHaveLength(6);
    expect(rest.askedFor('GET', REVIEWS)).toHaveLength(3);
  });

  test('is written where it is not', async () => {
    expect(await send(again(rowFor()))).toEqual({ id: '80' });
    expect(rest.askedFor('GET', REVIEWS)).toHaveLength(1);
  });
});

describe('where the host takes no review', () => {
  beforeEach(() => rest.ownRequests.add(PLACE));

  test('what was said is a comment, which tells of it, as soon as it is its turn', async () => {
    const row = rowFor();
    // One thing is written every few seconds under one token.
    await expect(send(row)).rejects.toMatchObject({ isTooSoon: true, isUnasked: true });
    await new Promise((done) => setTimeout(done, 3_100));
    expect(await send(row)).toEqual({
      id: '1',
      note: `the host takes no review (approve) of ${PLACE} from whose token it is, so it is a comment`,
    });
    expect(comments()).toEqual([
      `${htmlMarks.of(row.id)}\n\n*(approve: no review, since the host takes none from here)*\n\nIt reads well.`,
    ]);
    expect(rest.askedFor('POST', REVIEWS)).toHaveLength(1);
  });

  test('the longest of them has room for that', async () => {
    const row = rowFor(approving, { text: 'x'.repeat(70_000) });
    await send(row).catch(() => {});
    await new Promise((done) => setTimeout(done, 3_100));
    await send(row);
    expect(comments()[0]?.length).toBeLessThanOrEqual(65_536);
  });
});

test.each([403, 404])('a token that may not review (%i) has the row dead', async (status) => {
  void rest.refuse(REVIEWS, { status });
  await expect(send(rowFor())).rejects.toMatchObject({ isFinal: true, platformCode: status });
});

test('an answer without the id of a review, as of a redirect, is none', async () => {
  void rest.refuse(REVIEWS, { status: 200 });
  await expect(send(rowFor())).rejects.toMatchObject({ isFinal: true });
});

describe('a review with a mark', () => {
  const marked = `${htmlMarks.of('outbox:1/1')}\n\nFine.`;
  const isTaken = (login: string, of = trigger) =>
    adapter.takes?.(of, repoInbound('pull_request_review', reviewPayload(marked, login), ['reviews']));

  test('is passed over by every trigger where it is by whose token writes reviews here (HF2)', async () => {
    await send(rowFor());
    expect(isTaken(rest.login)).toBe(false);
    expect(isTaken(rest.login, triggerWith({ token: undefined }))).toBe(false);
    expect(isTaken('eve')).toBe(true);
    expect(isTaken(rest.login, triggerWith({ api_url: 'https://elsewhere.example' }))).toBe(true);
  });

  test('is taken where no trigger here writes reviews', async () => {
    await close();
    expect(isTaken(rest.login)).toBe(true);
    ({ close } = await adapter.open(trigger, host));
  });

  test('is passed over while nobody knows whose token that is', async () => {
    const unnamed = triggerWith({});
    void rest.refuse(/\/user$/, { status: 403 }, Number.POSITIVE_INFINITY);
    const opened = await adapter.open(unnamed, host);
    expect(isTaken('eve')).toBe(false);
    await opened.close();
  });

  test('that somebody else has changed is still ours', async () => {
    await send(rowFor());
    const payload = reviewPayload(marked, rest.login);
    const edited = { ...payload, action: 'edited', sender: { ...(payload.sender as object), login: 'eve' } };
    const inbound = repoInbound('pull_request_review', edited, ['reviews']);
    expect(adapter.takes?.(trigger, inbound)).toBe(false);
  });
});

test('what the token has written does not come back to its trigger', async () => {
  await send(rowFor());
  const body = JSON.stringify(reviewPayload('without a mark', rest.login));
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

describe('a host whose verdicts have no words', () => {
  /** Takes approvals alone. */
  function bench(answers: (string | undefined | DeliveryError)[], found?: string) {
    const done: string[] = [];
    const api = {
      own: undefined,
      postComment: async (_: unknown, body: string) => {
        done.push(`comment ${body.split('\n').at(-1)}`);
        return 'c1';
      },
      findComment: async () => undefined,
      reviews: {
        find: async (_: unknown, verdict: Verdict) => {
          done.push(`look for ${verdict}`);
          return found;
        },
        post: async (_: unknown, verdict: Verdict, body: string) => {
          done.push(`${verdict} "${body}"`);
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
        reviews: { verdicts: ['approve'], haveWords: false },
      },
      () => api,
      () => 'sender',
    );
    const bare = { ...adapter, outbound } as unknown as Adapter<RepoHostTrigger>;
    const rows = (data: object, text = 'Fine.') =>
      rowsOfAnswer(bare, trigger, storedRepoEvent('pull_request', opened, ['reviews']), text, data).map(
        (row): StoredEvent => ({ ...row, seq: 2, at: 1, attempt: 1, crashes: 0 }),
      );
    const sent = async (row: StoredEvent) => sendRow(bare, trigger, row);
    return { rows, sent, done };
  }

  test('has the words as a comment, and then the verdict', async () => {
    const { rows, sent, done } = bench(['r1']);
    const receipts = [];
    for (const row of rows(approving)) receipts.push(await sent(row));
    expect(done).toEqual(['comment Fine.', 'approve ""']);
    expect(receipts).toEqual([{ id: 'c1' }, { id: 'r1' }]);
  });

  test('has the verdict alone where nothing is said, and looks for it before a second attempt', async () => {
    const { rows, sent, done } = bench([], 'r1');
    const [row, ...others] = rows(approving, '');
    expect(others).toEqual([]);
    expect(await sent(again(row as StoredEvent))).toEqual({ id: 'r1' });
    expect(done).toEqual(['look for approve']);
  });

  test('that takes none leaves a dead row with the reason, beside the comment', async () => {
    const { rows, sent } = bench([undefined]);
    const [, verdict] = rows(approving);
    await expect(sent(verdict as StoredEvent)).rejects.toMatchObject({
      isFinal: true,
      message: expect.stringContaining('takes no review (approve)'),
    });
  });

  test('has a verdict that it has no form for as a comment', () => {
    expect(bench([]).rows({ actions: [{ id: 'request_changes' }] })).toHaveLength(1);
  });
});
