// Events for watchers of runs with a journal.

import { expect, test } from 'vitest';
import { RunFeed } from '../../../../../actors/agents/runs/feed.ts';
import type { RunAnswer } from '../../../../../actors/agents/runs/run-view.ts';
import { type RunEvent, RunWatch } from '../../../../../actors/agents/runs/watch.ts';
import { Redactor } from '../../../../../actors/base/errors/redact.ts';
import type { Delivery, DeliveryState } from '../../../../../actors/store/delivery.ts';
import { agentTarget } from '../../../../../config/resources/triggers/target.ts';

const answerRow = (text: string, calls: readonly string[] = []) => ({
  kind: 'answer',
  iteration: 1,
  model: 'local:tiny',
  text,
  calls: calls.map((id) => ({ id, name: 'read_file', input: '{"path":"a"}' })),
  raw: null,
  finish: calls.length > 0 ? 'calls' : 'stop',
  usage: { input: 10, output: 2, cached: undefined },
  cost: undefined,
  tookMs: 5,
});
const callRow = (id: string) => ({ kind: 'called', id });
const result = (id: string, text: string, isError = false) =>
  ({ kind: 'result', id, text, isError, how: 'called', tookMs: 7 }) as const;

/** Run with a journal and state that the test writes. */
function startRun({ isSlow = false } = {}) {
  const rows: string[] = [];
  const events: RunEvent[] = [];
  const feed = new RunFeed();
  const delivery = {
    id: 'r1',
    key: 'conversation/x',
    state: 'running' as DeliveryState,
    waitingFor: undefined,
  };
  const answer = async (): Promise<RunAnswer> => ({
    delivery: { ...delivery } as unknown as Delivery,
    kind: 'agent',
    name: 'a',
    state: delivery.state === 'done' ? 'done' : delivery.state === 'waiting' ? 'waiting' : 'running',
    figures: undefined,
    stepCount: rows.length,
    answer: 'Kept.',
    data: undefined,
  });
  let goOn: () => void = () => {};
  const readCounts: number[] = [];
  const watch = new RunWatch(
    {
      feed,
      redactor: new Redactor(['hunter2-secret', '123456789']),
      answer,
      store: {
        delivery: async () => ({ ...delivery, meta: '', body: new Uint8Array() }) as never,
        steps: async (_: string, after = 0) => {
          readCounts.push(after);
          return rows.slice(after).map((text, at) => ({ n: after + at + 1, at: 1, text }));
        },
        approvals: async () => [
          {
            id: 'ap1',
            run: 'r1',
            key: 'k',
            trigger: undefined,
            state: 'pending',
            askedAt: 1,
            expiresAt: undefined,
            expiresInMs: undefined,
            decidedAt: undefined,
            body: JSON.stringify({
              kind: 'tool',
              title: 'shop/pay',
              tool: { server: 'shop', tool: 'pay', arguments: { key: 'hunter2-secret', account: 123456789 } },
              rights: { approvers: ['ada'] },
            }),
            decision: undefined,
          },
        ],
      },
    },
    'r1',
    { trigger: 'a' },
  );
  let ended: unknown = 'no';
  const begin = async () =>
    watch.begin(await answer(), () => ({
      send: (event) => {
        events.push(event);
        return isSlow
          ? new Promise((resolve) => {
              goOn = resolve;
            })
          : undefined;
      },
      end: (error) => {
        ended = error ?? 'yes';
      },
    }));
  const write = (...added: readonly object[]) => {
    const texts = added.map((row) => JSON.stringify(row));
    rows.push(...texts);
    return texts;
  };
  return {
    feed,
    events,
    begin,
    write,
    delivery,
    read: readCounts,
    goOn: () => goOn(),
    get ended() {
      return ended;
    },
  };
}

