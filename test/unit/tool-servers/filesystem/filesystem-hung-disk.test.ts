// A disk that hangs during a change, like a network file system. The last step of a write hangs.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Confinement } from '../../../../tool-servers/filesystem/confinement/confinement.ts';
import { openConfinement } from '../../../../tool-servers/filesystem/confinement/open-confinement.ts';
import { CALL_SECONDS } from '../../../../tool-servers/filesystem/limits.ts';

const hungCalls = vi.hoisted(() => ({ count: 0 }));
vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>();
  const rename = (from: string, to: string) => {
    if (!to.endsWith('/hangs')) return real.rename(from, to);
    hungCalls.count++;
    return new Promise<void>(() => {});
  };
  return { ...real, rename };
});

let box: string;
let disk: Confinement;

beforeEach(async () => {
  box = mkdtempSync(join(tmpdir(), 'hung-disk-'));
  disk = await openConfinement([box]);
});

afterEach(async () => {
  vi.useRealTimers();
  await disk.close();
  rmSync(box, { recursive: true, force: true });
});

test('a file change that hangs in its last step blocks other changes only for the time limit of a call', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const hanging = expect(disk.write('hangs', 'x')).rejects.toThrow('aborted');
  await vi.waitUntil(() => hungCalls.count === 1);
  const next = disk.write('next', 'x');
  await vi.advanceTimersByTimeAsync(CALL_SECONDS * 1_000);
  await hanging;
  await next;
  expect(readFileSync(join(box, 'next'), 'utf8')).toBe('x');
});

test('a write aborted before its last step never takes effect', async () => {
  writeFileSync(join(box, 'a'), 'old');
  const controller = new AbortController();
  const writing = disk.write('a', 'x'.repeat(1_000_000), controller.signal);
  controller.abort(new Error('too late'));
  await expect(writing).rejects.toThrow('too late');
  expect(readFileSync(join(box, 'a'), 'utf8')).toBe('old');
  expect(readdirSync(box)).toEqual(['a']);
});
