// Checks the pages of decisions: each decision has a number, a date and a rejected alternative, and each
// citation of decisions and files is valid.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..');
const page = ['decisions', 'decisions-automation']
  .map((name) => readFileSync(join(root, `docs/${name}.md`), 'utf8'))
  .join('\n');
const folders = ['config', 'machines', 'actors', 'libs', 'src', 'tool-servers', 'test', 'docs', 'bench'];

const sections = page
  .split(/^## /m)
  .slice(1)
  .map((text) => ({ room: text.split('\n', 1)[0] ?? '', text }));
const decisions = sections.flatMap(({ text }) =>
  text
    .split(/^### /m)
    .slice(1)
    .map((each) => each.trim()),
);

/** Returns the numbers in a text; `ADR3–ADR5` contains three. */
function numbersIn(text: string): number[] {
  return [...text.matchAll(/\bADR(\d+)(?:–ADR(\d+))?/g)].flatMap(([, first, last = first]) =>
    Array.from({ length: Number(last) - Number(first) + 1 }, (_, at) => Number(first) + at),
  );
}

const numbers = decisions.flatMap((text) => numbersIn(text.split(' ', 1)[0] ?? ''));

test('each decision record has a number, a date and a title, then decision, reason and rejected alternative', () => {
  const form =
    /^ADR\d+ · 20\d\d-[01]\d-[0-3]\d · \S[^\n]*\n\n- \*\*Decision\*\*: \S.*\n- \*\*Reason\*\*: \S.*\n- \*\*Rejected\*\*: \S.*$/s;
  expect(decisions.length).toBeGreaterThan(50);
  expect(decisions.filter((text) => !form.test(text))).toEqual([]);
});

test('no number of a decision record is missing or used twice', () => {
  expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from(numbers, (_, at) => at + 1));
});

test.each(sections)('the table of contents has the decisions of $room', ({ room, text }) => {
  const row = page.split('\n').find((line) => line.startsWith(`| [${room}](`)) ?? '';
  const headings = [...text.matchAll(/^### (ADR\d+)/gm)].map(([, number = '']) => number).join(' ');
  expect(numbersIn(row)).toEqual(numbersIn(headings));
});

test('every file that a decision record mentions exists', () => {
  const paths = [...page.matchAll(/`((?:config|machines|actors|libs|src|tool-servers)\/[^`]*)`/g)].map(
    ([, path = '']) => path,
  );
  expect(paths.length).toBeGreaterThan(30);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('code and documents cite only existing decision records', () => {
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:tsx?|m[jt]s|md)$/.test(name) && !name.includes('node_modules'))
      .map((name) => join(root, folder, name)),
  );
  const unknown = [...files, join(root, 'ARCHITECTURE.md'), join(root, 'CONTRIBUTING.md')].flatMap((file) =>
    numbersIn(readFileSync(file, 'utf8'))
      .filter((number) => !numbers.includes(number))
      .map((number) => `ADR${number} in ${file}`),
  );
  expect(unknown).toEqual([]);
});
