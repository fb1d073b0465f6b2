// One gateway per state folder, tested with real processes that start together and are killed.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AlreadyInUseError } from '../../../actors/base/errors/errors.ts';
import { inStateFolder, StateFolderError } from '../../../actors/state/folder-access.ts';
import { acquireStateLock } from '../../../actors/state/lock.ts';
import { bundle } from '../../fixtures/children/bundled.ts';

const owner = { listenAddr: '127.0.0.1:8080' };
let parent: string;
let stateDir: string;
const started: ChildProcess[] = [];

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'actor-gateway-'));
  stateDir = join(parent, 'a', 'state');
});
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  rmSync(parent, { recursive: true });
});

class Contender {
  readonly process: ChildProcess;
  readonly #lines: Interface;

  private constructor(process: ChildProcess, lines: Interface) {
    this.process = process;
    this.#lines = lines;
  }

  static async start(): Promise<Contender> {
    const child = spawn(process.execPath, [bundle('lock-contender.ts'), stateDir], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    started.push(child);
    const starter = new Contender(child, createInterface({ input: child.stdout }));
    await starter.#answer();
    return starter;
  }

  async do(command: 'take' | 'release'): Promise<{ holds?: boolean; code?: string; message?: string }> {
    const answer = this.#answer();
    this.process.stdin?.write(`${command}\n`);
    return JSON.parse(await answer) as { holds?: boolean };
  }

  async kill(): Promise<void> {
    const exited = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await exited;
  }

  async #answer(): Promise<string> {
    const [line] = (await once(this.#lines, 'line')) as [string];
    return line;
  }
}

describe('the lock of a state folder', () => {
  test('creates the folder with owner-only access and can be acquired again after a release', async () => {
    const lock = await acquireStateLock(stateDir, owner);
    expect(statSync(stateDir).mode & 0o777).toBe(0o700);
    await expect(acquireStateLock(stateDir, owner)).rejects.toBeInstanceOf(AlreadyInUseError);
    await lock.release();
    const secondLock = await acquireStateLock(stateDir, owner);
    await lock.release();
    await expect(acquireStateLock(stateDir, owner)).rejects.toBeInstanceOf(AlreadyInUseError);
    await secondLock.release();
    expect(readdirSync(stateDir)).toHaveLength(1);
  });

  test('reports process, address and folder of a live holder', async () => {
    const holder = await Contender.start();
    expect(await holder.do('take')).toEqual({ holds: true });
    const error = await acquireStateLock(stateDir, owner).catch((reason: unknown) => reason as Error);
    expect(error).toMatchObject({ code: 'ERR_ALREADY_HELD' });
    const { pid } = holder.process;
    expect((error as Error).message).toContain(`process ${pid}, listening on 127.0.0.1:${pid}`);
    expect((error as Error).message).toContain(stateDir);
  });

  test('is held by exactly one of twenty processes started together, also after kill -9 of the holder', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => Contender.start()));
    let contenders = all;
    for (let round = 0; round < 6; round += 1) {
      const answers = await Promise.all(contenders.map((each) => each.do('take')));
      expect(answers.filter(({ holds }) => holds === true)).toHaveLength(1);
      expect(new Set(answers.map(({ code }) => code))).toEqual(new Set([undefined, 'ERR_ALREADY_HELD']));
      const holder = contenders[answers.findIndex(({ holds }) => holds === true)];
      if (round % 2 === 0) {
        await holder?.kill();
        contenders = contenders.filter((each) => each !== holder);
      } else {
        await holder?.do('release');
      }
    }
    expect(readdirSync(stateDir)).toHaveLength(1);
  });

  test('can be acquired if its file is damaged, or its pid now belongs to a process with another start time', async () => {
    const texts = ['', 'null', '{"pid":', `{"pid":${process.pid},"start_time":"boot/1","listen_addr":"x"}`];
    (await acquireStateLock(stateDir, owner)).release();
    for (const text of texts) {
      const [name = ''] = readdirSync(stateDir);
      writeFileSync(join(stateDir, name), text);
      const lock = await acquireStateLock(stateDir, owner);
      await lock.release();
    }
  });

  test('reports an unusable folder with a remedy', async () => {
    const file = join(parent, 'file');
    writeFileSync(file, '');
    for (const path of [file, join(file, 'below')]) {
      const error = await acquireStateLock(path, owner).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(StateFolderError);
      expect((error as Error).message).toContain(
        `cannot use the state folder ${path}: the path contains a file`,
      );
    }
  });

  test.each([
    ['EACCES', 'has no write permission'],
    ['EROFS', 'read-only file system'],
    ['ENOSPC', 'disk or the quota is full'],
    ['EIO', 'system error EIO'],
  ])('explains the system error %s', (code, message) => {
    const fail = (): never => {
      throw Object.assign(new Error(`${code}: as the system puts it`), { code });
    };
    expect(() => inStateFolder('/state', fail)).toThrow(message);
    expect(() => inStateFolder('/state', fail)).toThrow(StateFolderError);
  });
});
