// What is shown of a server.

import { afterEach, expect, test } from 'vitest';
import { serverDetails } from '../../../../src/http/api/server-records.ts';
import { FakeManaged } from '../../../fixtures/server/fake-server.ts';

let managed: FakeManaged;
afterEach(() => managed.end());

test('the time of the next try is one that is still to come: once it has, the next request makes the try', () => {
  managed = new FakeManaged();
  const { server } = managed;
  const shown = () => serverDetails(server, (text) => text).next_retry_at;
  expect(shown()).toBeNull();
  server.nextRetryAt = Date.now() + 60_000;
  expect(shown()).toBe(new Date(server.nextRetryAt).toISOString());
  server.nextRetryAt = Date.now() - 1;
  expect(shown()).toBeNull();
});
