// The young generation of V8 does not grow, unless the operator sets the size.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { expect, test } from 'vitest';

const source = `
import { getHeapSpaceStatistics } from 'node:v8';
import { stopYoungGenerationGrowth } from './young-generation.ts';
stopYoungGenerationGrowth();
let survivors = [];
for (let count = 0; count < 3e6; count += 1) {
  survivors.push({ count });
  if (survivors.length > 200_000) survivors = [];
}
const { space_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
console.log(space_size / 2 ** 20);
`;
const { outputFiles } = buildSync({
  stdin: { contents: source, resolveDir: join(import.meta.dirname, '../../src') },
  bundle: true,
  format: 'esm',
  platform: 'node',
  write: false,
});
const program = outputFiles[0]?.text ?? '';

function youngGenerationMb(...options: string[]): number {
  const args = [...options, '--input-type=module', '-'];
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8', input: program }));
}

test('the young generation of the V8 heap keeps its small size after the start', () => {
  expect(youngGenerationMb()).toBeLessThanOrEqual(8);
});

test('a young generation size in the options of Node takes precedence over the default size', () => {
  expect(youngGenerationMb('--max-semi-space-size=16')).toBe(32);
});
