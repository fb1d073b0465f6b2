import { afterEach, expect, test, vi } from 'vitest';
import { zeroCounts } from '../../../../actors/store/export/file-format.ts';
import { countsText, ProgressReporter } from '../../../../src/cli/store/transfer-progress.ts';

afterEach(() => vi.restoreAllMocks());

function progressOn(isTTY: boolean): {
  progress: ProgressReporter;
  pass(ms: number): void;
  drawn: string[];
  outputs: string[];
} {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const drawn: string[] = [];
  const outputs: string[] = [];
  vi.spyOn(console, 'error').mockImplementation((line: string) => void outputs.push(line));
  const screen = { isTTY, columns: 60, write: (text: string) => drawn.push(text) };
  const pass = (ms: number) => {
    now += ms;
  };
  return { progress: new ProgressReporter(screen, { TERM: 'xterm' }), pass, drawn, outputs };
}

test('a terminal shows the progress of a transfer in one line, which is redrawn and removed at the end', () => {
  const { progress, pass, drawn, outputs } = progressOn(true);
  for (let count = 0; count < 1_000; count += 1) {
    pass(1);
    progress.show({ table: 'delivery', unit: 'rows', done: count, total: 2_000 });
  }
  progress.close();
  expect(drawn).toHaveLength(11);
  expect(drawn.slice(-2)).toEqual(['\r\u001b[K 49 %  999 of 2000  events', '\r\u001b[K']);
  expect(outputs).toEqual([]);
});

test('output other than a terminal gets a progress line every few seconds, in megabytes for a file', () => {
  const { progress, pass, drawn, outputs } = progressOn(false);
  for (let seconds = 1; seconds <= 11; seconds += 1) {
    pass(1_000);
    progress.show({ table: 'body', unit: 'bytes', done: seconds * 2_000_000, total: 40_500_000 });
  }
  pass(5_000);
  progress.show({ table: 'kv', unit: 'bytes', done: 30_000_000, total: undefined });
  progress.close();
  expect(outputs).toEqual(['24 %  10 of 41  MB: bodies', '48 %  20 of 41  MB: bodies', '30  MB: values']);
  expect(drawn).toEqual([]);
});

test('countsText lists only counts above zero', () => {
  expect(countsText(zeroCounts())).toBe('nothing');
  expect(countsText({ ...zeroCounts(), delivery: 1, body: 1, run: 2, kv: 1 })).toBe(
    '1 event, 2 runs, 1 value',
  );
});
