import { expect, test } from 'vitest';
import { RunFeed, type RunNews } from '../../../../../actors/agents/runs/run-feed.ts';
import { agentTarget } from '../../../../../config/resources/triggers/target.ts';

const done = { state: 'done', answer: 'Yes.', note: undefined } as const;

function watched(feed: RunFeed, id = 'r1', agent = 'a') {
  const heard: RunNews[] = [];
  const stop = feed.watch(id, agent, (news) => heard.push(news));
  return { heard, stop };
}

test('RUF1: of a run that nobody watches the newest text is there, until its attempt is over', () => {
  const feed = new RunFeed();
  const attempt = feed.begin('r1', agentTarget('a'));
  attempt.text('One');
  attempt.text('One, two');
  attempt.replied({ text: 'One, two.' });
  expect(feed.textOf('r1')).toBe('One, two');
  attempt.end();
  expect(feed.textOf('r1')).toBe('');
});

test('whoever watches hears of everything in order, also over attempts, and nothing of other runs', () => {
  const feed = new RunFeed();
  const { heard, stop } = watched(feed);
  const first = feed.begin('r1', agentTarget('a'));
  first.text('On');
  first.retrying('it answered 503', 400);
  expect(feed.textOf('r1')).toBe('');
  first.rows(1, ['{}']);
  first.end();
  feed.onPutOff('r1');
  feed.onPutOff('r2');
  const second = feed.begin('r1', agentTarget('a'));
  feed.begin('r2', agentTarget('a')).text('other');
  second.replied({ text: 'Yes.', data: { of: 1 } });
  second.end();
  feed.onSettled('r1', done);
  stop();
  feed.begin('r1', agentTarget('a')).text('nobody');
  expect(heard).toEqual([
    { kind: 'begun' },
    { kind: 'text', text: 'On' },
    { kind: 'retrying', reason: 'it answered 503', inMs: 400 },
    { kind: 'rows', first: 1, rows: ['{}'] },
    { kind: 'putOff' },
    { kind: 'begun' },
    { kind: 'settled', settled: done, reply: { text: 'Yes.', data: { of: 1 } } },
  ]);
});

test('RUF2: so many watch, and no agent has all of these places; who leaves gives one back', () => {
  const feed = new RunFeed(4);
  const stops = [watched(feed, 'r1', 'greedy'), watched(feed, 'r2', 'greedy')];
  expect(() => watched(feed, 'r3', 'greedy')).toThrow(/2 of 4/);
  watched(feed, 'r4', 'other');
  for (const { stop } of stops) {
    stop();
    stop();
  }
  expect(feed.watchers).toBe(1);
  watched(feed, 'r3', 'greedy');
});

test('when the gateway stops all are told, and whoever comes later at once', () => {
  const feed = new RunFeed();
  const { heard } = watched(feed);
  feed.close();
  expect([heard, watched(feed).heard]).toEqual([[{ kind: 'closed' }], [{ kind: 'closed' }]]);
});
