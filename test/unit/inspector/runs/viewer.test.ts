// Messages to a page that watches a run, and timing, with a simulated store and stream.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { RunFeed } from '../../../../actors/agents/runs/feed.ts';
import type { RunView } from '../../../../actors/agents/runs/run-view.ts';
import { OverloadedError } from '../../../../actors/base/errors/errors.ts';
import { Redactor } from '../../../../actors/base/errors/redact.ts';
import type { Delivery } from '../../../../actors/store/delivery.ts';
import { agentTarget } from '../../../../config/resources/triggers/target.ts';
import type { JournalRow } from '../../../../machines/agent-run/journal.ts';
import type { HttpStream } from '../../../../src/http/listener/seam.ts';
import { MAX_STEPS, RunViewer } from '../../../../src/inspector/runs/viewer.ts';
import type { RunMessage } from '../../../../src/inspector/wire/run.ts';
import { answerRow, begunRow, resultRow } from '../../../fixtures/automation/stored-runs.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const SECRET = 'hunter2-secret';

function viewerOf({ isFull = false, rows: first = [] as readonly JournalRow[], feed = new RunFeed() } = {}) {
  const rows: JournalRow[] = [...first];
  const delivery = { id: 'r1', key: `conversation/${SECRET}`, attempts: 1, receivedAt: 1, failures: [] };
  const receivedMessages: RunMessage[] = [];
  const reads: number[] = [];
  const isThere = { run: true };
  let hasRoom = !isFull;
  let drain = () => {};
  let state: RunView['state'] = 'running';
  const stream: HttpStream = {
    isDone: false,
    bufferedBytes: 0,
    write: (chunk) => {
      const [, kind, data] = /^event: (\w+)\ndata: (.*)\n\n$/.exec(String(chunk)) ?? [];
      if (data !== undefined) receivedMessages.push({ kind, data: JSON.parse(data) } as RunMessage);
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
          if (!isThere.run) throw new Error('unknown run');
          return {
            delivery: delivery as unknown as Delivery,
            kind: 'agent',
            name: 'oncall',
            state,
            figures: undefined,
            stepCount: rows.length,
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
    viewer,
    feed,
    rows,
    receivedMessages,
    reads,
    stream,
    onEnd,
    isThere,
    setState: (next: RunView['state']) => {
      state = next;
    },
    setHasRoom: (has: boolean) => {
      hasRoom = has;
      if (has) drain();
    },
    steps: () => receivedMessages.flatMap((message) => (message.kind === 'steps' ? message.data.steps : [])),
    texts: () => receivedMessages.flatMap((message) => (message.kind === 'text' ? [message.data.text] : [])),
    runs: () => receivedMessages.flatMap((message) => (message.kind === 'run' ? [message.data] : [])),
  };
}

const advance = (ms = 250) => vi.advanceTimersByTimeAsync(ms);
const callRow = (id: string): JournalRow => ({ kind: 'called', id });
const call = (id: string) => ({ id, name: 'read_file', input: `{"path":"${SECRET}"}` });

describe('a viewer of a run', () => {
  test('receives existing steps, then each new step once, in order, when it is durable', async () => {
    const { rows, feed, steps, runs } = viewerOf({
      rows: [begunRow('Look.'), answerRow(1, '', [call('c1')])],
    });
    await advance();
    // `is_anew` means that another run has started under the same id.
    expect(runs()).toMatchObject([{ is_anew: false, run: { id: 'r1', name: 'oncall', steps_count: 2 } }]);
    const attempt = feed.begin('r1', agentTarget('oncall'));
    rows.push(callRow('c1'), resultRow('c1', `The key is ${SECRET}.`));
    attempt.reportRows(
      3,
      rows.slice(2).map((row) => JSON.stringify(row)),
    );
    await advance();
    expect(steps().map(({ n, kind }) => [n, kind])).toEqual([
      [1, 'begun'],
      [2, 'answer'],
      [3, 'called'],
      [4, 'result'],
    ]);
    expect(steps()[3]).toMatchObject({ tool: 'read_file', state: 'done', result: 'The key is [redacted].' });
    await advance(10_000);
    expect(steps()).toHaveLength(4);
  });

  test('receives large steps in slices, between which other work runs', async () => {
    const calls = Array.from({ length: 12 }, (_, n) => call(`c${n}`));
    const results = calls.map(({ id }) => resultRow(id, 'a word '.repeat(20_000)));
    const { steps, receivedMessages } = viewerOf({
      rows: [begunRow('Look.'), answerRow(1, '', calls), ...results],
    });
    await vi.waitFor(() => expect(steps()).toHaveLength(14));
    expect(steps().map(({ n }) => n)).toEqual(Array.from({ length: 14 }, (_, at) => at + 1));
    expect(receivedMessages.filter(({ kind }) => kind === 'steps')).toHaveLength(6);
  });

  test('receives no secret in steps, text or record', async () => {
    const { feed, receivedMessages } = viewerOf({
      rows: [begunRow(SECRET), answerRow(1, SECRET, [call('c1')]), callRow('c1')],
    });
    feed.begin('r1', agentTarget('oncall')).reportText(`It is ${SECRET}`);
    await advance();
    expect(JSON.stringify(receivedMessages)).not.toContain(SECRET);
    expect(JSON.stringify(receivedMessages)).toContain('It is [redacted]');
  });

  test('receives the newest text at most ten times per second, and an empty text when the complete answer is a stored step', async () => {
    const { feed, texts, rows, steps } = viewerOf({ rows: [begunRow('Look.')] });
    const attempt = feed.begin('r1', agentTarget('oncall'));
    for (let wordCount = 1; wordCount <= 50; wordCount += 1) {
      attempt.reportText('word '.repeat(wordCount));
      await advance(10);
    }
    await advance();
    expect(texts().length).toBeLessThan(9);
    expect(texts().at(-1)).toBe('word '.repeat(50));
    rows.push(answerRow(1, 'word '.repeat(50)));
    attempt.reportRows(2, [JSON.stringify(rows[1])]);
    await advance();
    expect([texts().at(-1), steps().at(-1)?.kind]).toEqual(['', 'answer']);
  });

  test('that does not read its stream causes no reads of the store, and later receives the newest text', async () => {
    const {
      feed,
      reads,
      receivedMessages,
      setHasRoom: room,
      texts,
    } = viewerOf({
      isFull: true,
      rows: [begunRow('Look.')],
    });
    await advance();
    const [before, messages] = [reads.length, receivedMessages.length];
    const attempt = feed.begin('r1', agentTarget('oncall'));
    for (const text of ['a', 'ab', 'abc']) {
      attempt.reportText(text);
      await advance(3_000);
    }
    expect([reads.length, receivedMessages.length]).toEqual([before, messages]);
    room(true);
    await advance();
    expect(texts()).toEqual(['abc']);
  });

  test('receives only the last steps of a long run, in which each result names its tool', async () => {
    const rows = [begunRow('Look.'), answerRow(1, '', [call('c1')])];
    for (let n = 0; n < MAX_STEPS; n += 1) rows.push(answerRow(n + 2, `answer ${n}`));
    rows.push(resultRow('c1', 'Late.'));
    const { steps } = viewerOf({ rows });
    await advance();
    expect([steps().length, steps()[0]?.n]).toEqual([MAX_STEPS, 4]);
    expect(steps().at(-1)).toMatchObject({ tool: 'read_file', result: 'Late.' });
  });

  test('receives a new run under the same id from its start', async () => {
    const { rows, runs, steps } = viewerOf({ rows: [begunRow('One.'), answerRow(1, 'First.')] });
    await advance();
    rows.splice(0, 2, begunRow('Two.'));
    await advance(2_500);
    expect(runs().map(({ is_anew }) => is_anew)).toEqual([false, true]);
    expect(steps().at(-1)).toMatchObject({ n: 1, text: 'Two.' });
  });

  test('receives a change of the run state even if no event announces it', async () => {
    const { setState, runs } = viewerOf();
    await advance();
    setState('cancelled');
    await advance(2_500);
    expect(runs().map(({ run }) => run.state)).toEqual(['running', 'cancelled']);
  });

  test('ends when the run is removed, the gateway stops or the page leaves, without remaining timers', async () => {
    for (const end of ['gone', 'closed', 'left'] as const) {
      const { isThere, feed, viewer, stream, onEnd } = viewerOf();
      await advance();
      isThere.run = end !== 'gone';
      if (end === 'closed') feed.close();
      if (end === 'left') viewer.close();
      await advance(2_500);
      expect([feed.watchers, vi.getTimerCount()]).toEqual([0, 0]);
      expect(onEnd).toHaveBeenCalledOnce();
      expect(stream.end).toHaveBeenCalledTimes(end === 'left' ? 0 : 1);
    }
    const late = new RunFeed();
    late.close();
    const { stream } = viewerOf({ feed: late });
    await advance();
    expect(stream.end).toHaveBeenCalledOnce();
  });

  test('is refused before the response starts if there are too many viewers', () => {
    expect(() => viewerOf({ feed: new RunFeed({ max: 0 }) })).toThrow(OverloadedError);
  });
});
