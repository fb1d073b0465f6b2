// One page that watches a run: what it is told and when, with a store and streams that a test writes.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { RunFeed } from '../../../actors/agents/runs/run-feed.ts';
import type { ShownRun } from '../../../actors/agents/runs/shown-run.ts';
import { OverloadedError } from '../../../actors/base/errors/errors.ts';
import { Redactor } from '../../../actors/base/errors/redact.ts';
import type { Delivery } from '../../../actors/store/delivery.ts';
import { agentTarget } from '../../../config/resources/triggers/target.ts';
import type { JournalRow } from '../../../machines/agent-run/journal.ts';
import type { HttpStream } from '../../../src/http/listener/seam.ts';
import { MAX_STEPS, RunViewer } from '../../../src/inspector/runs/run-viewer.ts';
import type { RunMessage } from '../../../src/inspector/wire/run-wire.ts';
import { answerRow, begunRow, resultRow } from '../../fixtures/automation/stored-runs.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const SECRET = 'hunter2-secret';

function watched({ isFull = false, rows: first = [] as readonly JournalRow[], feed = new RunFeed() } = {}) {
  const rows: JournalRow[] = [...first];
  const delivery = { id: 'r1', key: `conversation/${SECRET}`, attempts: 1, receivedAt: 1, failures: [] };
  const told: RunMessage[] = [];
  const reads: number[] = [];
  const isThere = { run: true };
  let hasRoom = !isFull;
  let drain = () => {};
  let state: ShownRun['state'] = 'running';
  const stream: HttpStream = {
    isDone: false,
    bufferedBytes: 0,
    write: (chunk) => {
      const [, kind, data] = /^event: (\w+)\ndata: (.*)\n\n$/.exec(String(chunk)) ?? [];
      if (data !== undefined) told.push({ kind, data: JSON.parse(data) } as RunMessage);
      return hasRoom;
    },
    onDrain: (listener) => {
      drain = listener;
    },
    end: vi.fn(),
    destroy: () => {},
  };
  const onEnd = vi.fn();
  const viewer = new RunViewer(
    {
      feed,
      onEnd,
      redactor: new Redactor([SECRET]),
      runs: {
        run: async () => {
          if (!isThere.run) throw new Error('there is no such run');
          return {
            ...{ delivery: delivery as unknown as Delivery, kind: 'agent', name: 'oncall', state },
            ...{ figures: undefined, stepCount: rows.length },
          };
        },
      },
      store: {
        steps: async (_, after = 0) => {
          reads.push(after);
          const page = rows.slice(after, after + 100);
          return page.map((row, at) => ({ n: after + at + 1, at: 5, text: JSON.stringify(row) }));
        },
      },
    },
    'r1',
    () => stream,
  );
  return {
    ...{ viewer, feed, rows, told, reads, stream, onEnd, isThere },
    setState: (next: ShownRun['state']) => {
      state = next;
    },
    room: (has: boolean) => {
      hasRoom = has;
      if (has) drain();
    },
    steps: () => told.flatMap((message) => (message.kind === 'steps' ? message.data.steps : [])),
    texts: () => told.flatMap((message) => (message.kind === 'text' ? [message.data.text] : [])),
    runs: () => told.flatMap((message) => (message.kind === 'run' ? [message.data] : [])),
  };
}

const beat = (ms = 250) => vi.advanceTimersByTimeAsync(ms);
const called = (id: string): JournalRow => ({ kind: 'called', id });
const call = (id: string) => ({ id, name: 'read_file', input: `{"path":"${SECRET}"}` });

