// The operator token as a command's key: used for the state folder's gateway, and not for other addresses.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openOperatorToken } from '../../../../actors/state/operator-token.ts';
import { acquireStateLock, type StateLock } from '../../../../actors/state/state-lock.ts';
import { findOperatorKey } from '../../../../src/cli/api/operator-key.ts';

let folder = '';
let lock: StateLock;
const found = (url: string) => findOperatorKey(new URL(url), folder)?.value;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'actor-gateway-key-'));
  lock = await acquireStateLock(folder, { listenAddr: '127.0.0.1:4711' });
});
afterEach(async () => {
  await lock.release();
  rmSync(folder, { recursive: true, force: true });
});

test('it is sent to the recorded address of the living gateway alone', () => {
  const { token } = openOperatorToken(folder);
  expect(found('http://127.0.0.1:4711/')).toBe(token);
  for (const other of [
    'http://127.0.0.1:4712/',
    'http://[::1]:4711/',
    'http://localhost:4711/',
    'http://127.0.0.2:4711/',
    'http://example.com:4711/',
    'http://127.0.0.1.example.com:4711/',
    'https://127.0.0.1:4711/',
  ])
    expect([other, found(other)]).toEqual([other, undefined]);
});

test('a listener on every address is reached on loopback, and no other is', () => {
  const { token } = openOperatorToken(folder);
  lock.recordAddress('0.0.0.0:4711');
  expect(found('http://127.0.0.1:4711/')).toBe(token);
  lock.recordAddress('192.0.2.1:4711');
  expect([found('http://192.0.2.1:4711/'), found('http://127.0.0.1:4711/')]).toEqual([undefined, undefined]);
});

test('without a gateway, or without a token, there is none', async () => {
  expect(found('http://127.0.0.1:4711/')).toBeUndefined();
  openOperatorToken(folder);
  await lock.release();
  expect(found('http://127.0.0.1:4711/')).toBeUndefined();
});
