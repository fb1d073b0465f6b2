// Journal of client sessions: interrupted writes, outdated lines, and a folder that is not writable.

import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SessionJournal } from '../../../../actors/state/session-journal.ts';
import { newFolder } from '../../../fixtures/new-folder.ts';

const noWarning = (message: string) => {
  throw new Error(message);
};

test('the session journal ignores a line that a kill cut off, and writes the next record on a new line', async () => {
  const folder = newFolder();
  const first = await SessionJournal.open(folder, noWarning);
  await Promise.all([first.put('a', '{"n":1}'), first.put('b', '{"n":2}')]);
  await first.delete('a');
  appendFileSync(join(folder, 'sessions.ndjson'), 'b {"n":');
  const second = await SessionJournal.open(folder, noWarning);
  expect([...second.entries()]).toEqual([['b', '{"n":2}']]);
  await second.put('c', '{"n":3}');
  const third = await SessionJournal.open(folder, noWarning);
  expect([...third.entries()]).toEqual([
    ['b', '{"n":2}'],
    ['c', '{"n":3}'],
  ]);
  expect(statSync(join(folder, 'sessions.ndjson')).mode & 0o777).toBe(0o600);
});

test('the session journal rewrites its file when most of the lines are outdated', async () => {
  const folder = newFolder();
  const journal = await SessionJournal.open(folder, noWarning);
  const keys = Array.from({ length: 1_000 }, (_, n) => `key-${n}`);
  await Promise.all(['kept', ...keys].map((key) => journal.put(key, '{}')));
  await Promise.all(keys.map((key) => journal.delete(key)));
  await journal.put('last', '{}');
  expect(readFileSync(join(folder, 'sessions.ndjson'), 'utf8')).toBe('kept {}\nlast {}\n');
  const next = await SessionJournal.open(folder, noWarning);
  expect([...next.entries()]).toEqual([
    ['kept', '{}'],
    ['last', '{}'],
  ]);
});

test('the session journal warns once while its file cannot be written, and later stores all records', async () => {
  const folder = join(newFolder(), 'state');
  const warnings: string[] = [];
  const journal = await SessionJournal.open(folder, (message) => warnings.push(message));
  await journal.put('a', '{"n":1}');
  await journal.put('b', '{"n":2}');
  expect(warnings).toEqual([expect.stringContaining('ENOENT')]);
  mkdirSync(folder);
  await journal.put('c', '{"n":3}');
  const next = await SessionJournal.open(folder, noWarning);
  expect([...next.entries()].map(([key]) => key)).toEqual(['a', 'b', 'c']);
  rmSync(folder, { recursive: true });
});

test('the session journal leaves no temporary file behind if it cannot replace its file', async () => {
  const folder = newFolder();
  mkdirSync(join(folder, 'sessions.ndjson'));
  const warnings: string[] = [];
  const journal = await SessionJournal.open(folder, (message) => warnings.push(message));
  await journal.put('a', '{"n":1}');
  await journal.put('b', '{"n":2}');
  expect(warnings).toEqual([expect.stringContaining('EISDIR'), expect.stringContaining('EISDIR')]);
  expect(readdirSync(folder)).toEqual(['sessions.ndjson']);
});
