// What a move shows while it goes on.

import { afterEach, expect, test, vi } from 'vitest';
import { noCounts } from '../../../../actors/store/moved/record-file.ts';
import { countsInWords, MoveProgress } from '../../../../src/cli/store/move-progress.ts';

afterEach(() => vi.restoreAllMocks());

function shownOn(isTTY: boolean): {
  progress: MoveProgress;
  pass(ms: number): void;
  drawn: string[];
  told: string[];
} {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const drawn: string[] = [];
  const told: string[] = [];
  vi.spyOn(console, 'error').mockImplementation((line: string) => void told.push(line));
  const screen = { isTTY, columns: 60, write: (text: string) => drawn.push(text) };
  const pass = (ms: number) => {
    now += ms;
  };
  return { progress: new MoveProgress(screen, { TERM: 'xterm' }), pass, drawn, told };
}

test('a terminal has one line that is drawn anew, and is gone at the end', () => {
  const { progress, pass, drawn, told } = shownOn(true);
  for (let done = 0; done < 1_000; done += 1) {
    pass(1);
    progress.show({ table: 'delivery', unit: 'rows', done, total: 2_000 });
  }
  progress.end();
  expect(drawn).toHaveLength(11);
  expect(drawn.slice(-2)).toEqual(['\r\u001b[K 49 %  999 of 2000  events', '\r\u001b[K']);
  expect(told).toEqual([]);
});

test('elsewhere a line is told every few seconds, of a file in megabytes', () => {
  const { progress, pass, drawn, told } = shownOn(false);
  for (let seconds = 1; seconds <= 11; seconds += 1) {
    pass(1_000);
    progress.show({ table: 'body', unit: 'bytes', done: seconds * 2_000_000, total: 40_500_000 });
  }
  pass(5_000);
  progress.show({ table: 'kv', unit: 'bytes', done: 30_000_000, total: undefined });
  progress.end();
  expect(told).toEqual(['24 %  10 of 41  MB: bodies', '48 %  20 of 41  MB: bodies', '30  MB: values']);
  expect(drawn).toEqual([]);
});

test('of what there is any of it is said how much that is', () => {
  expect(countsInWords(noCounts())).toBe('nothing');
  expect(countsInWords({ ...noCounts(), delivery: 1, body: 1, run: 2, kv: 1 })).toBe(
    '1 event, 2 runs, 1 value',
  );
});
