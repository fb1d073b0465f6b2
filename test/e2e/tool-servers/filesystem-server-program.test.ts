// The built filesystem server as a program: command line, exit, output streams, and --read-only.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import manifest from '../../../package.json' with { type: 'json' };
import { errorOf, eventually } from '../../fixtures/clients/mcp-client.ts';
import {
  FilesystemClient,
  filesystemProgram,
  testFolder,
} from '../../fixtures/tool-servers/filesystem-server.ts';

function run(args: readonly string[], env?: NodeJS.ProcessEnv) {
  return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    const options = { timeout: 60_000, ...(env && { env }) };
    execFile(process.execPath, [filesystemProgram, ...args], options, (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, stdout, stderr }),
    ).stdin?.end();
  });
}

describe('the command line of the filesystem server', () => {
  test('prints the texts of --help and --version, and exits with 0', async () => {
    const [help, version] = await Promise.all([run(['--help']), run(['--version'])]);
    expect(help.code).toBe(0);
    expect(help.stdout).toContain('--read-only');
    expect(version).toMatchObject({ code: 0, stdout: `${manifest.version}\n` });
  });

  test('exits with 2 for wrong usage, with the reason on stderr', async () => {
    const folder = testFolder();
    writeFileSync(join(folder, 'file'), '');
    const [none, missing, noFolder, unknown] = await Promise.all([
      run([]),
      run([join(folder, 'missing')]),
      run([join(folder, 'file')]),
      run(['--write-only', folder]),
    ]);
    for (const { code, stdout } of [none, missing, noFolder, unknown]) {
      expect(code).toBe(2);
      expect(stdout).toBe('');
    }
    expect(none.stderr).toContain('folder');
    expect(missing.stderr).toContain(join(folder, 'missing'));
    expect(noFolder.stderr).toContain(join(folder, 'file'));
    expect(unknown.stderr).toContain('--write-only');
  });

  test('expands a leading ~ to the home folder, because no shell does', async () => {
    // The name contains a pattern with a meaning in replacement texts.
    const home = join(testFolder(), 'a$&b');
    mkdirSync(join(home, 'notes'), { recursive: true });
    writeFileSync(join(home, 'notes/a.txt'), 'at home');
    const child = spawn(process.execPath, [filesystemProgram, '~/notes'], {
      env: { ...process.env, HOME: home },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = [
      {
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
      },
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/call', params: { name: 'read_file', arguments: { path: 'a.txt' } } },
    ];
    let written = '';
    child.stdout.on('data', (chunk: Buffer) => {
      written += chunk;
    });
    child.stdin.end(lines.map((line) => `${JSON.stringify({ jsonrpc: '2.0', ...line })}\n`).join(''));
    const [code] = await once(child, 'close');
    expect(code).toBe(0);
    // Stdout contains only messages, and the last request is answered although stdin was already closed.
    const messages = written
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(messages.find(({ id }) => id === 2).result.content).toEqual([{ type: 'text', text: 'at home' }]);
  });
});

describe('with --read-only', () => {
  test('tools that change files are neither listed nor can they be called', async () => {
    const folder = testFolder();
    writeFileSync(join(folder, 'a.txt'), 'kept');
    const server = await FilesystemClient.start(['--read-only', folder]);
    const { tools } = await server.client.listTools();
    expect(tools).toHaveLength(10);
    for (const { name, annotations } of tools) expect(annotations?.readOnlyHint, name).toBe(true);
    expect(await server.refusal('write_file', { path: 'a.txt', content: 'x' })).toContain('write_file');
    expect((await server.call('read_file', { path: 'a.txt' })).text).toBe('kept');
    expect((await server.call('list_allowed_directories')).structured).toEqual({
      directories: [folder],
      isReadOnly: true,
    });
    expect(server.client.getInstructions()).not.toContain('write_file');
  });
});

describe('the process of the filesystem server', () => {
  test('accepts several folders, resolves relative paths in the first, and excludes similar names', async () => {
    const parent = testFolder();
    for (const name of ['data', 'more', 'data-evil']) {
      mkdirSync(join(parent, name));
      writeFileSync(join(parent, name, 'a.txt'), `in ${name}`);
    }
    const server = await FilesystemClient.start([join(parent, 'data'), join(parent, 'more')]);
    expect((await server.call('read_file', { path: 'a.txt' })).text).toBe('in data');
    expect((await server.call('read_file', { path: join(parent, 'more/a.txt') })).text).toBe('in more');
    const evil = await server.refusal('read_file', { path: join(parent, 'data-evil/a.txt') });
    expect(evil).not.toContain('in data-evil');
    expect((await server.call('list_allowed_directories')).text).toBe(
      `Allowed directories:\n${join(parent, 'data')}\n${join(parent, 'more')}`,
    );
  });

  test('answers many concurrent calls, without output on stderr', async () => {
    const folder = testFolder();
    for (let count = 0; count < 50; count++) writeFileSync(join(folder, `${count}.txt`), String(count));
    const server = await FilesystemClient.start([folder]);
    const answers = await Promise.all(
      Array.from({ length: 250 }, (_, index) => server.call('read_file', { path: `${index % 50}.txt` })),
    );
    expect(answers.map(({ text }) => text)).toEqual(
      Array.from({ length: 250 }, (_, index) => String(index % 50)),
    );
    expect(server.stderr).toBe('');
  });

  test('exits soon after the client disconnects, even with open subscriptions', async () => {
    const folder = testFolder();
    writeFileSync(join(folder, 'a.txt'), '');
    const server = await FilesystemClient.start([folder]);
    await server.client.listResources();
    await server.client.subscribeResource({ uri: `file://${folder}/a.txt` });
    const pid = (server.client.transport as unknown as { pid: number }).pid;
    await server.client.close();
    await eventually('the end of the process', () => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true;
      }
    });
  });

  test('returns an error that names an unknown tool', async () => {
    const server = await FilesystemClient.start([testFolder()]);
    const answer = await server.call('delete_everything').catch(errorOf as never);
    expect(JSON.stringify(answer)).toContain('delete_everything');
  });
});
