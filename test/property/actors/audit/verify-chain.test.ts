// Verification of the audit on real files: each edit, removal, duplication, move and truncation is reported
// at the first line that differs, and untouched files pass.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { LineFormat } from '../../../../actors/audit/audit-line.ts';
import { ChainFile } from '../../../../actors/audit/chain-file.ts';
import { type ChainEnds, readEnds } from '../../../../actors/audit/end-record.ts';
import { type ChainProblem, verifyChain } from '../../../../actors/audit/verify-chain.ts';
import { Redactor } from '../../../../actors/base/errors/redact.ts';
import { afterEachFile } from '../../../fixtures/end-of-file.ts';
import { runs } from '../../../fixtures/property-runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'actor-gateway-chain-'));
const path = join(folder, 'audit.jsonl');
const stateDir = join(folder, 'state');
afterEachFile(() => rmSync(folder, { recursive: true, force: true }));

/** Texts by file name, oldest first. */
let original: ReadonlyMap<string, string>;
let ends: ChainEnds | undefined;

beforeAll(async () => {
  const format = new LineFormat({ node: 'here', redactor: new Redactor([]) });
  const file = await ChainFile.open({
    ...{ path, stateDir, maxBytes: 6_000, keep: 3 },
    firstLine: (previous) =>
      format.body({ principal: 'gateway', action: 'audit/file', outcome: 'ok', previous }),
    onRecordFailed: (error) => {
      throw error;
    },
  });
  for (let n = 0; n < 120; n += 1)
    await file.append([
      Buffer.from(format.body({ principal: `user ä ${n}`, action: 'tools/call', outcome: 'ok' })),
    ]);
  await file.close();
  ends = await readEnds(stateDir);
  const names = readdirSync(folder).filter((name) => name.startsWith('audit'));
  names.sort().reverse();
  original = new Map(names.map((name) => [name, readFileSync(join(folder, name), 'latin1')]));
});

const linesOf = (text: string) => text.split('\n').slice(0, -1);
const joined = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('');

/** Returns the place of the first line that differs, in the way of an editor. */
function firstDifference(name: string, changed: string): { readonly file: string; readonly line: number } {
  const before = (original.get(name) ?? '').split('\n');
  const after = changed.split('\n');
  const different = after.findIndex((text, at) => text !== before[at]);
  // A text without its last line break differs in its last line.
  const line = different < 0 ? after.length - 1 : different;
  // Lines that were removed at the end of a file are missing before the next file.
  const names = [...original.keys()];
  const next = names[names.indexOf(name) + 1];
  const isEnd = line === after.length - 1 && after[line] === '';
  return isEnd && next !== undefined ? { file: next, line: 1 } : { file: name, line: line + 1 };
}

const index = fc.nat({ max: 10_000 });
const change = fc.oneof(
  fc.record({ at: index, byte: fc.nat({ max: 255 }) }).map(({ at, byte }) => (text: string) => {
    const place = at % text.length;
    return text.slice(0, place) + String.fromCharCode(byte) + text.slice(place + 1);
  }),
  fc.record({ at: index, count: fc.integer({ min: 1, max: 4 }) }).map(({ at, count }) => (text: string) => {
    const lines = linesOf(text);
    lines.splice(at % lines.length, count);
    return joined(lines);
  }),
  fc.record({ from: index, to: index }).map(({ from, to }) => (text: string) => {
    const lines = linesOf(text);
    lines.splice(to % (lines.length + 1), 0, lines[from % lines.length] ?? '');
    return joined(lines);
  }),
  fc.record({ from: index, to: index }).map(({ from, to }) => (text: string) => {
    const lines = linesOf(text);
    const [moved = ''] = lines.splice(from % lines.length, 1);
    lines.splice(to % (lines.length + 1), 0, moved);
    return joined(lines);
  }),
  index.map((at) => (text: string) => text.slice(0, at % text.length)),
);

const verified = async (texts: ReadonlyMap<string, string>): Promise<ChainProblem | undefined> => {
  const copy = mkdtempSync(join(folder, 'copy-'));
  for (const [name, text] of texts) writeFileSync(join(copy, name), text, 'latin1');
  const own = join(copy, 'audit.jsonl');
  return (await verifyChain({ path: own, ends: ends && { ...ends, path: own } })).problem;
};

test('untouched files pass, also without the end record', async () => {
  expect(original.size).toBe(4);
  expect(ends?.first).toBeGreaterThan(1);
  expect((await verifyChain({ path, ends })).problem).toBeUndefined();
  expect(await verifyChain({ path, ends: undefined })).toMatchObject({ files: 4, problem: undefined });
});

test('any change of the lines is reported at the first line that differs', async () => {
  await fc.assert(
    fc.asyncProperty(index, change, async (which, apply) => {
      const name = [...original.keys()][which % original.size] ?? '';
      const changed = apply(original.get(name) ?? '');
      fc.pre(changed !== original.get(name));
      const problem = await verified(new Map(original).set(name, changed));
      const { file, line } = problem ?? {};
      const expected = firstDifference(name, changed);
      expect({ file: file?.split('/').at(-1), line }).toEqual(expected);
    }),
    { numRuns: runs(160) },
  );
});

test('removed and exchanged files are reported', async () => {
  const names = [...original.keys()];
  for (const name of names) {
    const rest = new Map(original);
    rest.delete(name);
    expect((await verified(rest))?.kind, name).toBe('removed');
  }
  const [oldest = '', second = ''] = names;
  const exchanged = new Map(original)
    .set(oldest, original.get(second) ?? '')
    .set(second, original.get(oldest) ?? '');
  expect(await verified(exchanged)).toMatchObject({ line: 1 });
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  expect((await verifyChain({ path: join(empty, 'audit.jsonl'), ends: undefined })).problem?.kind).toBe(
    'removed',
  );
});

test('the kind of a change is named', async () => {
  const [name = ''] = [...original.keys()];
  const lines = linesOf(original.get(name) ?? '');
  const [a = '', b = '', c = '', ...rest] = lines;
  const kindOf = async (...changed: string[]) =>
    (await verified(new Map(original).set(name, joined(changed))))?.kind;
  expect(await kindOf(a, b.replace('ok', 'no'), c, ...rest)).toBe('changed');
  expect(await kindOf(a, c, ...rest)).toBe('removed');
  expect(await kindOf(a, c, b, ...rest)).toBe('moved');
  expect(await kindOf(a, b, b, c, ...rest)).toBe('duplicated');
});
