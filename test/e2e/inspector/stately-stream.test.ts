// Event stream for other tools: messages for viewers of @statelyai/inspect, free of private data.

import { get, type IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

interface StreamMessage {
  readonly type: string;
  readonly sessionId: string;
  readonly rootId: string;
  readonly _version: string;
  readonly name?: string;
  readonly parentId?: string;
  readonly definition?: string;
  readonly event?: Record<string, unknown>;
  readonly snapshot?: { readonly status: string; readonly value: unknown };
}

const secret = 'sesame-0123456789';
const servers = { one: { ...fault('echo'), env: { TOKEN: secret } } };

test('the stream for @statelyai/inspect is not available unless it is enabled', async () => {
  const gateway = await startGateway({ servers });
  expect((await fetch(`${gateway.url}/inspector/stately`)).status).toBe(404);
});

test('the stream for @statelyai/inspect has all actors, events and states, without contexts and payloads', async () => {
  const gateway = await startGateway({ servers, settings: { inspector: { stately: true } } });
  const response = await new Promise<IncomingMessage>((done, failed) => {
    get(`${gateway.url}/inspector/stately`, done).on('error', failed);
  });
  expect(response.headers['content-type']).toBe('text/event-stream');
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const messagesOf = () =>
    text
      .split('\n\n')
      .flatMap((event): StreamMessage[] => (event.startsWith('data: ') ? [JSON.parse(event.slice(6))] : []));
  await expect.poll(() => messagesOf().map(({ name }) => name)).toContain('one#1');
  const actors = messagesOf();
  const root = actors[0];
  expect(root).toMatchObject({ type: '@xstate.actor', name: expect.any(String), _version: '0.7.2' });
  expect(actors.every(({ rootId }) => rootId === root?.sessionId)).toBe(true);
  const server = actors.find(({ name }) => name === 'one#1');
  expect(server?.snapshot).toEqual({ status: 'active', value: 'stopped' });
  expect(JSON.parse(server?.definition ?? '')).toMatchObject({ id: 'server', initial: 'stopped' });

  expect((await fetch(`${gateway.url}/servers/one/start`, { method: 'POST' })).status).toBe(200);
  const states = () =>
    messagesOf().flatMap(({ type, sessionId, snapshot }) =>
      type === '@xstate.snapshot' && sessionId === server?.sessionId ? [snapshot?.value] : [],
    );
  await expect.poll(states).toEqual(expect.arrayContaining(['starting', 'running']));
  for (const { event, snapshot } of messagesOf()) {
    expect(Object.keys(event ?? { type: 1 })).toEqual(['type']);
    expect(Object.keys(snapshot ?? {}).every((key) => key === 'status' || key === 'value')).toBe(true);
  }
  expect(text).not.toContain(secret);
  const end = new Promise((done) => response.on('close', done));
  expect(await gateway.stop()).toBe(0);
  await end;
});
