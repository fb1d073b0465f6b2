import { expect, test } from 'vitest';
import { RunFeed, type RunNews } from '../../../../../actors/agents/runs/feed.ts';
import type { Principal } from '../../../../../actors/identity/principal.ts';
import { agentTarget } from '../../../../../config/resources/triggers/target.ts';

const done = { state: 'done', answer: 'Yes.', note: undefined } as const;

function subscribe(feed: RunFeed, id = 'r1', trigger = 'a', principal?: Principal) {
  const received: RunNews[] = [];
  const stop = feed.watch(id, { trigger, principal }, (news) => received.push(news));
  return { received, stop };
}

test('the feed of agent runs keeps the latest text of a run without subscribers until its attempt ends', () => {
  const feed = new RunFeed();
  const attempt = feed.begin('r1', agentTarget('a'));
  attempt.reportText('One');
  attempt.reportText('One, two');
  attempt.reportReply({ text: 'One, two.' });
  expect(feed.textOf('r1')?.text).toBe('One, two');
  attempt.end();
  expect(feed.textOf('r1')).toBeUndefined();
});

test('a watcher receives all events of its run in order, across attempts, and no events of other runs', () => {
  const feed = new RunFeed();
  const { received, stop } = subscribe(feed);
  const first = feed.begin('r1', agentTarget('a'));
  first.reportText('On');
  first.reportRetry('it answered 503', 400);
  expect(feed.textOf('r1')).toBeUndefined();
  first.reportRows(1, ['{}']);
  first.end();
  feed.onDeferred('r1');
  feed.onDeferred('r2');
  const second = feed.begin('r1', agentTarget('a'));
  feed.begin('r2', agentTarget('a')).reportText('other');
  second.reportReply({ text: 'Yes.', data: { of: 1 } });
  second.end();
  feed.onSettled('r1', done);
  stop();
  feed.begin('r1', agentTarget('a')).reportText('nobody');
  expect(received).toEqual([
    { kind: 'begun' },
    { kind: 'text', text: 'On', edition: expect.any(Number) },
    { kind: 'retrying', reason: 'it answered 503', inMs: 400 },
    { kind: 'rows', first: 1, rowKinds: [''] },
    { kind: 'deferred' },
    { kind: 'begun' },
    { kind: 'settled', settled: done, reply: { text: 'Yes.', data: { of: 1 } } },
  ]);
});

test('the edition of a text changes only if the text does not extend the previous one', () => {
  const feed = new RunFeed();
  const attempt = feed.begin('r1', agentTarget('a'));
  const editions = ['One', 'One, two', 'One, two, three', 'Another', 'Another one'].map((text) => {
    attempt.reportText(text);
    return feed.textOf('r1')?.edition ?? 0;
  });
  expect(new Set(editions.slice(0, 3)).size).toBe(1);
  expect(new Set(editions.slice(3)).size).toBe(1);
  expect(editions[3]).not.toBe(editions[2]);
});

test('run feed subscriptions are limited in total and per agent, and unsubscribing frees a slot', () => {
  const feed = new RunFeed({ max: 4 });
  const stops = [subscribe(feed, 'r1', 'greedy'), subscribe(feed, 'r2', 'greedy')];
  expect(() => subscribe(feed, 'r3', 'greedy')).toThrow(/2 of 4/);
  subscribe(feed, 'r4', 'other');
  for (const { stop } of stops) {
    stop();
    stop();
  }
  expect(feed.watchers).toBe(1);
  subscribe(feed, 'r3', 'greedy');
});

test('a principal with a token cannot use all watchers, of one trigger or of several', () => {
  const feed = new RunFeed({ max: 8 });
  const [alice, bob] = ['alice', 'bob'].map((name) => ({ kind: 'token', name }) as const);
  for (const run of ['r1', 'r2', 'r3']) subscribe(feed, run, 'a', alice);
  expect(() => subscribe(feed, 'r4', 'a', alice)).toThrow(/3 of 8/);
  subscribe(feed, 'r4', 'a', bob);
  expect(() => subscribe(feed, 'r5', 'b', alice)).not.toThrow();
  expect(() => subscribe(feed, 'r6', 'c', alice)).toThrow(/5 of 8/);
  subscribe(feed, 'r6', 'c', bob);
});

test('closing the feed of agent runs notifies all subscribers, and later subscribers immediately', () => {
  const feed = new RunFeed();
  const { received } = subscribe(feed);
  feed.close();
  expect([received, subscribe(feed).received]).toEqual([[{ kind: 'closed' }], [{ kind: 'closed' }]]);
});
