import { afterEach, expect, test } from 'vitest';
import { serverDetails } from '../../../../src/http/api/server-records.ts';
import { FakeManagedServer } from '../../../fixtures/server/fake-server.ts';

let managed: FakeManagedServer;
afterEach(() => managed.end());

test('the next retry of a server is shown only while it is in the future', () => {
  managed = new FakeManagedServer();
  const { server } = managed;
  const nextRetryAt = () => serverDetails(server, (text) => text).next_retry_at;
  expect(nextRetryAt()).toBeNull();
  server.nextRetryAt = Date.now() + 60_000;
  expect(nextRetryAt()).toBe(new Date(server.nextRetryAt).toISOString());
  server.nextRetryAt = Date.now() - 1;
  expect(nextRetryAt()).toBeNull();
});