/** Waits for the turns of the watchers (work-turns.ts), which a busy machine does not delay. */
const settle = async () => {
  await new Promise((resolve) => setTimeout(resolve, 5));
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};
const kindsOf = (events: readonly RunEvent[]) =>
  events.slice(1).map((event) => {
    if (event.event === 'tool') return `${event.step.tool} ${event.step.state ?? 'called'}`;
    if (event.event === 'text') return 'delta' in event ? `+${event.delta}` : `=${event.text}`;
    if (event.event === 'retry') return `${event.reason} ${event.inMs}`;
    return event.event;
  });

test('a watcher of a run first receives the journal once and in order, then new events', async () => {
  const run = startRun();
  run.write(answerRow('I look.', ['c1']), callRow('c1'));
  await run.begin();
  await settle();
  const attempt = run.feed.begin('r1', agentTarget('a'));
  attempt.reportRows(3, run.write(result('c1', 'found')));
  attempt.reportText('It is');
  await settle();
  attempt.reportText('It is there');
  attempt.reportRows(4, run.write(answerRow('It is there.')));
  run.delivery.state = 'done';
  attempt.reportReply({ text: 'It is there.' });
  attempt.end();
  run.feed.onSettled('r1', { state: 'done', answer: 'It is there.', note: undefined });
  await settle();
  expect(kindsOf(run.events)).toEqual([
    '=I look.',
    'read_file called',
    'read_file done',
    '=It is',
    '+ there',
    '+.',
    'end',
  ]);
  expect(run.events.at(-1)).toMatchObject({ answer: { answer: 'It is there.' } });
  expect(run.ended).toBe('yes');
});

test('a watcher receives answer text from its beginning if it restarts, and no text that the journal already contains', async () => {
  const run = startRun();
  await run.begin();
  const attempt = run.feed.begin('r1', agentTarget('a'));
  attempt.reportText('Let me');
  await settle();
  attempt.reportText('Another');
  await settle();
  run.write(answerRow('Another way.', ['c1']));
  run.feed.onSettled('r1', { state: 'waiting', answer: undefined, note: undefined });
  await settle();
  attempt.reportText('Another w');
  await settle();
  expect(kindsOf(run.events)).toEqual(['=Let me', '=Another', '+ way.']);
});

test('a watcher receives the reason for a retry, and then the answer text again from its beginning', async () => {
  const run = startRun();
  await run.begin();
  const attempt = run.feed.begin('r1', agentTarget('a'));
  attempt.reportText('One');
  await settle();
  attempt.reportRetry('the model a:m answered 503', 400);
  attempt.reportText('One, two');
  await settle();
  attempt.end();
  Object.assign(run.delivery, { state: 'retrying', retryAt: 1_000 });
  run.feed.onDeferred('r1');
  await settle();
  Object.assign(run.delivery, { retryAt: 2_000 });
  run.feed.onDeferred('r1');
  run.feed.onDeferred('r1');
  await settle();
  Object.assign(run.delivery, { state: 'running', retryAt: undefined });
  run.feed.begin('r1', agentTarget('a')).reportText('One, two, three');
  await settle();
  expect(kindsOf(run.events)).toEqual([
    '=One',
    'the model a:m answered 503 400',
    '=One, two',
    'state',
    'state',
    'state',
    '=One, two, three',
  ]);
});

test('a watcher receives an approval request with its exact content, redacted', async () => {
  const run = startRun();
  await run.begin();
  run.delivery.state = 'waiting';
  Object.assign(run.delivery, { waitingFor: 'approval r1' });
  run.feed.onSettled('r1', { state: 'waiting', answer: undefined, note: undefined });
  await settle();
  expect(run.events.slice(1)).toEqual([
    {
      event: 'approval',
      id: 'ap1',
      state: 'pending',
      asked: {
        kind: 'tool',
        title: 'shop/pay',
        tool: { server: 'shop', tool: 'pay', arguments: { key: '[redacted]', account: '[redacted]' } },
      },
    },
    expect.objectContaining({ event: 'state' }),
  ]);
  const attempt = run.feed.begin('r1', agentTarget('a'));
  attempt.reportRows(1, run.write({ kind: 'decided', approval: 'ap1', state: 'denied', by: 'ada' }));
  await settle();
  expect(run.events.at(-1)).toEqual({ event: 'approval', id: 'ap1', state: 'denied', by: 'ada' });
});

