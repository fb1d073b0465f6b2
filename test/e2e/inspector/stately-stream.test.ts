// The stream for other tools: the messages that viewers of @statelyai/inspect understand, and nothing private in them.

import { get, type IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

interface Told {
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

test('is not there unless it was asked for', async () => {
  const gateway = await startGateway({ servers });
  expect((await fetch(`${gateway.url}/inspector/stately`)).status).toBe(404);
});

test('tells of every actor, event and state in the form of @statelyai/inspect, without contexts and payloads (SY1)', async () => {
  const gateway = await startGateway({ servers, settings: { inspector: { stately: true } } });
  const response = await new Promise<IncomingMessage>((done, failed) => {
    get(`${gateway.url}/inspector/stately`, done).on('error', failed);
  });
  expect(response.headers['content-type']).toBe('text/event-stream');
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const told = () =>
    text
      .split('\n\n')
      .flatMap((event): Told[] => (event.startsWith('data: ') ? [JSON.parse(event.slice(6))] : []));
  await expect.poll(() => told().map(({ name }) => name)).toContain('one#1');
  const actors = told();
  const root = actors[0];
  expect(root).toMatchObject({ type: '@xstate.actor', name: expect.any(String), _version: '0.7.2' });
  expect(actors.every(({ rootId }) => rootId === root?.sessionId)).toBe(true);
  const one = actors.find(({ name }) => name === 'one#1');
  expect(one?.snapshot).toEqual({ status: 'active', value: 'stopped' });
  expect(JSON.parse(one?.definition ?? '')).toMatchObject({ id: 'server', initial: 'stopped' });

  expect((await fetch(`${gateway.url}/servers/one/start`, { method: 'POST' })).status).toBe(200);
  const states = () =>
    told().flatMap(({ type, sessionId, snapshot }) =>
      type === '@xstate.snapshot' && sessionId === one?.sessionId ? [snapshot?.value] : [],
    );
  await expect.poll(states).toEqual(expect.arrayContaining(['starting', 'running']));
  for (const { event, snapshot } of told()) {
    expect(Object.keys(event ?? { type: 1 })).toEqual(['type']);
    expect(Object.keys(snapshot ?? {}).every((key) => key === 'status' || key === 'value')).toBe(true);
  }
  expect(text).not.toContain(secret);
  const ended = new Promise((done) => response.on('close', done));
  expect(await gateway.stop()).toBe(0);
  await ended;
});
