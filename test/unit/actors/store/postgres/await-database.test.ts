// Waiting for a database that is unavailable when the gateway starts.

import { expect, test, vi } from 'vitest';
import { StoreFullError, StoreUnavailableError } from '../../../../../actors/base/errors/errors.ts';
import { awaitDatabase } from '../../../../../actors/store/postgres/await-database.ts';
import { faultOf } from '../../../../../actors/store/postgres/faults.ts';

const faultWithCode = (code: string) => faultOf(Object.assign(new Error('secret'), { code }));
const times = { waitMs: 300, tryEveryMs: 10, logEveryMs: 100 };

test('awaitDatabase retries until the database is available, for any cause, with occasional log lines', async () => {
  const warn = vi.fn();
  const errors = ['ECONNREFUSED', 'ENOTFOUND', '57P03', '53300', '08006', '25006'].map(faultWithCode);
  const open = vi.fn(async () => {
    const error = errors.shift() ?? (open.mock.calls.length < 12 ? new StoreFullError('full') : undefined);
    if (error !== undefined) throw error;
    return 'open';
  });
  expect(await awaitDatabase(open, { log: { warn }, isStopping: () => false, ...times })).toBe('open');
  expect(open).toHaveBeenCalledTimes(12);
  expect(warn.mock.calls[0]).toEqual([
    { reason: 'the database refuses connections; start it, or correct store.postgres.url (ECONNREFUSED)' },
    'could not reach the database; retrying',
  ]);
  expect(warn.mock.calls.length).toBeLessThan(4);
});

test('awaitDatabase ends the wait after its maximum time, and when the gateway stops', async () => {
  const warn = vi.fn();
  const error = faultWithCode('ECONNREFUSED');
  const open = vi.fn(() => Promise.reject(error));
  const begunAt = performance.now();
  const waiting = awaitDatabase(open, { log: { warn }, isStopping: () => false, ...times });
  await expect(waiting).rejects.toBe(error);
  expect(performance.now() - begunAt).toBeGreaterThanOrEqual(300);
  expect(warn.mock.calls.length).toBeGreaterThan(1);

  open.mockClear();
  const stopped = awaitDatabase(open, {
    log: { warn },
    isStopping: () => open.mock.calls.length > 1,
    ...times,
  });
  await expect(stopped).rejects.toBe(error);
  expect(open).toHaveBeenCalledTimes(2);
});

test.each([
  faultWithCode('28P01'),
  faultWithCode('3D000'),
  faultWithCode('42501'),
  new StoreUnavailableError('the database was migrated by a newer version'),
  new Error('a bug'),
])('awaitDatabase ends the wait immediately for an error that no retry solves: %s', async (error) => {
  const open = vi.fn(() => Promise.reject(error));
  const waiting = awaitDatabase(open, { log: { warn: vi.fn() }, isStopping: () => false, ...times });
  await expect(waiting).rejects.toBe(error);
  expect(open).toHaveBeenCalledTimes(1);
});
