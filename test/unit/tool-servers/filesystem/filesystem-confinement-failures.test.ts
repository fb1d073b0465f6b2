// Errors of the operating system: missing permission, no space. Each case runs in a separate process, without
// superuser rights or with a file size limit.

import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { memoryFolder } from '../../../fixtures/store/memory-folder.ts';

const run = promisify(execFile);
const UNPRIVILEGED_UID = 65534;
/** Group of the file whose owner may not change it. */
const SHARED_GROUP = 3_000;
const isSuperuser = process.getuid?.() === 0;

let root: string;
let box: string;
let program: string;

beforeAll(async () => {
  root = memoryFolder('confinement-failures-');
  chmodSync(root, 0o755);
  program = join(root, 'program.mjs');
  const { outputFiles } = await build({
    stdin: {
      contents: `
        import { openConfinement } from './tool-servers/filesystem/confinement/open-confinement.ts';
        const [box, user, ...calls] = process.argv.slice(2);
        if (Number(user) > 0) {
          process.setgroups([${SHARED_GROUP}]);
          process.setgid(Number(user));
          process.setuid(Number(user));
        }
        const disk = await openConfinement([box]);
        const answers = [];
        for (const call of calls) {
          const [does, ...args] = JSON.parse(call);
          const work =
            does === 'read' ? disk.read(args[0], ({ handle }) => handle.readFile('utf8'))
            : does === 'change' ? disk.change(args[0], 1e6, () => Buffer.from(args[1]))
            : disk[does](...args);
          answers.push(await work.then(() => 'done', (error) => error.name + ': ' + error.message));
        }
        console.log(JSON.stringify(answers));
      `,
      resolveDir: resolve(import.meta.dirname, '../../../..'),
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
  });
  writeFileSync(program, outputFiles[0]?.contents ?? '');
});

beforeEach(() => {
  box = join(root, 'box');
  rmSync(box, { recursive: true, force: true });
  mkdirSync(box);
});

afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

/** Runs calls in a process without superuser rights, with this file size limit. Returns the results. */
async function answersTo(calls: readonly unknown[][], fileLimitKib = 'unlimited'): Promise<string[]> {
  if (isSuperuser) changeOwner(box);
  const callTexts = calls.map((call) => JSON.stringify(call));
  const { stdout } = await run('sh', [
    '-c',
    'ulimit -f "$0" && exec "$@"',
    fileLimitKib,
    process.execPath,
    program,
    box,
    isSuperuser ? String(UNPRIVILEGED_UID) : '0',
    ...callTexts,
  ]);
  return JSON.parse(stdout);
}

/** Changes the owner of everything except `foreign`. */
function changeOwner(path: string): void {
  chownSync(path, UNPRIVILEGED_UID, UNPRIVILEGED_UID);
  if (!statSync(path).isDirectory()) return;
  for (const name of readdirSync(path)) if (name !== 'foreign') changeOwner(join(path, name));
}

test('a write on a full disk keeps the old content and leaves no new or temporary file', async () => {
  writeFileSync(join(box, 'old'), 'old content');
  const large = 'x'.repeat(100_000);
  const [toOld, toNew, changed, small] = await answersTo(
    [
      ['write', 'old', large],
      ['write', 'new', large],
      ['change', 'old', large],
      ['write', 'small', 'x'],
    ],
    '16',
  );
  expect([toOld, toNew, changed].map((answer) => answer?.replace(/"[^"]*"/, 'PATH'))).toEqual(
    Array(3).fill('ToolError: PATH would be larger than the system allows. Nothing was changed.'),
  );
  expect(small).toBe('done');
  expect(readFileSync(join(box, 'old'), 'utf8')).toBe('old content');
  expect(readdirSync(box)).toEqual(['old', 'small']);
});

test('a call without file permission changes nothing and reports the missing permission', async () => {
  mkdirSync(join(box, 'locked'));
  mkdirSync(join(box, 'closed'));
  writeFileSync(join(box, 'locked', 'inside'), 'inside');
  writeFileSync(join(box, 'closed', 'inside'), 'inside');
  writeFileSync(join(box, 'read-only'), 'kept');
  writeFileSync(join(box, 'unreadable'), 'kept');
  chmodSync(join(box, 'read-only'), 0o444);
  chmodSync(join(box, 'unreadable'), 0o200);
  chmodSync(join(box, 'locked'), 0o555);
  chmodSync(join(box, 'closed'), 0o000);
  const calls = [
    ['write', 'read-only', 'x'],
    ['change', 'read-only', 'x'],
    ['write', 'locked/new', 'x'],
    ['write', 'locked/inside', 'x'],
    ['makeDirectory', 'locked/new/deep'],
    ['move', 'locked/inside', 'moved'],
    ['move', 'read-only', 'locked/moved'],
    ['move', 'locked', 'locked-too/x'],
    ['read', 'unreadable'],
    ['read', 'closed/inside'],
    ['write', 'closed/new', 'x'],
    ['list', 'closed', 10],
    ['facts', 'closed/inside'],
  ];
  const answers = await answersTo(calls);
  chmodSync(join(box, 'closed'), 0o755);
  for (const [index, answer] of answers.entries())
    expect(answer, calls[index]?.join(' ')).toMatch(
      /^ToolError: .*(No permission|not permit|does not exist)/,
    );
  expect(answers.filter((answer) => answer.includes('does not exist'))).toHaveLength(1);
  expect(readdirSync(box)).toEqual(['closed', 'locked', 'read-only', 'unreadable']);
  expect([readdirSync(join(box, 'locked')), readdirSync(join(box, 'closed'))]).toEqual([
    ['inside'],
    ['inside'],
  ]);
  expect(readFileSync(join(box, 'read-only'), 'utf8')).toBe('kept');
});

test("a non-root user can read, write and move files, even another user's file that cannot be hard-linked", async () => {
  writeFileSync(join(box, 'own'), 'own');
  chmodSync(join(box, 'own'), 0o640);
  // Linux does not allow hard links to files of other users (fs.protected_hardlinks).
  writeFileSync(join(box, 'foreign'), 'foreign');
  const answers = await answersTo([
    ['read', 'own'],
    ['write', 'own', 'new'],
    ['write', 'fresh', 'fresh'],
    ['makeDirectory', 'a/b'],
    ['move', 'own', 'a/own'],
    ['move', 'a', 'c'],
    ['list', 'c', 10],
    ['move', 'foreign', 'c/moved'],
    ['move', 'c/moved', 'fresh'],
  ]);
  const refused = answers.pop();
  expect(answers).toEqual(Array(8).fill('done'));
  expect(refused).toContain('already exists');
  expect(readFileSync(join(box, 'c', 'moved'), 'utf8')).toBe('foreign');
  expect(readFileSync(join(box, 'fresh'), 'utf8')).toBe('fresh');
  expect(statSync(join(box, 'c', 'own')).mode & 0o777).toBe(0o640);
  expect(readFileSync(join(box, 'c', 'own'), 'utf8')).toBe('new');
});

test('a replaced file of another user keeps its group, but not its owner', async () => {
  const foreign = join(box, 'foreign');
  writeFileSync(foreign, 'old');
  chmodSync(foreign, 0o666);
  if (isSuperuser) chownSync(foreign, 0, SHARED_GROUP);
  const { gid } = statSync(foreign);
  expect(await answersTo([['write', 'foreign', 'new']])).toEqual(['done']);
  expect(readFileSync(foreign, 'utf8')).toBe('new');
  const now = statSync(foreign);
  expect([now.gid, now.mode & 0o777]).toEqual([gid, 0o666]);
  expect(now.uid).toBe(isSuperuser ? UNPRIVILEGED_UID : process.getuid?.());
});
