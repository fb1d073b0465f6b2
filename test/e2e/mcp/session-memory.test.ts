// What sessions keep, bounded over all of them: what clients say of themselves, and what is kept for those that may come back
// to a stream. On a heap that would not bear it otherwise.

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
import { crowd, MIB, residentBytes } from '../../fixtures/clients/crowd.ts';
import { listenAsk, modern, modernStream } from '../../fixtures/clients/modern-client.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';

/** 60 KB of text, and a megabyte once it is parsed. */
const deep = { experimental: Array.from({ length: 20_000 }, () => []) };

const NO_ROOM = /no room for a client that says \d+ bytes of itself/;

test('clients that say much of themselves are refused once there are many, and the others go on', async () => {
  const { url } = await startGateway({
    servers: { api: apiServer() },
    env: { NODE_OPTIONS: '--max-old-space-size=160' },
  });
  const early = await initialize(`${url}/mcp`);
  const asked = message('initialize', { ...introduction('2025-11-25'), capabilities: deep });
  const sessions: string[] = [];
  const refusals: Awaited<ReturnType<typeof post>>[] = [];
  await crowd(400, 4, async () => {
    const answer = await post(`${url}/mcp`, asked);
    if (answer.json.error === undefined) sessions.push(String(answer.headers['mcp-session-id']));
    else refusals.push(answer);
  });
  expect(sessions.length).toBeGreaterThan(200);
  expect(sessions.length).toBeLessThan(300);
  for (const { status, headers, json } of refusals) {
    expect([status, headers['retry-after']]).toEqual([200, '1']);
    expect(json.error.message).toMatch(NO_ROOM);
  }
  // It is one budget for both eras.
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
  // What one had is there for another once it has left.
  await ask(`${url}/mcp`, { method: 'DELETE', headers: { 'mcp-session-id': sessions[0] ?? '' } });
  expect((await post(`${url}/mcp`, asked)).json.error).toBeUndefined();
});

test('what is kept of streams that have ended is bounded over all sessions', async () => {
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
  // The first ones make what is there for good.
  await crowd(20, 2, stream);
  const before = residentBytes(pid);
  await crowd(180, 2, stream);
  expect((residentBytes(pid) - before) / MIB).toBeLessThan(100);
});
