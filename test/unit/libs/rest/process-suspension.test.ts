// After a process suspension no request is sent with an expired deadline or claim.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HttpAgent } from '../../../../actors/agents/handlers/http-agent.ts';
import { fetchFor } from '../../../../actors/agents/models/provider-models.ts';
import { HttpApi } from '../../../../libs/rest/http-api.ts';
import { abortOverdueWork, onAbortOverdueWork } from '../../../../libs/rest/process-suspension.ts';
import { aJob } from '../../../fixtures/automation/jobs.ts';

let server: Server;
let url: string;
let requests = 0;
beforeEach(async () => {
  requests = 0;
  server = createServer((request, response) => {
    requests += 1;
    request.resume().on('end', () => response.end('{"text":"x"}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Aborts the signal at suspension check `number`, like a suspension before that check. */
function suspendUntilCheck(number: number) {
  const controller = new AbortController();
  let checks = 0;
  const end = onAbortOverdueWork(() => {
    checks += 1;
    if (checks === number) controller.abort(new Error('it is over'));
  });
  return { signal: controller.signal, end, looks: () => checks };
}

const requestForms: Readonly<Record<string, (signal: AbortSignal) => Promise<unknown>>> = {
  'a platform': (signal) =>
    new HttpApi({ baseUrl: url }).request({ method: 'POST', path: '/x', json: { a: 1 }, signal }),
  'an agent behind a URL': (signal) =>
    new HttpAgent({ url, headers: {}, timeoutMs: 5_000 }).run(aJob(), { signal, progress: () => {} }),
  'a model': (signal) => fetchFor(1)(url, { method: 'POST', body: '{}', signal }),
};

for (const [what, ask] of Object.entries(requestForms)) {
  test(`a request to ${what} is not sent if its deadline expired while the process was suspended`, async () => {
    const suspended = suspendUntilCheck(1);
    await expect(ask(suspended.signal)).rejects.toThrow();
    expect(requests).toBe(0);
    suspended.end();
    await ask(new AbortController().signal);
    expect(requests).toBe(1);
  });

  test(`a request to ${what} is not sent if its deadline expired in a suspension while connecting`, async () => {
    const suspended = suspendUntilCheck(2);
    await expect(ask(suspended.signal)).rejects.toThrow();
    expect([requests, suspended.looks()]).toEqual([0, 2]);
    suspended.end();
  });

  test(`a request to ${what} over a reused connection is not sent if its deadline expired in a suspension`, async () => {
    await ask(new AbortController().signal);
    const suspended = suspendUntilCheck(2);
    await expect(ask(suspended.signal)).rejects.toThrow();
    expect([requests, suspended.looks()]).toEqual([1, 2]);
    suspended.end();
  });
}

test('a callback for process suspensions is not called after it is cancelled', () => {
  const suspended = suspendUntilCheck(1);
  suspended.end();
  abortOverdueWork();
  expect([suspended.signal.aborted, suspended.looks()]).toEqual([false, 0]);
});
