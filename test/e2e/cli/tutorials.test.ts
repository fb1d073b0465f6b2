// README.md and the tutorials: their commands run and print the shown output, in a copy of the built project.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { freePort } from '../../fixtures/free-port.ts';
import { temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';

const root = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);
const NOT_COPIED = new Set(['node_modules', '.git', '.gateway', 'bench', 'test/real/suites/node_modules']);
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs/tutorials')).map((name) => `docs/tutorials/${name}`),
];

/**
 * Throws unless scripts/setup.mjs installed the present packages. Otherwise `npm start` in the copy would
 * install them, and first delete this checkout's packages through the link.
 */
function rejectOutdatedPackages(): void {
  const stamp = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')));
  const expected = stamp.update(process.version).digest('hex');
  const stampFile = join(root, 'node_modules', '.actor-gateway-setup');
  if (!existsSync(stampFile) || !readFileSync(stampFile, 'utf8').startsWith(expected))
    throw new Error('the packages are outdated: run node scripts/setup.mjs --all first');
}

/**
 * Copies the project, and keeps modification times, because newer sources would be rebuilt. Replaces the
 * port.
 */
async function copyProject(): Promise<{ folder: string; port: string }> {
  rejectOutdatedPackages();
  const folder = join(temporaryFolder(), 'actor-gateway');
  const filter = (path: string) => !NOT_COPIED.has(path.slice(root.length + 1)) && !/\/\.gateway$/.test(path);
  for (const name of readdirSync(root).filter((each) => !NOT_COPIED.has(each)))
    cpSync(join(root, name), join(folder, name), { recursive: true, preserveTimestamps: true, filter });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const port = String(await freePort());
  for (const name of [
    'gateway.yaml',
    ...readdirSync(join(folder, 'examples')).map((each) => `examples/${each}`),
  ]) {
    if (!name.endsWith('.yaml')) continue;
    const file = join(folder, name);
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('8080', port));
  }
  return { folder, port };
}

test.each(pages)('the commands of %s run and print the shown output', async (page) => {
  const { folder, port } = await copyProject();
  const args = [join(root, 'scripts/tutorials.mjs'), page, '--in', folder, '--port', port];
  const { stdout, stderr } = await run(process.execPath, args, { timeout: 170_000 });
  expect(stderr).toBe('');
  expect(stdout).toContain(page);
});
