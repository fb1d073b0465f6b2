// What leaves the process after it has stood still: nothing, where what it is sent under is over by then.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HttpAgent } from '../../../../actors/agents/handlers/http-agent.ts';
import { fetchFor } from '../../../../actors/agents/models/provider-models.ts';
import { HttpApi } from '../../../../libs/rest/http-api.ts';
import { endWhatIsOver, onLook } from '../../../../libs/rest/standstill.ts';
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

/** What is held until the look of that number: the process has stood still before it. */
function heldUntilLook(number: number) {
  const controller = new AbortController();
  let looks = 0;
  const end = onLook(() => {
    looks += 1;
    if (looks === number) controller.abort(new Error('it is over'));
  });
  return { signal: controller.signal, end, looks: () => looks };
}

const ways: Readonly<Record<string, (signal: AbortSignal) => Promise<unknown>>> = {
  'a platform': (signal) =>
    new HttpApi({ baseUrl: url }).request({ method: 'POST', path: '/x', json: { a: 1 }, signal }),
  'an agent behind a URL': (signal) =>
    new HttpAgent({ url, headers: {}, timeoutMs: 5_000 }).run(aJob(), { signal, progress: () => {} }),
  'a model': (signal) => fetchFor(1)(url, { method: 'POST', body: '{}', signal }),
};

for (const [what, ask] of Object.entries(ways)) {
  test(`a request to ${what} does not leave when a look ends what it is made under (STL1)`, async () => {
    const held = heldUntilLook(1);
    await expect(ask(held.signal)).rejects.toThrow();
    expect(requests).toBe(0);
    held.end();
    await ask(new AbortController().signal);
    expect(requests).toBe(1);
  });

  test(`nor when that is found out once its connection to ${what} is there (STL2)`, async () => {
    const held = heldUntilLook(2);
    await expect(ask(held.signal)).rejects.toThrow();
    expect([requests, held.looks()]).toEqual([0, 2]);
    held.end();
  });

  test(`nor over a connection to ${what} that was kept (STL2)`, async () => {
    await ask(new AbortController().signal);
    const held = heldUntilLook(2);
    await expect(ask(held.signal)).rejects.toThrow();
    expect([requests, held.looks()]).toEqual([1, 2]);
    held.end();
  });
}

test('whoever does not look any more is not asked', () => {
  const held = heldUntilLook(1);
  held.end();
  endWhatIsOver();
  expect([held.signal.aborted, held.looks()]).toEqual([false, 0]);
});
