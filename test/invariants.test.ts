// Small invariants are in file headers, large ones in ARCHITECTURE.md, each with a tag of letters and a
// number. A tag has one meaning and is cited elsewhere, preferably by its test. An uncited sentence needs no
// tag.

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..');
const folders = ['config', 'machines', 'actors', 'libs', 'src', 'tool-servers', 'test', 'docs', 'bench'];

/** `// H4 (A2)  only calls count as use`, or `| A1 | A handle is open … |` in ARCHITECTURE.md. */
const definition = /^(?:\s*(?:\/\/|\*) +([A-Z]{1,3}\d+)(?: \([^)]*\))? {2,}\S|\| ([A-Z]\d+) \| )/;
/** `N1`, or `N1–N4` and `N1–4`, which stand for all between. */
const reference = /\b([A-Z]{1,3})(\d+)(?:–[A-Z]{0,3}(\d+))?\b/g;

interface Line {
  readonly file: string;
  readonly text: string;
  /** Tag defined by the line, if any. */
  readonly tag: string | undefined;
}

const lines: readonly Line[] = filesOfProject().flatMap((file) =>
  readFileSync(join(root, file), 'utf8')
    .split('\n')
    .map((text) => {
      const match = definition.exec(text);
      return { file, text, tag: match?.[1] ?? match?.[2] };
    }),
);
const definitions = lines.filter(({ tag }) => tag !== undefined);

function filesOfProject(): string[] {
  const below = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:tsx?|m[jt]s|md)$/.test(name) && !name.includes('node_modules'))
      .map((name) => join(folder, name))
      .filter((name) => resolve(root, name) !== import.meta.filename),
  );
  return ['ARCHITECTURE.md', ...below];
}

/** Returns the tags cited by a line, except its own definition. */
function referencesIn({ text, tag }: Line): string[] {
  const all = [...text.matchAll(reference)].flatMap(([, letters, first, last = first]) =>
    Array.from(
      { length: Math.min(99, Number(last) - Number(first) + 1) },
      (_, at) => `${letters}${Number(first) + at}`,
    ),
  );
  const own = tag === undefined ? -1 : all.indexOf(tag);
  return all.filter((_, at) => at !== own);
}

test('the search for definitions of invariants finds known tags, such as A1 and H4', () => {
  expect(definitions.length).toBeGreaterThan(50);
  expect(definitions.map(({ tag }) => tag)).toEqual(expect.arrayContaining(['A1', 'A9', 'H4', 'S1']));
});

test('two invariants in file headers and ARCHITECTURE.md never have the same tag, such as A1', () => {
  const files = new Map<string, string[]>();
  for (const { tag = '', file } of definitions) files.set(tag, [...(files.get(tag) ?? []), file]);
  expect([...files].filter(([, places]) => places.length > 1)).toEqual([]);
});

test('each comment line in the layout of an invariant begins with a tag such as A1, not with a dash', () => {
  const untagged = lines.filter(({ text }) => /^\s*(?:\/\/|\*) +- {2,}\S/.test(text));
  expect(untagged.map(({ file, text }) => `${text} in ${file}`)).toEqual([]);
});

test('the tag of each invariant is cited in a line other than its definition', () => {
  const cited = new Set(lines.flatMap(referencesIn));
  expect(
    definitions.filter(({ tag = '' }) => !cited.has(tag)).map(({ tag, file }) => `${tag} in ${file}`),
  ).toEqual([]);
});
