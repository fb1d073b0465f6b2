// Atomic replacement of regular files.

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { replaceableFile, UnwritableFile } from '../../../../src/cli/files/replaceable-file.ts';
import { fillWhole, writeWhole } from '../../../../src/cli/files/whole-file.ts';
import { temporaryFolder } from '../../../fixtures/gateway/gateway-process.ts';

const refusal = (action: Promise<unknown>): Promise<UnwritableFile> =>
  action.then(
    () => Promise.reject(new Error('it was not refused')),
    (error) => {
      expect(error).toBeInstanceOf(UnwritableFile);
      return error;
    },
  );

describe('what is no regular file', () => {
  test('is refused and stays: a pipe, a socket, a folder, and links to them', async () => {
    const folder = temporaryFolder();
    const [pipe, socket, inner] = ['pipe', 'socket', 'folder'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    execFileSync('mkfifo', [pipe]);
    mkdirSync(inner);
    const server = createServer().listen(socket);
    await new Promise((done) => server.once('listening', done));
    try {
      for (const [path, kind] of [
        [pipe, 'a named pipe'],
        [socket, 'a socket'],
        [inner, 'a folder'],
      ] as const) {
        const link = `${path}-link`;
        symlinkSync(path, link);
        const { mode, ino } = lstatSync(path);
        for (const name of [path, link]) {
          const error = await refusal(writeWhole(name, 'x'));
          expect(error).toMatchObject({ code: 'ERR_UNWRITABLE_FILE', isTaken: false });
          expect(error.message).toBe(
            `${name} cannot be written: it is ${kind}, and only a regular file is replaced; name another file; nothing was changed`,
          );
        }
        expect(lstatSync(path)).toMatchObject({ mode, ino });
        expect(lstatSync(link).isSymbolicLink()).toBe(true);
      }
      expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    } finally {
      server.close();
    }
  });

  test('is refused where it is a device; nothing is written to find that out', async () => {
    expect((await refusal(replaceableFile('/dev/null'))).message).toContain('it is a device');
    const link = join(temporaryFolder(), 'link');
    symlinkSync('/dev/zero', link);
    expect((await refusal(replaceableFile(link))).message).toContain('it is a device');
  });

  test('is refused where it comes while the file is written', async () => {
    const path = join(temporaryFolder(), 'file');
    writeFileSync(path, 'old');
    const check = async () => {
      rmSync(path);
      execFileSync('mkfifo', [path]);
    };
    expect((await refusal(writeWhole(path, 'new', { check }))).message).toContain('a named pipe');
    expect(lstatSync(path).isFIFO()).toBe(true);
  });
});

describe('a symbolic link', () => {
  test('is followed and stays, over several links and folders', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'real'));
    writeFileSync(join(folder, 'real/file'), 'old');
    symlinkSync('real', join(folder, 'alias'));
    symlinkSync('alias/file', join(folder, 'one'));
    symlinkSync('one', join(folder, 'two'));
    await writeWhole(join(folder, 'two'), 'new');
    expect(readFileSync(join(folder, 'real/file'), 'utf8')).toBe('new');
    for (const name of ['alias', 'one', 'two'])
      expect(lstatSync(join(folder, name)).isSymbolicLink()).toBe(true);
  });

  test('that leads nowhere, or round, is refused and stays', async () => {
    const folder = temporaryFolder();
    symlinkSync('missing', join(folder, 'dangling'));
    symlinkSync('b', join(folder, 'a'));
    symlinkSync('a', join(folder, 'b'));
    expect((await refusal(writeWhole(join(folder, 'dangling'), 'x'))).message).toMatch(
      /link to missing, which does not exist/,
    );
    expect((await refusal(writeWhole(join(folder, 'a'), 'x'))).message).toMatch(/form a loop \(ELOOP\)/);
    for (const name of ['dangling', 'a']) {
      expect((await refusal(writeWhole(join(folder, name), 'x', { isNew: true }))).isTaken).toBe(true);
      expect(lstatSync(join(folder, name)).isSymbolicLink()).toBe(true);
    }
    expect(readdirSync(folder).sort()).toEqual(['a', 'b', 'dangling']);
  });
});

