// Confinement of the filesystem server to its allowed folders, on a real disk. All cases run twice: files are
// pinned (kept open during a call) by /proc, or by name as on systems without /proc.

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isTemporaryName } from '../../../../tool-servers/filesystem/confinement/atomic-write.ts';
import type { Confinement } from '../../../../tool-servers/filesystem/confinement/confinement.ts';
import { openConfinement } from '../../../../tool-servers/filesystem/confinement/open-confinement.ts';
import { pinByName } from '../../../../tool-servers/filesystem/confinement/pin-by-name.ts';
import { pinByProc } from '../../../../tool-servers/filesystem/confinement/pinned-entry.ts';
import { factsOf } from '../../../../tool-servers/filesystem/paths/file-facts.ts';
import { StartupError, ToolError } from '../../../../tool-servers/tool-error.ts';

const SECRET = 'what nobody may read';

describe.each([
  { method: 'by /proc', pin: pinByProc },
  { method: 'by name', pin: pinByName },
])('with files pinned $method', ({ pin }) => {
  let root: string;
  let box: string;
  let outside: string;
  let confinement: Confinement;

  beforeEach(async () => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'confinement-')));
    box = join(root, 'box');
    outside = join(root, 'outside');
    mkdirSync(join(box, 'sub'), { recursive: true });
    mkdirSync(join(root, 'box-evil'));
    mkdirSync(outside);
    writeFileSync(join(outside, 'secret.txt'), SECRET);
    writeFileSync(join(root, 'box-evil', 'secret.txt'), SECRET);
    writeFileSync(join(box, 'a.txt'), 'a');
    writeFileSync(join(box, 'sub', 'b.txt'), 'b');
    confinement = await openConfinement([box], pin);
  });

  afterEach(async () => {
    await confinement.close();
    rmSync(root, { recursive: true, force: true });
  });

  const textAt = (path: string, of = confinement) => of.read(path, ({ handle }) => handle.readFile('utf8'));
  const refusal = async (work: (() => Promise<unknown>) | Promise<unknown>): Promise<string> => {
    const error = await (typeof work === 'function' ? work() : work).then(
      () => new Error('expected a refusal'),
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(ToolError);
    return (error as ToolError).message;
  };
  /** Every kind of call with the path. */
  const allCallsOn = (path: string) => [
    () => confinement.facts(path),
    () => textAt(path),
    () => confinement.list(path, 10),
    () => confinement.write(path, 'x'),
    () => confinement.change(path, 100, () => Buffer.from('x')),
    () => confinement.makeDirectory(path),
    () => confinement.move(path, 'moved'),
    () => confinement.move('a.txt', path),
  ];

  describe('the filesystem confinement accepts a path', () => {
    test.each(['a.txt', './a.txt', 'sub/../a.txt', 'sub//..//a.txt', 'no-such/../a.txt'])(
      'relative to the first folder: %s',
      async (path) => {
        expect(await textAt(path)).toBe('a');
      },
    );

    test('that is absolute, and returns it normalized', async () => {
      expect((await confinement.facts(`${box}//sub/./b.txt`)).path).toBe(join(box, 'sub', 'b.txt'));
    });

    test('that leads out of the folder and back in', async () => {
      expect(await textAt('../box/a.txt')).toBe('a');
    });

    test('of the folder itself', async () => {
      for (const path of ['.', box, `${box}/`, 'sub/..'])
        expect((await confinement.facts(path)).path).toBe(box);
    });

    test('with a name that begins with dots', async () => {
      writeFileSync(join(box, '..c'), 'c');
      writeFileSync(join(box, '...'), 'd');
      expect(await textAt('..c')).toBe('c');
      expect(await textAt('...')).toBe('d');
    });

    test('with any valid character in a name', async () => {
      for (const name of ['ä\u0308', 'a\nb', 'a\\b', '-rf', '%2e%2e', '*', '~x', 'x (deleted)', '名']) {
        await confinement.write(name, name);
        expect(readFileSync(join(box, name), 'utf8')).toBe(name);
        expect(await textAt(name)).toBe(name);
      }
    });
  });

  describe('the filesystem confinement refuses', () => {
    test.each([
      ['..'],
      ['../outside/secret.txt'],
      ['sub/../../outside/secret.txt'],
      ['../box-evil/secret.txt'],
      ['/etc/passwd'],
      ['/'],
      ['/proc/self/root/etc/passwd'],
      ['/dev/fd/0'],
      ['/proc/self/cwd'],
    ])('the path %s in every kind of call, and the error lists the allowed folders', async (path) => {
      for (const call of allCallsOn(path)) {
        const message = await refusal(call);
        expect(message).toContain('outside the allowed folders');
        expect(message).toContain(box);
      }
      expect(readdirSync(outside)).toEqual(['secret.txt']);
    });

    test('a sibling folder whose name begins with the name of an allowed folder', async () => {
      for (const call of allCallsOn(`${box}-evil/secret.txt`))
        expect(await refusal(call)).toContain('outside the allowed folders');
    });

    test.each([
      ['', 'is empty'],
      ['a.txt\0', 'invalid in paths'],
      ['\ud800', 'invalid in paths'],
      ['~', 'not expanded to a home folder'],
      ['~/x', 'not expanded to a home folder'],
      ['x'.repeat(300), 'too long'],
      ['x/'.repeat(3000), 'longer than 4096 bytes'],
    ])('an invalid path: %j', async (path, message) => {
      for (const call of allCallsOn(path)) expect(await refusal(call)).toContain(message);
    });

    test('a folder instead of a file, and a file instead of a folder', async () => {
      expect(await refusal(textAt('sub'))).toContain('is a folder');
      expect(await refusal(textAt('a.txt/'))).toContain('path of a folder');
      expect(await refusal(confinement.write('sub', 'x'))).toContain('is a folder');
      expect(await refusal(confinement.write('new/', 'x'))).toContain('path of a folder');
      expect(await refusal(confinement.list('a.txt', 10))).toContain('is not a folder');
      expect(await refusal(confinement.write('a.txt/x', 'x'))).toContain('is not a folder');
      expect(await refusal(confinement.makeDirectory('a.txt/x'))).toContain('is not a folder');
      expect(await refusal(confinement.makeDirectory('a.txt'))).toContain('is not a folder');
    });

    test('a missing path, and the error names its first missing part', async () => {
      expect(await refusal(textAt('no/such/file'))).toContain(`"${join(box, 'no')}" does not exist`);
      expect(await refusal(textAt('sub/none'))).toContain(`"${join(box, 'sub', 'none')}" does not exist`);
      expect(await refusal(confinement.write('no/file', 'x'))).toContain(
        `"${join(box, 'no')}" does not exist`,
      );
      expect(readdirSync(box)).toEqual(['a.txt', 'sub']);
    });

    test('pipes, sockets and devices, without blocking', async () => {
      execFileSync('mkfifo', [join(box, 'pipe')]);
      symlinkSync('pipe', join(box, 'to-pipe'));
      const server = createServer().listen(join(box, 'socket'));
      await new Promise((resolve) => server.once('listening', resolve));
      for (const name of ['pipe', 'to-pipe', 'socket']) {
        const calls = [
          () => textAt(name),
          () => confinement.write(name, 'x'),
          () => confinement.change(name, 9, () => Buffer.from('x')),
        ];
        for (const call of calls) expect(await refusal(call)).toContain('a device, a pipe or a socket');
        expect((await confinement.facts(name)).kind).toBe('other');
      }
      server.close();
    });
  });

  describe('the filesystem confinement follows links', () => {
    test('to targets inside, in any notation', async () => {
      symlinkSync('a.txt', join(box, 'relative'));
      symlinkSync(join(box, 'a.txt'), join(box, 'absolute'));
      symlinkSync('relative', join(box, 'chain'));
      symlinkSync('../box/a.txt', join(box, 'around'));
      symlinkSync('..', join(box, 'sub', 'up'));
      for (const name of ['relative', 'absolute', 'chain', 'around', 'sub/up/a.txt']) {
        expect(await textAt(name)).toBe('a');
        expect(await confinement.facts(name)).toMatchObject({
          path: join(box, name),
          kind: 'file',
          sizeBytes: 1,
        });
      }
    });

    test('that lead into the folder by another path to it', async () => {
      symlinkSync(box, join(root, 'other-name'));
      symlinkSync(join(root, 'other-name', 'a.txt'), join(box, 'link'));
      expect(await textAt('link')).toBe('a');
    });

    test('but not outside, with the same message for existing and missing targets', async () => {
      mkdirSync(join(outside, 'folder'));
      const targets = {
        file: join(outside, 'secret.txt'),
        folder: outside,
        nothing: join(outside, 'nothing'),
        deep: join(outside, 'nothing', 'at', 'all'),
        loop: 'loop',
        through: join(outside, 'secret.txt', 'x'),
        magic: '/proc/self/root/etc/passwd',
        device: '/dev/null',
      };
      for (const [name, target] of Object.entries(targets)) symlinkSync(target, join(box, name));
      const messages = new Set<string>();
      for (const name of Object.keys(targets)) {
        const path = join(box, name);
        for (const below of ['', '/secret.txt', '/nothing'])
          for (const call of [
            () => confinement.facts(path + below),
            () => textAt(path + below),
            () => confinement.list(path + below, 9),
          ])
            messages.add((await refusal(call)).replaceAll(path + below, 'PATH'));
        for (const call of [
          () => confinement.write(path, 'x'),
          () => confinement.write(`${path}/x`, 'x'),
          () => confinement.change(path, 100, () => Buffer.from('x')),
          () => confinement.makeDirectory(`${path}/x`),
          () => confinement.makeDirectory(`${path}/x/y`),
          () => confinement.move(`${path}/secret.txt`, 'stolen'),
          () => confinement.move('a.txt', `${path}/secret2.txt`),
        ])
          expect(await refusal(call)).not.toContain(outside);
      }
      expect([...messages]).toEqual([
        '"PATH" contains a symbolic link without a target in the allowed folders. Links are followed only within the allowed folders; choose another path.',
      ]);
      expect(readdirSync(outside)).toEqual(['folder', 'secret.txt']);
      expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe(SECRET);
    });

    test('but never to a sibling folder whose name begins with the name of the allowed folder', async () => {
      symlinkSync('../box-evil', join(box, 'evil'));
      expect(await refusal(textAt('evil/secret.txt'))).toContain('without a target in the allowed folders');
    });

    test('and lists them as links', async () => {
      symlinkSync('a.txt', join(box, 'link'));
      symlinkSync(outside, join(box, 'out'));
      expect(await confinement.list('.', 10)).toEqual({
        path: box,
        isTruncated: false,
        entries: [
          { name: 'a.txt', kind: 'file' },
          { name: 'link', kind: 'symlink' },
          { name: 'out', kind: 'symlink' },
          { name: 'sub', kind: 'directory' },
        ],
      });
    });
  });

  describe('the filesystem confinement writes', () => {
    test('a new file with the default mode, without creating parents', async () => {
      const before = process.umask(0o027);
      try {
        expect(await confinement.write('new.txt', 'x')).toEqual({
          path: join(box, 'new.txt'),
          existed: false,
        });
      } finally {
        process.umask(before);
      }
      expect(statSync(join(box, 'new.txt')).mode & 0o7777).toBe(0o640);
    });

    test('over a file by replacing it, with the same mode; hard links keep the old content', async () => {
      chmodSync(join(box, 'a.txt'), 0o6751);
      linkSync(join(box, 'a.txt'), join(box, 'hard'));
      expect(await confinement.write('a.txt', new Uint8Array([0, 255]))).toMatchObject({ existed: true });
      expect(readFileSync(join(box, 'a.txt'))).toEqual(Buffer.from([0, 255]));
      expect(statSync(join(box, 'a.txt')).mode & 0o7777).toBe(0o751);
      expect(readFileSync(join(box, 'hard'), 'utf8')).toBe('a');
    });

    test('to the target of a link, and keeps the link', async () => {
      symlinkSync('../a.txt', join(box, 'sub', 'link'));
      expect(await confinement.write('sub/link', 'new')).toEqual({
        path: join(box, 'sub', 'link'),
        existed: true,
      });
      expect(readlinkSync(join(box, 'sub', 'link'))).toBe('../a.txt');
      expect(readFileSync(join(box, 'a.txt'), 'utf8')).toBe('new');
      expect(readdirSync(join(box, 'sub'))).toEqual(['b.txt', 'link']);
    });

    test('atomically: a reader sees the old or the new content, never a part', async () => {
      const contents = ['1', '2'].map((digit) => digit.repeat(200_000));
      await confinement.write('a.txt', contents[0] ?? '');
      let isWriting = true;
      const writing = (async () => {
        for (let count = 0; count < 30; count++) await confinement.write('a.txt', contents[count % 2] ?? '');
        isWriting = false;
      })();
      while (isWriting) {
        const content = await textAt('a.txt').catch((error: unknown) => {
          // A concurrent change may fail a read without /proc, but not with it.
          if (pin === pinByProc || !(error instanceof ToolError)) throw error;
          return contents[0];
        });
        expect(contents).toContain(content);
      }
      await writing;
      expect(readdirSync(box)).toEqual(['a.txt', 'sub']);
    });
  });

  describe('the filesystem confinement edits a file', () => {
    test('and does not touch a file whose content stays the same', async () => {
      const before = statSync(join(box, 'a.txt'), { bigint: true });
      expect(await confinement.change('a.txt', 10, (content) => Buffer.from(content))).toEqual({
        path: join(box, 'a.txt'),
      });
      expect(statSync(join(box, 'a.txt'), { bigint: true }).ino).toBe(before.ino);
      await confinement.change('a.txt', 10, (content) => Buffer.concat([content, Buffer.from('b')]));
      expect(readFileSync(join(box, 'a.txt'), 'utf8')).toBe('ab');
    });

    test('unless it is too large or missing, or the edit fails', async () => {
      writeFileSync(join(box, 'large'), '12345');
      expect(await refusal(confinement.change('large', 4, (content) => content))).toContain(
        'has 5 bytes; the limit for edits is 4',
      );
      expect(await refusal(confinement.change('none', 4, (content) => content))).toContain('does not exist');
      const failing = confinement.change('large', 9, () => {
        throw new ToolError('not found in the file');
      });
      expect(await refusal(failing)).toBe('not found in the file');
      expect(readFileSync(join(box, 'large'), 'utf8')).toBe('12345');
    });

    test.each(['in place', 'by a rename', 'away'])(
      'unless another program changes it %s while it is edited',
      async (how) => {
        const path = join(box, 'a.txt');
        const call = confinement.change('a.txt', 10, () => {
          if (how === 'in place') writeFileSync(path, 'z');
          if (how === 'away') rmSync(path);
          if (how === 'by a rename') renameSync(join(box, 'sub', 'b.txt'), path);
          return Buffer.from('mine');
        });
        expect(await refusal(call)).toMatch(/changed by another program|does not exist/);
        expect(readdirSync(box).filter(isTemporaryName)).toEqual([]);
        if (how !== 'away') expect(readFileSync(path, 'utf8')).toBe(how === 'in place' ? 'z' : 'b');
      },
    );

    test('without losing one of two concurrent changes', async () => {
      writeFileSync(join(box, 'count'), '');
      const calls = Array.from({ length: 20 }, () =>
        confinement.change('count', 100, (before) => Buffer.concat([before, Buffer.from('.')])),
      );
      const results = await Promise.allSettled(calls);
      const succeeded = results.filter(({ status }) => status === 'fulfilled').length;
      expect(succeeded).toBeGreaterThan(0);
      expect(readFileSync(join(box, 'count'), 'utf8')).toBe('.'.repeat(succeeded));
      for (const result of results)
        if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(ToolError);
    });
  });

  describe('the filesystem confinement creates folders', () => {
    test('with their parents, and accepts an existing folder', async () => {
      expect(await confinement.makeDirectory('x/y/z')).toEqual({
        path: join(box, 'x', 'y', 'z'),
        existed: false,
      });
      expect(statSync(join(box, 'x', 'y', 'z')).isDirectory()).toBe(true);
      for (const path of ['x/y/z', 'x/', '.'])
        expect(await confinement.makeDirectory(path)).toMatchObject({ existed: true });
    });

    test('through a link to a folder inside', async () => {
      symlinkSync('sub', join(box, 'link'));
      await confinement.makeDirectory('link/x/y');
      expect(statSync(join(box, 'sub', 'x', 'y')).isDirectory()).toBe(true);
    });
  });

  describe('the filesystem confinement moves', () => {
    test('a file, a folder and a link, unchanged', async () => {
      symlinkSync('b.txt', join(box, 'sub', 'link'));
      const { ino } = statSync(join(box, 'a.txt'));
      expect(await confinement.move('a.txt', 'sub/c.txt')).toEqual({
        source: join(box, 'a.txt'),
        destination: join(box, 'sub', 'c.txt'),
      });
      expect(statSync(join(box, 'sub', 'c.txt')).ino).toBe(ino);
      await confinement.move('sub/link', 'link');
      expect(readlinkSync(join(box, 'link'))).toBe('b.txt');
      await confinement.move('sub', 'folder');
      expect(readdirSync(box)).toEqual(['folder', 'link']);
      expect(readdirSync(join(box, 'folder'))).toEqual(['b.txt', 'c.txt']);
    });

    test('a link that leads outside, without touching its target', async () => {
      symlinkSync(outside, join(box, 'out'));
      await confinement.move('out', 'sub/out');
      expect(readlinkSync(join(box, 'sub', 'out'))).toBe(outside);
    });

    test('nothing over an existing entry', async () => {
      mkdirSync(join(box, 'empty'));
      symlinkSync('nowhere', join(box, 'dangling'));
      symlinkSync('b.txt', join(box, 'sub', 'link'));
      for (const source of ['a.txt', 'sub', 'sub/link'])
        for (const destination of ['empty', 'dangling', 'sub/b.txt', 'a.txt', source]) {
          const message = await refusal(confinement.move(source, destination));
          expect(message).toMatch(/already exists|into itself/);
        }
      expect(readdirSync(box)).toEqual(['a.txt', 'dangling', 'empty', 'sub']);
      expect(readdirSync(join(box, 'sub'))).toEqual(['b.txt', 'link']);
      expect(readFileSync(join(box, 'sub', 'b.txt'), 'utf8')).toBe('b');
    });

    test('no folder into itself, no allowed folder, and no missing entry', async () => {
      expect(await refusal(confinement.move('sub', 'sub/x'))).toContain('into itself');
      expect(readdirSync(join(box, 'sub'))).toEqual(['b.txt']);
      expect(await refusal(confinement.move('.', 'x'))).toContain('which cannot be moved or replaced');
      expect(await refusal(confinement.move('a.txt', '.'))).toContain('which cannot be moved or replaced');
      expect(await refusal(confinement.move('none', 'x'))).toContain(`"${join(box, 'none')}" does not exist`);
      expect(await refusal(confinement.move('a.txt', 'none/x'))).toContain(
        `"${join(box, 'none')}" does not exist`,
      );
      symlinkSync('..', join(box, 'sub', 'up'));
      symlinkSync(root, join(box, 'root'));
      expect(await refusal(confinement.move('root/box', 'x'))).toContain(
        'without a target in the allowed folders',
      );
    });
  });

  describe('the filesystem confinement accepts a trailing slash', () => {
    test('for folders only', async () => {
      expect((await confinement.facts('sub/')).kind).toBe('directory');
      expect(await refusal(confinement.facts('a.txt/'))).toContain('is not a folder');
      expect(await refusal(confinement.move('a.txt/', 'x'))).toContain('is not a folder');
      expect(await refusal(confinement.move('a.txt', 'x/'))).toContain('is not a folder');
      await confinement.move('sub/', 'moved/');
      expect(readdirSync(box)).toEqual(['a.txt', 'moved']);
    });
  });

  describe('the filesystem confinement accepts a name in another Unicode form', () => {
    const composed = 'caf\u00e9';
    const existingName = 'cafe\u0301';

    test('if it is the only equivalent entry, in the middle and at the end of a path', async () => {
      mkdirSync(join(box, existingName));
      writeFileSync(join(box, existingName, existingName), 'x');
      expect(await textAt(`${composed}/${composed}`)).toBe('x');
      await confinement.change(`${composed}/${composed}`, 9, () => Buffer.from('y'));
      await confinement.write(`${composed}/${composed}`, 'z');
      expect((await confinement.makeDirectory(composed)).existed).toBe(true);
      expect(readdirSync(join(box, existingName))).toEqual([existingName]);
      expect(readFileSync(join(box, existingName, existingName), 'utf8')).toBe('z');
      expect(await refusal(confinement.move('a.txt', `${composed}/${composed}`))).toContain('already');
    });

    test('but prefers the exact name, and refuses ambiguous names', async () => {
      writeFileSync(join(box, existingName), 'apart');
      writeFileSync(join(box, composed), 'together');
      expect(await textAt(composed)).toBe('together');
      expect(await textAt(existingName)).toBe('apart');
      for (const name of ['\u01d6', 'u\u0308\u0304']) writeFileSync(join(box, name), '');
      expect(await refusal(textAt('\u00fc\u0304'))).toContain('does not exist');
    });

    test.each(['outside', 'missing'])(
      'but not if the existing entry is a link to a target outside or a missing target: %s',
      async (name) => {
        symlinkSync(join(root, name), join(box, existingName));
        expect(await refusal(confinement.facts(composed))).toContain('does not exist');
        expect(await refusal(textAt(`${composed}/secret.txt`))).toContain('does not exist');
        expect(await refusal(confinement.write(`${composed}/new`, 'x'))).toContain('does not exist');
        expect(readdirSync(outside)).toEqual(['secret.txt']);
      },
    );
  });

  test('the filesystem confinement refuses Windows paths and URIs, and the error says why', async () => {
    expect(await refusal(() => confinement.write('C:\\Users\\x.txt', 'x'))).toContain('a Windows path');
    expect(await refusal(() => textAt(`file://${box}/a.txt`))).toContain('is a URI');
    await confinement.write('./C:\\x.txt', 'x');
    expect(readdirSync(box)).toEqual(['C:\\x.txt', 'a.txt', 'sub']);
  });

  test('the filesystem confinement suggests create_directory for a missing folder, not for a missing file', async () => {
    expect(await refusal(confinement.write('none/x', 'x'))).toContain(
      'Use create_directory to create folders',
    );
    expect(await refusal(textAt('none'))).not.toContain('create_directory');
  });

  test('the filesystem confinement returns the latest possible date for a file time out of range', async () => {
    const seconds = 9e12;
    utimesSync(join(box, 'a.txt'), seconds, seconds);
    const { modifiedAt } = await confinement.facts('a.txt');
    expect(modifiedAt.toISOString()).toMatch(/^\d{4}-/);
    const stats = lstatSync(join(box, 'a.txt'), { bigint: true });
    const far = Object.assign(Object.create(stats), { mtimeMs: BigInt(seconds) * 1_000n });
    expect(factsOf('a.txt', far).modifiedAt.toISOString()).toBe('9999-12-31T00:00:00.000Z');
  });

  describe('the filesystem confinement lists a folder', () => {
    test('without the temporary files of writes', async () => {
      writeFileSync(join(box, `.actor-gateway-${'0'.repeat(24)}.tmp`), 'half');
      expect((await confinement.list('.', 9)).entries.map(({ name }) => name)).toEqual(['a.txt', 'sub']);
    });

    test('unless the caller cancels', async () => {
      const reason = new Error('no longer wanted');
      await expect(confinement.list('.', 9, AbortSignal.abort(reason))).rejects.toBe(reason);
    });

    test('in order, up to the limit, and reports whether entries are omitted', async () => {
      for (const name of ['z', 'y', 'x', '10', '9']) writeFileSync(join(box, 'sub', name), '');
      const { entries, isTruncated } = await confinement.list('sub', 3);
      expect(entries.map(({ name }) => name)).toEqual(['10', '9', 'b.txt']);
      expect(isTruncated).toBe(true);
      expect((await confinement.list('sub', 6)).isTruncated).toBe(false);
    });
  });

  describe('the confinement to several folders', () => {
    test('links from one folder to another are followed, and entries can be moved between them', async () => {
      const second = join(root, 'second');
      mkdirSync(second);
      symlinkSync(join(second, 'x'), join(box, 'link'));
      writeFileSync(join(second, 'x'), 'x');
      const twoFolders = await openConfinement([box, second, `${second}/`], pin);
      expect(twoFolders.folders).toEqual([box, second]);
      expect(await textAt('link', twoFolders)).toBe('x');
      await twoFolders.write('link', 'y');
      expect(readFileSync(join(second, 'x'), 'utf8')).toBe('y');
      await twoFolders.move('a.txt', join(second, 'a.txt'));
      expect(readdirSync(second)).toEqual(['a.txt', 'x']);
      await twoFolders.close();
    });

    test('a nested folder and its parents cannot be moved', async () => {
      mkdirSync(join(box, 'sub', 'inner'));
      const nested = await openConfinement([box, join(box, 'sub', 'inner')], pin);
      expect(await refusal(nested.move('sub', 'x'))).toContain('is or contains an allowed folder');
      expect(await refusal(nested.move('sub/inner', 'x'))).toContain('which cannot be moved or replaced');
      symlinkSync('sub', join(box, 'link'));
      expect(await refusal(nested.move('link/inner', 'x'))).toContain('is or contains an allowed folder');
      await nested.write('sub/inner/x', 'x');
      await nested.close();
    });

    test('accepts paths by a configured link and by its target, and returns the link', async () => {
      const alias = join(root, 'alias');
      symlinkSync(box, alias);
      const aliased = await openConfinement([alias], pin);
      expect(aliased.folders).toEqual([alias]);
      for (const path of ['a.txt', join(alias, 'a.txt'), join(box, 'a.txt')]) {
        expect(await textAt(path, aliased)).toBe('a');
        expect((await aliased.facts(path)).path).toBe(join(alias, 'a.txt'));
      }
      expect(await refusal(aliased.facts(join(root, 'alias-x')))).toContain('outside');
      await aliased.close();
    });

    test('including the root folder allows every path', async () => {
      const all = await openConfinement(['/'], pin);
      expect(await textAt(join(box, 'a.txt'), all)).toBe('a');
      expect(await textAt(join(box, 'a.txt').slice(1), all)).toBe('a');
      expect((await all.facts('/')).path).toBe('/');
      expect((await all.facts('..')).path).toBe('/');
      await all.write(join(box, 'new'), 'x');
      expect((await all.list(box, 9)).path).toBe(box);
      expect(await refusal(all.move('/', join(box, 'x')))).toContain('which cannot be moved or replaced');
      await all.close();
    });
  });

  describe('an allowed folder of the filesystem confinement', () => {
    test('that is removed causes an error', async () => {
      rmSync(box, { recursive: true });
      for (const call of allCallsOn('a.txt'))
        expect(await refusal(call)).toContain('removed, renamed or replaced');
    });

    test.each(['folder', 'link'])(
      'that is replaced by a %s causes an error, and neither the old folder nor the replacement is touched',
      async (kind) => {
        renameSync(box, join(root, 'old'));
        if (kind === 'link') symlinkSync(outside, box);
        else mkdirSync(box);
        for (const call of allCallsOn('a.txt'))
          expect(await refusal(call)).toContain('removed, renamed or replaced');
        expect(readdirSync(outside)).toEqual(['secret.txt']);
        expect(readdirSync(join(root, 'old'))).toEqual(['a.txt', 'sub']);
      },
    );

    test('that is moved away and back can be used again', async () => {
      renameSync(box, join(root, 'old'));
      expect(await refusal(textAt('a.txt'))).toContain('removed, renamed or replaced');
      renameSync(join(root, 'old'), box);
      expect(await textAt('a.txt')).toBe('a');
    });

    test('that is missing or not a folder at the start is a usage error', async () => {
      for (const [folder, message] of [
        [join(root, 'none'), 'does not exist'],
        [join(box, 'a.txt'), 'is not a folder'],
        ['', 'empty'],
      ] as const) {
        const opening = openConfinement([box, folder], pin);
        await expect(opening).rejects.toThrow(StartupError);
        await expect(opening).rejects.toThrow(message);
      }
      await expect(openConfinement([], pin)).rejects.toThrow(StartupError);
    });
  });

  test('the filesystem confinement leaves no file descriptor open after accepted and refused calls', async () => {
    symlinkSync(outside, join(box, 'out'));
    const openNow = () => readdirSync('/proc/self/fd').length;
    const before = openNow();
    for (const path of ['a.txt', 'none', 'sub', 'out/x', 'out'])
      await Promise.allSettled(allCallsOn(path).map((call) => call()));
    expect(openNow()).toBe(before);
    expect(lstatSync(join(box, 'out')).isSymbolicLink()).toBe(true);
  });
});
