// What the terminal shows of one server.

import { afterEach, expect, test } from 'vitest';
import { plain } from '../../../../src/cli/views/paint.ts';
import { serverPage } from '../../../../src/cli/views/server-views.ts';
import { serverDetails } from '../../../../src/http/api/records.ts';
import { FakeManaged, settle } from '../../../fixtures/server/fake-server.ts';

let managed: FakeManaged;
afterEach(() => managed.end());

const entry = (name: string) =>
  serverPage(
    serverDetails(managed.server, (text) => text),
    undefined,
    plain,
  ).find((line) => line.startsWith(name));

test('of a server that never ran it is not known how many tools it has', () => {
  managed = new FakeManaged({}, { isManual: true });
  expect(entry('tools')).toMatch(/^tools +not known yet$/);
});

test('a server that has failed is shown with its next try: its time, and once that has come, the next request', async () => {
  managed = new FakeManaged({}, { isManual: true });
  const { server } = managed;
  const nextTry = () => entry('next try');
  managed.call(undefined, '1', 'a');
  await settle();
  expect(nextTry()).toBeUndefined();
  managed.link.die();
  await settle();
  server.nextRetryAt = Date.now() + 600_000;
  expect(nextTry()).toMatch(/^next try +\d{4}-.*Z, in (?:10m 00|9m 5\d)s$/);
  server.nextRetryAt = Date.now() - 1;
  expect(nextTry()).toMatch(/^next try +with the next request$/);
});
