import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);

describe('the library', () => {
  test('runs inside another program, as in the example', async () => {
    const { stdout } = await run(process.execPath, [join(root, 'examples/embed.mjs')], { cwd: root });
    expect(stdout).toContain('14 tools: read_file, read_text_file');
    expect(stdout).toContain('This file is served by the example filesystem server.');
  });
});
