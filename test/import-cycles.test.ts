// Biome forbids import cycles, types included (noImportCycles in biome.json). `npm test` lints the
// repository; these tests run Biome with the same configuration on cycles of each form, because an update of
// Biome may change the rule.

import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { newFolder } from './fixtures/new-folder.ts';

const root = resolve(import.meta.dirname, '..');
const folder = newFolder('import-cycles-');

/** Each file imports the next, and the last one the first. */
const cycles: Readonly<Record<string, readonly (readonly [file: string, text: string])[]>> = {
  values: [
    ['src/value.ts', "export { a } from './value-back.ts';"],
    ['src/value-back.ts', "import { a } from './value.ts';\nexport const b = a;"],
  ],
  types: [
    ['actors/type.ts', "import type { B } from './type-back.ts';\nexport type A = B;"],
    ['actors/type-back.ts', "import type { A } from './type.ts';\nexport interface B {\n  a: A;\n}"],
  ],
  'empty lists of types': [
    ['config/empty.ts', "import type {} from './empty-back.ts';"],
    ['config/empty-back.ts', "import type {} from './empty.ts';"],
  ],
  'inline types': [
    ['machines/inline.ts', "import { type B, c } from './inline-back.ts';\nexport type A = B | typeof c;"],
    ['machines/inline-back.ts', "import { type A, d } from './inline.ts';\nexport type B = A | typeof d;"],
  ],
  're-exported types': [
    ['libs/reexport.ts', "export type { B } from './reexport-back.ts';"],
    ['libs/reexport-back.ts', "export type { A } from './reexport.ts';"],
  ],
  'star exports': [
    ['tool-servers/star.ts', "export * from './star-back.ts';"],
    ['tool-servers/star-back.ts', "export * from './star.ts';"],
  ],
  'dynamic imports': [
    ['src/dynamic.ts', "export const load = () => import('./dynamic-back.ts');"],
    ['src/dynamic-back.ts', "import type { load } from './dynamic.ts';\nexport type A = typeof load;"],
  ],
  components: [
    ['src/page.tsx', "import type { B } from './page-back.tsx';\nexport type A = B;"],
    ['src/page-back.tsx', "import type { A } from './page.tsx';\nexport interface B {\n  a: A;\n}"],
  ],
  tests: [
    ['test/test.ts', "import type { B } from './test-back.ts';\nexport type A = B;"],
    ['test/test-back.ts', "import type { A } from './test.ts';\nexport interface B {\n  a: A;\n}"],
  ],
  'three folders': [
    ['src/long.ts', "import type { B } from '../actors/long.ts';\nexport type A = B;"],
    ['actors/long.ts', "import { type C } from '../config/long.ts';\nexport type B = C;"],
    ['config/long.ts', "export type { A as C } from '../src/long.ts';"],
  ],
};
const straight = [
  ['src/straight.ts', "import type { B } from '../actors/straight.ts';\nexport type A = B;"],
  ['actors/straight.ts', 'export type B = string;'],
] as const;

/** Returns the files that Biome reports for a cycle. */
async function reportedFiles(): Promise<ReadonlySet<string>> {
  copyFileSync(join(root, 'biome.json'), join(folder, 'biome.json'));
  for (const [file, text] of [...Object.values(cycles).flat(), ...straight]) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), `${text}\n`);
  }
  const biome = join(root, 'node_modules/@biomejs/biome/bin/biome');
  const args = [biome, 'lint', '--vcs-enabled=false', '--max-diagnostics=none', '--reporter=github', folder];
  const output = await new Promise<string>((done) => {
    execFile(process.execPath, args, { cwd: folder }, (_, stdout) => done(stdout));
  });
  const lines = output
    .split('\n')
    .filter((line) => line.startsWith('::error') && line.includes('/noImportCycles'));
  return new Set(lines.map((line) => /\bfile=([^,]+)/.exec(line)?.[1] ?? line));
}
const reported = reportedFiles();

test.each(Object.keys(cycles))('the build reports a cycle of %s as an error', async (name) => {
  const files = (cycles[name] ?? []).map(([file]) => file);
  const found = [...(await reported)];
  expect(files.filter((file) => found.some((path) => path.endsWith(file)))).toEqual(files);
});

test('the build reports no error for a file without a cycle', async () => {
  const found = [...(await reported)];
  expect(found.filter((path) => path.includes('straight'))).toEqual([]);
});
