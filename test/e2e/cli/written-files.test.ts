// Commands that write a file replace regular files only: pipes, devices and links survive.

import { execFileSync, spawn } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

/** Creates a folder with the input of the commands. `file` is a named pipe or a dangling link. */
function world(file: string, kind: 'pipe' | 'dangling'): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, '.cursor'));
  writeFileSync(join(folder, 'a.json'), '{"mcpServers":{"a":{"command":"node"}}}');
  writeFileSync(
    join(folder, 'g.yaml'),
    'listen_addr: 127.0.0.1:9\ncatalog_path: ./c.yaml\nstate_dir: ./state\n',
  );
  writeFileSync(join(folder, 'c.yaml'), 'servers: {}\n');
  execFileSync('rm', ['-f', join(folder, file)]);
  if (kind === 'pipe') execFileSync('mkfifo', [join(folder, file)]);
  else symlinkSync('missing', join(folder, file));
  return folder;
}

const commands: readonly [string, string, readonly string[]][] = [
  ['import', 'out.yaml', ['servers', 'import', 'a.json', '--output', 'out.yaml']],
  ['import --force', 'out.yaml', ['servers', 'import', 'a.json', '--output', 'out.yaml', '--force']],
  ['store export', 'out.ndjson', ['store', 'export', '--config', 'g.yaml', '--to', 'out.ndjson']],
  [
    'store export --force',
    'out.ndjson',
    ['store', 'export', '--config', 'g.yaml', '--to', 'out.ndjson', '--force'],
  ],
  ['connect', '.cursor/mcp.json', ['connect', 'cursor', '--write']],
  ['connect, for its backup', '.cursor/mcp.json.before-actor-gateway', ['connect', 'cursor', '--write']],
  ['init', 'gateway.yaml', ['init', '--yes', '.']],
  ['init, for a file beside it', 'catalog.yaml', ['init', '--yes', '.']],
  ['add', 'c.yaml', ['servers', 'add', 'x', '--config', 'g.yaml', '--no-reload', '--', 'node']],
  [
    'add, for a secret',
    '.env',
    ['servers', 'add', 'x', '--config', 'g.yaml', '--no-reload', '--env', 'API_KEY=k', '--', 'node'],
  ],
  ['remove', 'c.yaml', ['servers', 'remove', 'x', '--config', 'g.yaml', '--no-reload']],
];

test.each(commands)(
  'the command %s fails at a pipe or a dangling link, and does not replace it',
  async (_, file, args) => {
    for (const kind of ['pipe', 'dangling'] as const) {
      const folder = world(file, kind);
      const before = lstatSync(join(folder, file)).ino;
      const { code, stderr } = await runMain(args, {
        cwd: folder,
        env: { HOME: folder, GATEWAY_API_KEY: '' },
      });
      expect([code === 0, stderr]).toEqual([false, expect.stringContaining(file)]);
      const after = lstatSync(join(folder, file));
      expect([after.ino, after.isFIFO() || after.isSymbolicLink()]).toEqual([before, true]);
      expect(readdirSync(folder).filter((name) => name.endsWith('.tmp') || name === 'missing')).toEqual([]);
    }
  },
);

test('commands that write a file follow a symbolic link, and keep the link', async () => {
  const folder = world('none', 'dangling');
  for (const [link, args] of [
    ['out.yaml', ['servers', 'import', 'a.json', '--output', 'out.yaml', '--force']],
    ['.cursor/mcp.json', ['connect', 'cursor', '--write']],
  ] as const) {
    const real = join(folder, 'real.json');
    writeFileSync(real, '{}\n', { mode: 0o640 });
    symlinkSync(real, join(folder, link));
    const { code, stderr } = await runMain(args, { cwd: folder, env: { HOME: folder, GATEWAY_API_KEY: '' } });
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    expect(lstatSync(join(folder, link)).isSymbolicLink()).toBe(true);
    expect(readFileSync(real, 'utf8').length).toBeGreaterThan(4);
    expect(lstatSync(real).mode & 0o777).toBe(0o640);
  }
});

test('`call --output` writes into a named pipe without replacing the pipe, and replaces the target file of a symbolic link', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'c.json'), JSON.stringify({ servers: { s: fault('echo') } }));
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  const reader = spawn('cat', [join(folder, 'pipe')], { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  reader.stdout.on('data', (data) => {
    text += data;
  });
  const call = (output: string) =>
    runMain(['tools', 'call', 's', 'echo', '--catalog', 'c.json', '--output', output], {
      cwd: folder,
      env: { GATEWAY_API_KEY: '' },
    });
  const exit = new Promise((done) => reader.once('close', done));
  const piped = await call('pipe');
  await exit;
  expect([piped.code, piped.stderr]).toEqual([0, expect.stringContaining('saved pipe')]);
  expect(text.length).toBeGreaterThan(0);
  expect(lstatSync(join(folder, 'pipe')).isFIFO()).toBe(true);
  writeFileSync(join(folder, 'real'), 'old');
  symlinkSync('real', join(folder, 'link'));
  expect((await call('link')).code).toBe(0);
  expect([
    readFileSync(join(folder, 'real'), 'utf8'),
    lstatSync(join(folder, 'link')).isSymbolicLink(),
  ]).toEqual([text, true]);
});
