// A person may answer a question of a server (elicitation, sampling, roots) after the call's own time limit:
// the limit pauses, in both eras and over all transports. Afterwards it applies again.

import { setTimeout as sleep } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bothErasOverHttp, bothErasOverStdio } from '../../fixtures/both-eras/start.ts';
import { errorOf, eventually, McpClient } from '../../fixtures/clients/mcp-client.ts';
import {
  everythingOverHttp,
  everythingOverSse,
  everythingOverStdio,
} from '../../fixtures/everything/start.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';

const LIMIT_SECONDS = 3;
const ANSWER_MS = LIMIT_SECONDS * 1_000 + 500;

let gateway: GatewayProcess;
const clients: Client[] = [];

beforeAll(async () => {
  const asking = {
    isolation: 'session',
    forward_roots: true,
    request_timeout_seconds: LIMIT_SECONDS,
  };
  const modern = { ...asking, era: 'modern' };
  const puppet = `${import.meta.dirname}/../../fixtures/servers/puppet.mjs`;
  gateway = await startGateway({
    servers: {
      local: { ...everythingOverStdio(), ...asking },
      remote: { url: (await everythingOverHttp()).url, ...asking },
      older: { url: (await everythingOverSse()).url, runtime: 'sse', ...asking },
      'modern-local': { ...bothErasOverStdio({ isModernOnly: true }), ...modern },
      'modern-remote': { url: (await bothErasOverHttp({ isModernOnly: true })).url, ...modern },
      puppet: { command: process.execPath, args: [puppet], ...asking },
    },
  });
});

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
});

const roots = [{ uri: 'file:///late' }];
const sampled = { model: 'm', role: 'assistant', content: { type: 'text', text: 'late' } } as const;
const accepted = { action: 'accept', content: { name: 'late' } } as const;

/** Returns a function that returns the value as late as a person. */
const late =
  <T>(value: T) =>
  async () => {
    await sleep(ANSWER_MS);
    return value;
  };

/** Repeats a call that only waited for the start of its server, which counts towards the limit. */
async function whenStarted<T>(call: () => Promise<T>): Promise<T> {
  return eventually('the start', () =>
    call().catch((error: Error) => {
      if (error.message.includes('while waiting to be sent')) return undefined;
      throw error;
    }),
  ) as Promise<T>;
}

function legacyClient(id: string): Promise<McpClient> {
  const answers = { elicit: late(accepted), sample: late(sampled), roots: late(roots) };
  return whenStarted(() => McpClient.connect(`${gateway.url}/mcp/${id}`, answers));
}

async function modernClient(id: string): Promise<Client> {
  const client = new Client(
    { name: 'modern', version: '1' },
    {
      capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    },
  );
  client.setRequestHandler('elicitation/create', late(accepted));
  client.setRequestHandler('sampling/createMessage', late(sampled));
  client.setRequestHandler('roots/list', late({ roots }));
  clients.push(client);
  await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp/${id}`)));
  return client;
}

const answers = { elicit: accepted, sample: sampled, roots: { roots } };
/** Tool of the legacy server for each kind of question. */
const legacyTools = { elicit: 'elicit', sample: 'sample', roots: 'list-roots' };
const kinds = ['elicit', 'sample', 'roots'] as const;

describe('an answer to a server question that arrives after request_timeout_seconds of the call', () => {
  test.concurrent.each(['local', 'remote', 'older'])(
    'reaches a legacy server (%s) of a legacy client',
    async (id) => {
      const client = await legacyClient(id);
      await Promise.all(
        kinds.map(async (kind) => {
          const answer = await whenStarted(() => client.call(legacyTools[kind]));
          expect(answer).toEqual({ answer: answers[kind] });
        }),
      );
    },
  );

  test.concurrent.each(['modern-local', 'modern-remote'])(
    'reaches a modern server (%s) of a legacy client',
    async (id) => {
      const client = await legacyClient(id);
      await Promise.all(
        kinds.map(async (kind) => {
          const answer = await whenStarted(() => client.call('ask', { kind }));
          expect(answer).toMatchObject({ answer: answers[kind] });
        }),
      );
    },
  );

  test.concurrent.each([
    ['local', 'elicit', {}],
    ['remote', 'sample', {}],
    ['modern-local', 'ask', { kind: 'roots' }],
    ['modern-remote', 'ask', { kind: 'elicit' }],
  ] as const)('reaches a server (%s, %s) of a modern client', async (id, name, args) => {
    const client = await modernClient(id);
    const result = await whenStarted(() => client.callTool({ name, arguments: { ...args } }));
    expect(JSON.stringify(result.content)).toContain('late');
  });
});

test.concurrent('a call times out after request_timeout_seconds if its server is silent after its elicitation was answered', async () => {
  const client = await legacyClient('puppet');
  let startedAt = 0;
  const requestedSchema = { type: 'object', properties: {} };
  const ask = { ask: 'elicitation/create', params: { message: '?', requestedSchema } };
  const steps = [ask, { ms: 60_000 }];
  const call = () => {
    startedAt = performance.now();
    return client.call('do', { steps });
  };
  const error = await errorOf(whenStarted(call));
  expect(error.message).toContain('without a response');
  const elapsedMs = performance.now() - startedAt;
  expect(elapsedMs).toBeGreaterThan(ANSWER_MS + LIMIT_SECONDS * 1_000 - 100);
  expect(elapsedMs).toBeLessThan(ANSWER_MS + LIMIT_SECONDS * 1_000 + 10_000);
});