describe('a file', () => {
  test('keeps its permissions and its owner; a new one has those of any new file, or those that are given', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'file');
    writeFileSync(path, 'old');
    chmodSync(path, 0o640);
    // Only root can create a file with a different owner.
    if (process.getuid?.() === 0) chownSync(path, 12_345, 23_456);
    const { uid, gid } = statSync(path);
    await writeWhole(path, 'new');
    expect(statSync(path)).toMatchObject({ uid, gid, mode: expect.any(Number) });
    expect(statSync(path).mode & 0o7777).toBe(0o640);
    await writeWhole(join(folder, 'plain'), 'x');
    expect(statSync(join(folder, 'plain')).mode & 0o777).toBe(0o666 & ~process.umask());
    await writeWhole(join(folder, 'secret'), 'x', { mode: 0o600 });
    expect(statSync(join(folder, 'secret')).mode & 0o777).toBe(0o600);
    await writeWhole(join(folder, 'backup'), 'x', { like: path });
    expect(statSync(join(folder, 'backup'))).toMatchObject({ uid, gid });
    expect(statSync(join(folder, 'backup')).mode & 0o777).toBe(0o640);
  });

  test('that must be new is refused where one exists, also where it comes while the new one is written', async () => {
    const path = join(temporaryFolder(), 'file');
    const check = async () => writeFileSync(path, 'theirs');
    expect((await refusal(writeWhole(path, 'ours', { isNew: true, check }))).isTaken).toBe(true);
    expect((await refusal(writeWhole(path, 'ours', { isNew: true }))).isTaken).toBe(true);
    expect(readFileSync(path, 'utf8')).toBe('theirs');
    rmSync(path);
    await writeWhole(path, 'ours', { isNew: true });
    expect(readFileSync(path, 'utf8')).toBe('ours');
  });

  test('stays whole, and no draft is left, whatever fails', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'file');
    writeFileSync(path, 'old');
    const fault = new Error('of the caller');
    const half = fillWhole(path, async (write) => {
      await write('half');
      throw fault;
    });
    await expect(half).rejects.toBe(fault);
    const check = () => Promise.reject(fault);
    await expect(writeWhole(path, 'new', { check })).rejects.toBe(fault);
    expect((await refusal(writeWhole(join(folder, 'none/file'), 'x'))).message).toMatch(
      /its folder does not exist \(ENOENT\)/,
    );
    expect((await refusal(writeWhole(join(path, 'file'), 'x'))).message).toMatch(/not a folder \(ENOTDIR\)/);
    expect((await refusal(writeWhole('/proc/version-of-mine', 'x'))).message).toMatch(
      /^\/proc\/version-of-mine cannot be written: .*; nothing was changed$/,
    );
    expect(readFileSync(path, 'utf8')).toBe('old');
    expect(readdirSync(folder)).toEqual(['file']);
  });

  test('of two commands at a time one waits; a draft that was abandoned is in nobody’s way', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'file');
    const draft = join(folder, '.file.tmp');
    const order: string[] = [];
    const slow = fillWhole(path, async (write) => {
      await write('first');
      await new Promise((done) => setTimeout(done, 200));
      order.push('first');
    });
    while (!readdirSync(folder).includes('.file.tmp')) await new Promise(setImmediate);
    await writeWhole(path, 'second', { check: async () => void order.push('second') });
    await slow;
    expect([order, readFileSync(path, 'utf8')]).toEqual([['first', 'second'], 'second']);
    writeFileSync(draft, 'left');
    utimesSync(draft, new Date(Date.now() - 60_000), new Date(Date.now() - 60_000));
    await writeWhole(path, 'third');
    expect([readFileSync(path, 'utf8'), readdirSync(folder)]).toEqual(['third', ['file']]);
  });

  test('never gets the draft of another command', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'file');
    const draft = join(folder, '.file.tmp');
    writeFileSync(path, 'old');
    const check = async () => {
      renameSync(draft, join(folder, 'elsewhere'));
      writeFileSync(draft, 'of another one');
    };
    expect((await refusal(writeWhole(path, 'new', { check }))).isBusy).toBe(true);
    expect([readFileSync(path, 'utf8'), readFileSync(draft, 'utf8')]).toEqual(['old', 'of another one']);
  });

  test('has afterwards exactly what was written, in any pieces', async () => {
    const folder = temporaryFolder();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(fc.string(), fc.uint8Array())), async (parts) => {
        const path = join(folder, 'file');
        await fillWhole(path, async (write) => {
          for (const part of parts) await write(part);
        });
        expect(readFileSync(path)).toEqual(Buffer.concat(parts.map((part) => Buffer.from(part as string))));
      }),
      { numRuns: 30 },
    );
  });
});
