// Recent log lines of all sources, with a shared limit.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lineLevels } from '../../../../../../actors/mcp/servers/lines/level.ts';
import {
  LINE_BYTES,
  type LogLine,
  type NewLine,
  RecentLines,
} from '../../../../../../actors/mcp/servers/lines/recent.ts';

const ROOM = 10 * (LINE_BYTES + 2 * 10);
const names = ['a', 'b', 'c'] as const;

const line = (name: string, text: string): NewLine => ({
  kind: 'server',
  name,
  level: 'info',
  from: 'stderr',
  text,
});

const written = fc.array(
  fc.record({
    kind: fc.constantFrom('server', 'trigger'),
    name: fc.constantFrom(...names),
    level: fc.constantFrom(...lineLevels),
    from: fc.constantFrom('stderr', 'message', 'gateway'),
    text: fc.string({ maxLength: 40 }),
  }),
  { maxLength: 80 },
);

test('recent log lines stay within the limit, and are returned in order of arrival', () => {
  const check = (all: readonly NewLine[]) => {
    const lines = new RecentLines(ROOM);
    const expected = all.map((each, at) => ({ ...each, at: at + 1, text: `${at} ${each.text}` }));
    for (const { at, ...added } of expected) {
      lines.add(added, at);
      expect(lines.bytes).toBeLessThanOrEqual(ROOM);
    }
    const found = lines.read({ lines: 1_000 });
    const times = new Set(found.map(({ at }) => at));
    expect(found).toEqual(expected.filter(({ at }) => times.has(at)));
    for (const kind of ['server', 'trigger'] as const)
      for (const name of names) {
        const own = expected.filter((each) => each.kind === kind && each.name === name);
        const stored = lines.read({ kind, name, lines: 1_000 });
        expect(stored).toEqual(own.slice(own.length - stored.length));
      }
    expect(lines.read({ kind: 'trigger', lines: 1_000 })).toEqual(
      found.filter(({ kind }) => kind === 'trigger'),
    );
    const last = lines.read({ lines: 2, since: 3 });
    expect(last).toEqual(found.filter(({ at }) => at >= 3).slice(-2));
    const grave = lines.read({ lines: 5, level: 'warn' });
    expect(grave).toEqual(found.filter(({ level }) => level === 'warn' || level === 'error').slice(-5));
  };
  fc.assert(fc.property(written, check));
});

test('a log source that stays within its equal share of the buffer loses no lines to other sources', () => {
  const check = (few: number, flood: number, isFirst: boolean) => {
    const lines = new RecentLines(ROOM);
    const quiet = () => {
      for (let i = 0; i < few; i += 1) lines.add(line('quiet', `word ${i}`));
    };
    if (isFirst) quiet();
    for (let i = 0; i < flood; i += 1) lines.add(line('loud', `noise ${i}`));
    if (!isFirst) quiet();
    expect(lines.read({ kind: 'server', name: 'quiet', lines: 100 })).toHaveLength(few);
    expect(lines.has({ kind: 'server', name: 'loud' })).toBe(true);
  };
  const counts = [fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 300 })] as const;
  fc.assert(fc.property(...counts, fc.boolean(), check));
});

test('a watcher of log lines receives each line until it stops, and an end notification', () => {
  const lines = new RecentLines();
  const notified: (LogLine | 'end')[] = [];
  const watcher = {
    notify: (line: LogLine) => void notified.push(line),
    end: () => void notified.push('end'),
  };
  const stop = lines.watch(watcher);
  lines.add(line('a', 'one'), 1);
  stop();
  lines.add(line('a', 'two'), 2);
  lines.watch(watcher);
  lines.endWatches();
  expect(notified).toEqual([{ at: 1, ...line('a', 'one') }, 'end']);
  expect(lines.watchers).toBe(0);
});
