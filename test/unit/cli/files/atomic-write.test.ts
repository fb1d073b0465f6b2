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
import { fillFileAtomically, writeFileAtomically } from '../../../../src/cli/files/atomic-write.ts';
import { resolveReplaceable, UnwritableFile } from '../../../../src/cli/files/replaceable-path.ts';
import { temporaryFolder } from '../../../fixtures/gateway/gateway-process.ts';

const refusal = (action: Promise<unknown>): Promise<UnwritableFile> =>
  action.then(
    () => Promise.reject(new Error('expected a refusal')),
    (error) => {
      expect(error).toBeInstanceOf(UnwritableFile);
      return error;
    },
  );

describe('a path that is not a regular file', () => {
  test('is refused and unchanged: a pipe, a socket, a folder, and links to them', async () => {
    const folder = temporaryFolder();
    const [pipe, socket, inner] = ['pipe', 'socket', 'folder'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    execFileSync('mkfifo', [pipe]);
    mkdirSync(inner);
    const server = createServer().listen(socket);
    await new Promise((resolve) => server.once('listening', resolve));
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
          const error = await refusal(writeFileAtomically(name, 'x'));
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

  test('is refused if it is a device, without writing to it', async () => {
    expect((await refusal(resolveReplaceable('/dev/null'))).message).toContain('it is a device');
    const link = join(temporaryFolder(), 'link');
    symlinkSync('/dev/zero', link);
    expect((await refusal(resolveReplaceable(link))).message).toContain('it is a device');
  });

  test('is refused if it appears during the write', async () => {
    const path = join(temporaryFolder(), 'file');
    writeFileSync(path, 'old');
    const check = async () => {
      rmSync(path);
      execFileSync('mkfifo', [path]);
    };
    expect((await refusal(writeFileAtomically(path, 'new', { check }))).message).toContain('a named pipe');
    expect(lstatSync(path).isFIFO()).toBe(true);
  });
});

describe('a symbolic link', () => {
  test('is followed and kept, over several links and folders', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'real'));
    writeFileSync(join(folder, 'real/file'), 'old');
    symlinkSync('real', join(folder, 'alias'));
    symlinkSync('alias/file', join(folder, 'one'));
    symlinkSync('one', join(folder, 'two'));
    await writeFileAtomically(join(folder, 'two'), 'new');
    expect(readFileSync(join(folder, 'real/file'), 'utf8')).toBe('new');
    for (const name of ['alias', 'one', 'two'])
      expect(lstatSync(join(folder, name)).isSymbolicLink()).toBe(true);
  });

  test('that is dangling or circular is refused and kept', async () => {
    const folder = temporaryFolder();
    symlinkSync('missing', join(folder, 'dangling'));
    symlinkSync('b', join(folder, 'a'));
    symlinkSync('a', join(folder, 'b'));
    expect((await refusal(writeFileAtomically(join(folder, 'dangling'), 'x'))).message).toMatch(
      /link to missing, which does not exist/,
    );
    expect((await refusal(writeFileAtomically(join(folder, 'a'), 'x'))).message).toMatch(
      /form a loop \(ELOOP\)/,
    );
    for (const name of ['dangling', 'a']) {
      expect((await refusal(writeFileAtomically(join(folder, name), 'x', { isNew: true }))).isTaken).toBe(
        true,
      );
      expect(lstatSync(join(folder, name)).isSymbolicLink()).toBe(true);
    }
    expect(readdirSync(folder).sort()).toEqual(['a', 'b', 'dangling']);
  });
});