describe('a viewer of a run', () => {
  test('is told what there is, then each step once it is durable, each once and in order', async () => {
    const { rows, feed, steps, runs } = watched({
      rows: [begunRow('Look.'), answerRow(1, '', [call('c1')])],
    });
    await beat();
    expect(runs()).toMatchObject([{ is_anew: false, run: { id: 'r1', name: 'oncall', steps_count: 2 } }]);
    const attempt = feed.begin('r1', agentTarget('oncall'));
    rows.push(called('c1'), resultRow('c1', `The key is ${SECRET}.`));
    attempt.rows(
      3,
      rows.slice(2).map((row) => JSON.stringify(row)),
    );
    await beat();
    expect(steps().map(({ n, kind }) => [n, kind])).toEqual([
      [1, 'begun'],
      [2, 'answer'],
      [3, 'called'],
      [4, 'result'],
    ]);
    expect(steps()[3]).toMatchObject({ tool: 'read_file', state: 'done', result: 'The key is [redacted].' });
    await beat(10_000);
    expect(steps()).toHaveLength(4);
  });

  test('sees no secret, neither in steps nor in the text nor in the record', async () => {
    const { feed, told } = watched({
      rows: [begunRow(SECRET), answerRow(1, SECRET, [call('c1')]), called('c1')],
    });
    feed.begin('r1', agentTarget('oncall')).text(`It is ${SECRET}`);
    await beat();
    expect(JSON.stringify(told)).not.toContain(SECRET);
    expect(JSON.stringify(told)).toContain('It is [redacted]');
  });

  test('is told the newest text ten times a second at most, and none once a step has it', async () => {
    const { feed, texts, rows, steps } = watched({ rows: [begunRow('Look.')] });
    const attempt = feed.begin('r1', agentTarget('oncall'));
    for (let words = 1; words <= 50; words += 1) {
      attempt.text('word '.repeat(words));
      await beat(10);
    }
    await beat();
    expect(texts().length).toBeLessThan(9);
    expect(texts().at(-1)).toBe('word '.repeat(50));
    rows.push(answerRow(1, 'word '.repeat(50)));
    attempt.rows(2, [JSON.stringify(rows[1])]);
    await beat();
    expect([texts().at(-1), steps().at(-1)?.kind]).toEqual(['', 'answer']);
  });

  test('RVW1: that does not read costs no reads, and goes on with what is newest then', async () => {
    const { feed, reads, told, room, texts } = watched({ isFull: true, rows: [begunRow('Look.')] });
    await beat();
    const [before, messages] = [reads.length, told.length];
    const attempt = feed.begin('r1', agentTarget('oncall'));
    for (const text of ['a', 'ab', 'abc']) {
      attempt.text(text);
      await beat(3_000);
    }
    expect([reads.length, told.length]).toEqual([before, messages]);
    room(true);
    await beat();
    expect(texts()).toEqual(['abc']);
  });

  test('RVW2: is told the end of a long journal, with the tools of calls that began before', async () => {
    const rows = [begunRow('Look.'), answerRow(1, '', [call('c1')])];
    for (let n = 0; n < MAX_STEPS; n += 1) rows.push(answerRow(n + 2, `answer ${n}`));
    rows.push(resultRow('c1', 'Late.'));
    const { steps } = watched({ rows });
    await beat();
    expect([steps().length, steps()[0]?.n]).toEqual([MAX_STEPS, 4]);
    expect(steps().at(-1)).toMatchObject({ tool: 'read_file', result: 'Late.' });
  });

  test('is told anew where another run has begun under the same id', async () => {
    const { rows, runs, steps } = watched({ rows: [begunRow('One.'), answerRow(1, 'First.')] });
    await beat();
    rows.splice(0, 2, begunRow('Two.'));
    await beat(2_500);
    expect(runs().map(({ is_anew }) => is_anew)).toEqual([false, true]);
    expect(steps().at(-1)).toMatchObject({ n: 1, text: 'Two.' });
  });

  test('hears of a change that no feed tells of', async () => {
    const { setState, runs } = watched();
    await beat();
    setState('cancelled');
    await beat(2_500);
    expect(runs().map(({ run }) => run.state)).toEqual(['running', 'cancelled']);
  });

  test('is let go when the run is gone, when the gateway stops, and when it leaves; then no timer runs', async () => {
    for (const end of ['gone', 'closed', 'left'] as const) {
      const { isThere, feed, viewer, stream, onEnd } = watched();
      await beat();
      isThere.run = end !== 'gone';
      if (end === 'closed') feed.close();
      if (end === 'left') viewer.close();
      await beat(2_500);
      expect([feed.watchers, vi.getTimerCount()]).toEqual([0, 0]);
      expect(onEnd).toHaveBeenCalledOnce();
      expect(stream.end).toHaveBeenCalledTimes(end === 'left' ? 0 : 1);
    }
    const late = new RunFeed();
    late.close();
    const { stream } = watched({ feed: late });
    await beat();
    expect(stream.end).toHaveBeenCalledOnce();
  });

  test('is refused before anything is answered where too many watch', () => {
    expect(() => watched({ feed: new RunFeed(0) })).toThrow(OverloadedError);
  });
});
