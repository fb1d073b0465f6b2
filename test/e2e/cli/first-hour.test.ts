// The first hour as docs/first-hour.md has it, typed again: from a first call to a server of one's own, a connected client and a
// webhook that was handled. In a copy of the project, which is installed and built already.

import { execFile } from 'node:child_process';
import { cpSync, lstatSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { freePort } from '../../fixtures/free-port.ts';
import { temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';

const root = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);
const NOT_COPIED = new Set(['node_modules', '.git', '.gateway', 'test', 'bench']);

test('what the first hour types works, and shows what it should (FH1)', async () => {
  const folder = join(temporaryFolder(), 'actor-gateway');
  // With their times, or it would be built anew.
  const filter = (path: string) => !NOT_COPIED.has(path.slice(root.length + 1)) && !/\/\.gateway$/.test(path);
  for (const name of readdirSync(root).filter((each) => !NOT_COPIED.has(each)))
    cpSync(join(root, name), join(folder, name), { recursive: true, preserveTimestamps: true, filter });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const port = String(await freePort());
  for (const name of ['gateway.yaml', 'examples/automation.yaml']) {
    const text = readFileSync(join(folder, name), 'utf8');
    expect(text).toContain('8080');
    writeFileSync(join(folder, name), text.replaceAll('8080', port));
  }
  const args = [join(folder, 'scripts', 'first-hour.mjs'), '--in', folder, '--port', port];
  const { stdout } = await run(process.execPath, args, { timeout: 170_000 });
  const page = readFileSync(join(root, 'docs', 'first-hour.md'), 'utf8');
  const headings = (text: string) => text.match(/^## .*/gm);
  // All but the clone.
  expect(headings(stdout)).toEqual(headings(page)?.slice(1));
  const typed = (text: string) => text.match(/(?<=^```sh\n)[\s\S]*?(?=^```$)/gm) ?? [];
  for (const lines of typed(stdout)) expect(page).toContain(lines);
  expect(lstatSync(join(folder, '.gateway')).isDirectory()).toBe(true);
});
