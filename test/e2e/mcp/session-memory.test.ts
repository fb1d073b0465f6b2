// Memory of all sessions together: client info, and events stored for resumable streams. The heap would be
// too small if there were no limits.

import { expect, test } from 'vitest';
import {
  apiServer,
  ask,
  initialize,
  introduction,
  message,
  post,
  postStream,
} from '../../fixtures/clients/api-client.ts';
import { MIB, residentBytes, runConcurrently } from '../../fixtures/clients/crowd.ts';
import { listenAsk, modern, modernStream } from '../../fixtures/clients/modern-client.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';

/** 60 KB of text, which is a megabyte in parsed form. */
const deep = { experimental: Array.from({ length: 20_000 }, () => []) };

const NO_ROOM = /the client description of \d+ bytes exceeds the budget/;

test('clients with large client info are rejected above a total size, and accepted sessions continue', async () => {
  const { url } = await startGateway({
    servers: { api: apiServer() },
    env: { NODE_OPTIONS: '--max-old-space-size=160' },
  });
  const early = await initialize(`${url}/mcp`);
  const request = message('initialize', { ...introduction('2025-11-25'), capabilities: deep });
  const sessions: string[] = [];
  const refusals: Awaited<ReturnType<typeof post>>[] = [];
  await runConcurrently(400, 4, async () => {
    const answer = await post(`${url}/mcp`, request);
    if (answer.json.error === undefined) sessions.push(String(answer.headers['mcp-session-id']));
    else refusals.push(answer);
  });
  expect(sessions.length).toBeGreaterThan(200);
  expect(sessions.length).toBeLessThan(300);
  for (const { status, headers, json } of refusals) {
    expect([status, headers['retry-after']]).toEqual([200, '1']);
    expect(json.error.message).toMatch(NO_ROOM);
  }
  // Both eras share a budget.
  const listening = await modern(`${url}/mcp`, {
    ...listenAsk({ toolsListChanged: true }),
    meta: { clientCapabilities: deep },
  });
  expect([listening.status, listening.error?.message]).toEqual([200, expect.stringMatching(NO_ROOM)]);
  const small = modernStream(`${url}/mcp`, listenAsk({ toolsListChanged: true }));
  await small.opened();
  small.drop();
  await initialize(`${url}/mcp`);
  expect((await post(`${url}/mcp`, message('tools/list'), early)).json.error).toBeUndefined();
  // Closing a session makes its memory available to others.
  await ask(`${url}/mcp`, { method: 'DELETE', headers: { 'mcp-session-id': sessions[0] ?? '' } });
  expect((await post(`${url}/mcp`, request)).json.error).toBeUndefined();
});

test('the memory of events stored for closed streams has a total limit over all sessions', async () => {
  const { url, pid } = await startGateway({ servers: { api: apiServer() } });
  const address = `${url}/mcp/api`;
  const call = message('tools/call', {
    name: 'talk',
    arguments: { before: 1, bytes: 900_000 },
    _meta: { progressToken: 't' },
  });
  const stream = async () => {
    const reader = postStream(address, call, await initialize(address));
    await reader.ended();
    expect(reader.messages).toHaveLength(2);
  };
  // The first sessions create permanent objects.
  await runConcurrently(20, 2, stream);
  const before = residentBytes(pid);
  await runConcurrently(180, 2, stream);
  expect((residentBytes(pid) - before) / MIB).toBeLessThan(100);
});
