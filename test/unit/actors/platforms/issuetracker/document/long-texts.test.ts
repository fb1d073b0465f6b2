// Converting long texts to nodes takes linear time.

import { expect, test } from 'vitest';
import { inlineNodes } from '../../../../../../actors/platforms/issuetracker/document/inline-nodes.ts';
import { TaskIds } from '../../../../../../actors/platforms/issuetracker/document/task-list.ts';
import type { Token } from '../../../../../../actors/platforms/markdown/parser.ts';

const token = (type: string, more: object = {}) => ({ type, tag: '', nesting: 0, content: '', ...more });

/** Limit of the processor time. A quadratic implementation takes many times as long. */
const MAX_TIME_MS = 6_000;

function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

test('converting deeply nested emphasis into an issue tracker document takes linear time', () => {
  const opened = Array.from({ length: 60_000 }, (_, i) =>
    i % 2 === 0 ? token('em_open', { tag: 'em', nesting: 1 }) : token('text', { content: 'a' }),
  );
  const closed = Array.from({ length: 30_000 }, () => token('em_close', { tag: 'em', nesting: -1 }));
  const tokens = [...opened, ...closed, token('text', { content: 'b' })] as unknown as readonly Token[];
  const usedMs = cpuMs(() => {
    expect(inlineNodes(tokens)).toEqual([
      { type: 'text', text: 'a'.repeat(30_000), marks: [{ type: 'em' }] },
      { type: 'text', text: 'b' },
    ]);
  });
  expect(usedMs).toBeLessThan(MAX_TIME_MS);
});

test('generating ids for thousands of tasks in a document takes linear time', () => {
  const usedMs = cpuMs(() => {
    const names = new TaskIds('a'.repeat(2_000_000));
    const all = new Set(Array.from({ length: 5_000 }, () => names.next()));
    expect(all.size).toBe(5_000);
  });
  expect(usedMs).toBeLessThan(MAX_TIME_MS);
});