describe('a written file', () => {
  test('keeps permissions and owner; a new file has default or given permissions', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'file');
    writeFileSync(path, 'old');
    chmodSync(path, 0o640);
    // Only root can change file owners.
    if (process.getuid?.() === 0) chownSync(path, 12_345, 23_456);
    const { uid, gid } = statSync(path);
    await writeFileAtomically(path, 'new');
    expect(statSync(path)).toMatchObject({ uid, gid, mode: expect.any(Number) });
    expect(statSync(path).mode & 0o7777).toBe(0o640);
    await writeFileAtomically(join(folder, 'plain'), 'x');
    expect(statSync(join(folder, 'plain')).mode & 0o777).toBe(0o666 & ~process.umask());
    await writeFileAtomically(join(folder, 'secret'), 'x', { mode: 0o600 });
    expect(statSync(join(folder, 'secret')).mode & 0o777).toBe(0o600);
    await writeFileAtomically(join(folder, 'backup'), 'x', { like: path });
    expect(statSync(join(folder, 'backup'))).toMatchObject({ uid, gid });
    expect(statSync(join(folder, 'backup')).mode & 0o777).toBe(0o640);
  });

  test('that must be new is refused if the path exists, even if it appears during the write', async () => {
    const path = join(temporaryFolder(), 'file');
    const check = async () => writeFileSync(path, 'theirs');
    expect((await refusal(writeFileAtomically(path, 'ours', { isNew: true, check }))).isTaken).toBe(true);
    expect((await refusal(writeFileAtomically(path, 'ours', { isNew: true }))).isTaken).toBe(true);
    expect(readFileSync(path, 'utf8')).toBe('theirs');
    rmSync(path);
    await writeFileAtomically(path, 'ours', { isNew: true });
    expect(readFileSync(path, 'utf8')).toBe('ours');
  });

  test('is unchanged after any failure, and no draft remains', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'file');
    writeFileSync(path, 'old');
    const fault = new Error('an error of the caller');
    const half = fillFileAtomically(path, async (write) => {
      await write('half');
      throw fault;
    });
    await expect(half).rejects.toBe(fault);
    const check = () => Promise.reject(fault);
    await expect(writeFileAtomically(path, 'new', { check })).rejects.toBe(fault);
    expect((await refusal(writeFileAtomically(join(folder, 'none/file'), 'x'))).message).toMatch(
      /its folder does not exist \(ENOENT\)/,
    );
    expect((await refusal(writeFileAtomically(join(path, 'file'), 'x'))).message).toMatch(
      /not a folder \(ENOTDIR\)/,
    );
    expect((await refusal(writeFileAtomically('/proc/version-of-mine', 'x'))).message).toMatch(
      /^\/proc\/version-of-mine cannot be written: .*; nothing was changed$/,
    );
    expect(readFileSync(path, 'utf8')).toBe('old');
    expect(readdirSync(folder)).toEqual(['file']);
  });

  test('is written by one command at a time, and an abandoned draft does not block', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'file');
    const draft = join(folder, '.file.tmp');
    const order: string[] = [];
    const slow = fillFileAtomically(path, async (write) => {
      await write('first');
      await new Promise((resolve) => setTimeout(resolve, 200));
      order.push('first');
    });
    while (!readdirSync(folder).includes('.file.tmp')) await new Promise(setImmediate);
    await writeFileAtomically(path, 'second', { check: async () => void order.push('second') });
    await slow;
    expect([order, readFileSync(path, 'utf8')]).toEqual([['first', 'second'], 'second']);
    writeFileSync(draft, 'left');
    utimesSync(draft, new Date(Date.now() - 60_000), new Date(Date.now() - 60_000));
    await writeFileAtomically(path, 'third');
    expect([readFileSync(path, 'utf8'), readdirSync(folder)]).toEqual(['third', ['file']]);
  });

  test('never contains the draft of another command', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'file');
    const draft = join(folder, '.file.tmp');
    writeFileSync(path, 'old');
    const check = async () => {
      renameSync(draft, join(folder, 'elsewhere'));
      writeFileSync(draft, 'of another command');
    };
    expect((await refusal(writeFileAtomically(path, 'new', { check }))).isBusy).toBe(true);
    expect([readFileSync(path, 'utf8'), readFileSync(draft, 'utf8')]).toEqual(['old', 'of another command']);
  });

  test('contains exactly the written parts', async () => {
    const folder = temporaryFolder();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(fc.string(), fc.uint8Array())), async (parts) => {
        const path = join(folder, 'file');
        await fillFileAtomically(path, async (write) => {
          for (const part of parts) await write(part);
        });
        expect(readFileSync(path)).toEqual(Buffer.concat(parts.map((part) => Buffer.from(part as string))));
      }),
      { numRuns: 30 },
    );
  });
});