test('a watcher receives the pending approval of a waiting run before the state of the run', async () => {
  const run = startRun();
  Object.assign(run.delivery, { state: 'waiting', waitingFor: 'approval r1' });
  await run.begin();
  await settle();
  expect(run.events.map(({ event }) => event)).toEqual(['run', 'approval', 'state']);
});

test('a watcher receives no further event until it has consumed the first event', async () => {
  const run = startRun({ isSlow: true });
  const firstEvents = run.begin();
  await settle();
  run.feed.begin('r1', agentTarget('a')).reportText('One');
  await settle();
  expect(run.events.map(({ event }) => event)).toEqual(['run']);
  run.goOn();
  await firstEvents;
  await settle();
  expect(kindsOf(run.events)).toEqual(['=One']);
});

test('a watcher that consumes no events causes no further store reads, and later receives the newest text', async () => {
  const run = startRun({ isSlow: true });
  void run.begin();
  await settle();
  const attempt = run.feed.begin('r1', agentTarget('a'));
  run.goOn();
  await settle();
  const before = run.read.length;
  attempt.reportText('One');
  await settle();
  for (let count = 0; count < 100; count += 1) {
    attempt.reportText(`One ${'and more '.repeat(count)}`);
    attempt.reportRows(count + 1, run.write(callRow(`c${count}`)));
  }
  await settle();
  expect(run.read.length - before).toBeLessThanOrEqual(1);
  expect(kindsOf(run.events)).toEqual(['=One']);
});

test("a watcher receives the agent's own text unchanged, and everything else redacted", async () => {
  const { begin, events, write } = startRun();
  write(answerRow('It is hunter2-secret.', ['c1']), callRow('c1'), result('c1', 'hunter2-secret'));
  await begin();
  await expect.poll(() => events.length).toBe(4);
  expect(events.find(({ event }) => event === 'text')).toEqual({
    event: 'text',
    text: 'It is hunter2-secret.',
  });
  expect(JSON.stringify(events.filter(({ event }) => event === 'tool'))).not.toContain('hunter2');
});

test('a watcher of a run with several agents sees which part makes a call, and when parts begin, wait and end', async () => {
  const run = startRun();
  await run.begin();
  const attempt = run.feed.begin('r1', agentTarget('a'));
  const rows = [
    { kind: 'entered', in: 'one' },
    { kind: 'entered', in: 'two' },
    { in: 'one', ...answerRow('I look.', ['call_1_0']) },
    { in: 'two', ...answerRow('', ['call_1_0']), calls: [{ id: 'call_1_0', name: 'other', input: '{}' }] },
    { in: 'one', ...callRow('call_1_0') },
    { in: 'two', ...callRow('call_1_0') },
    { in: 'one', ...result('call_1_0', 'found') },
    { kind: 'left', in: 'one', output: { key: 'hunter2-secret' }, taken: [] },
    { in: 'two', kind: 'kept', kept: '{}' },
    { kind: 'parked', in: 'two', isForPeople: true },
  ];
  attempt.reportRows(1, run.write(...rows));
  attempt.reportText('**two**\nIt is');
  await settle();
  const events = run.events.slice(1).map((event) => {
    if (event.event === 'tool' || event.event === 'part') {
      const { part, kind, tool, output } = event.step;
      return [event.event, part, kind, tool ?? output ?? ''].join(' ').trim();
    }
    return event.event === 'text' && 'text' in event ? `${event.part ?? ''}=${event.text}` : event.event;
  });
  expect(events).toEqual([
    ...['part one entered', 'part two entered', 'one=I look.'],
    ...['tool one called read_file', 'tool two called other', 'tool one result read_file'],
    ...['part one left {"key":"[redacted]"}', 'part two parked', '=**two**\nIt is'],
  ]);
});
