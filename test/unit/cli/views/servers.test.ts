// Terminal views of servers and of the gateway's figures.

import { afterEach, expect, test } from 'vitest';
import { serverPage, statsPage } from '../../../../src/cli/views/servers.ts';
import { serverDetails } from '../../../../src/http/api/server-records.ts';
import { plain } from '../../../../src/terminal/paint.ts';
import { FakeManagedServer, settle } from '../../../fixtures/server/fake-server.ts';

let managed: FakeManagedServer;
afterEach(() => managed.end());

const entry = (name: string) =>
  serverPage(
    serverDetails(managed.server, (text) => text),
    undefined,
    plain,
  ).find((line) => line.startsWith(name));

test('the number of tools of a server that never ran is unknown', () => {
  managed = new FakeManagedServer({}, { hasManualInitialize: true });
  expect(entry('tools')).toMatch(/^tools +not known yet$/);
});

test('the next retry of a failed server is shown as a time, or as the next request if that time has passed', async () => {
  managed = new FakeManagedServer({}, { hasManualInitialize: true });
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

test('the statistics page begins with the alarms and their numbers of occurrences', () => {
  const requests = { total: 3, failed: 1, tool_errors: 0, in_flight: 0 };
  const alarm = { severity: 'warning', since: new Date().toISOString(), message: 'a fact' } as const;
  const alarms = [
    { ...alarm, code: 'requests_refused', count: 1 },
    { ...alarm, code: 'clock_changed', count: 2 },
    { ...alarm, code: 'fallback_listener', count: null },
  ] as const;
  const stats = { uptime_seconds: 1, alarms, requests, sessions: 1, listens: 0, servers: {} };
  expect(statsPage(stats, plain).slice(0, 3)).toEqual([
    expect.stringMatching(/^WARNING requests_refused for \d+s, 1 time: a fact$/),
    expect.stringMatching(/^WARNING clock_changed for \d+s, 2 times: a fact$/),
    expect.stringMatching(/^WARNING fallback_listener for \d+s: a fact$/),
  ]);
});

test('the statistics page shows profiles, if there are any, below the figures of the gateway', () => {
  const requests = { total: 3, failed: 1, tool_errors: 0, in_flight: 0 };
  const stats = { uptime_seconds: 1, alarms: [], requests, sessions: 1, listens: 0, servers: {} };
  expect(statsPage(stats, plain)).toHaveLength(5);
  const profiles = { work: { servers: ['a', 'b'], requests, sessions: 1, listens: 0 } };
  expect(statsPage({ ...stats, profiles }, plain).slice(5)).toEqual([
    '',
    'PROFILE  SERVERS  REQUESTS  FAILED  TOOL ERRORS  IN FLIGHT  SESSIONS  LISTENING',
    'work           2         3       1            0          0         1          0',
  ]);
});
