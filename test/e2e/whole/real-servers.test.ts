// Unmodified reference servers, shared and per session, with configured and detected era: clients of both
// eras get the same results from the gateway as from the server, at /mcp and at the address of the server.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { eventually, McpClient } from '../../fixtures/clients/mcp-client.ts';
import { type Answer, connectReal, type Kind, type RealClient } from '../../fixtures/clients/real-clients.ts';
import {
  expectLogReceived,
  expectQuestionsAnswered,
  expectUpdatesReceived,
  type ServerTour,
  textOf,
  tourOfEverything,
  toursWithoutGateway,
} from '../../fixtures/clients/real-tour.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
} from '../../fixtures/gateway/gateway-process.ts';
import {
  everythingServer,
  filesystemServer,
  guardedFolder,
  memoryServer,
} from '../../fixtures/server/real-servers.ts';
import { installReal } from '../../real/setup.mjs';

const INSTALL_MS = 300_000;

let reference: { session: Answer; shared: Answer };

beforeAll(async () => {
  await installReal();
  reference = await toursWithoutGateway();
}, INSTALL_MS);

const settings = [
  { isolation: 'shared', era: 'legacy' },
  { isolation: 'shared', era: 'auto' },
  { isolation: 'session', era: 'legacy' },
  { isolation: 'session', era: 'auto' },
] as const;

const kinds: Kind[] = ['v1', 'v2 modern'];

const addresses = [
  { place: '/mcp/:id', at: (id: string) => ({ path: `/mcp/${id}`, prefix: '' }) },
  { place: '/mcp', at: (id: string) => ({ path: '/mcp', prefix: `${id}__` }) },
];

describe.each(settings)('with the reference servers, $isolation, era $era,', ({ isolation, era }) => {
  let gateway: GatewayProcess;
  const { folder, file, outside } = guardedFolder();
  const graph = join(temporaryFolder(), 'graph.jsonl');

  beforeAll(async () => {
    const shape = { isolation, era };
    gateway = await startGateway({
      servers: {
        everything: { ...everythingServer, ...shape, forward_roots: isolation === 'session' },
        files: { ...filesystemServer(folder), ...shape },
        memory: { ...memoryServer(graph), ...shape },
      },
    });
  });

  describe.each(kinds)('a client of %s', (kind) => {
    let reader: Promise<RealClient>;

    beforeAll(() => {
      reader = connectReal(kind === 'v1' ? 'v2 modern' : 'v1', { url: `${gateway.url}/mcp/memory` });
    });

    describe.each(addresses)('at $place', ({ at }) => {
      const clients = new Map<string, Promise<RealClient>>();
      const atServer = async (id: string): Promise<ServerTour> => {
        const { path, prefix } = at(id);
        const client = clients.get(path) ?? connectReal(kind, { url: `${gateway.url}${path}` });
        clients.set(path, client);
        return { client: await client, prefix };
      };

      test('a client gets the same results from server-everything as without a gateway', async () => {
        const { client, prefix } = await atServer('everything');
        expect(await tourOfEverything({ client, prefix })).toEqual(reference[isolation]);
        const unknown = await client.call(`${prefix}none`).then(
          (answer) => ({ code: answer.isError === true ? -32602 : undefined }),
          ({ code }) => ({ code }),
        );
        expect(unknown.code).toBe(-32602);
      });

      // Each call by modern clients with capabilities has a separate process, so toggles do not persist.
      if (isolation === 'shared' || kind === 'v1') {
        test('a client gets updates of a resource to which the client has subscribed', async () => {
          await expectUpdatesReceived(await atServer('everything'));
        });
      }

      if (kind === 'v1') {
        test('a client gets the log messages of a server', async () => {
          await expectLogReceived(await atServer('everything'));
        });
      }

      if (isolation === 'session') {
        test('a client can answer elicitation and sampling requests of a server', async () => {
          await expectQuestionsAnswered(await atServer('everything'));
        });
      }

      test('a client reads files in the allowed folders of a filesystem server, whatever its own roots', async () => {
        const { client, prefix } = await atServer('files');
        const { tools } = await client.listTools();
        expect(tools.filter(({ name }) => name.startsWith(prefix)).length).toBeGreaterThanOrEqual(14);
        expect(textOf(await client.call(`${prefix}read_text_file`, { path: file }))).toBe('grüße 🎭\n');
        const allowed = await client.call(`${prefix}list_allowed_directories`);
        expect(textOf(allowed)).toBe(`Allowed directories:\n${folder}`);
        const refusal = await client.call(`${prefix}read_text_file`, { path: outside });
        expect(refusal.isError).toBe(true);
        expect(textOf(refusal)).toContain('Access denied');
      });

      test('a client stores data that a client of the other SDK can read', async () => {
        const { client, prefix } = await atServer('memory');
        const name = `${kind} ${prefix} ${era}`;
        const entity = { name, entityType: 'client', observations: ['wörd', '12345678901234567890'] };
        const creation = await client.call(`${prefix}create_entities`, { entities: [entity] });
        expect(creation.structuredContent).toEqual({ entities: [entity] });
        const { structuredContent } = await (await reader).call('open_nodes', { names: [name] });
        expect(structuredContent).toEqual({ entities: [entity], relations: [] });
        expect(readFileSync(graph, 'utf8')).toContain(name);
      });
    });
  });
});

test('a client can start, watch and cancel tasks of server-everything at /mcp/everything', async () => {
  const gateway = await startGateway({
    servers: { everything: { ...everythingServer, isolation: 'session' } },
  });
  const client = await McpClient.connect(`${gateway.url}/mcp/everything`);
  const call = { name: 'simulate-research-query', arguments: { topic: 'gateways' }, task: { ttl: 60_000 } };
  const { task } = (await client.request('tools/call', call)) as Answer;
  expect(task.status).toBe('working');
  const { taskId } = task;
  await eventually('a later stage', async () => {
    const { statusMessage } = (await client.request('tasks/get', { taskId })) as Answer;
    return statusMessage !== undefined && statusMessage !== task.statusMessage;
  });
  const { tasks } = (await client.request('tasks/list')) as Answer;
  expect(tasks).toMatchObject([{ taskId, status: 'working' }]);
  expect(await client.request('tasks/cancel', { taskId })).toMatchObject({ taskId, status: 'cancelled' });
  await client.leave();
});

describe('a modern client without capabilities', () => {
  test('gets the same results as without a gateway, and receives updates', async () => {
    const gateway = await startGateway({
      servers: { everything: { ...everythingServer, isolation: 'session' } },
    });
    for (const { at } of addresses) {
      const { path, prefix } = at('everything');
      const client = await connectReal('v2 modern', { url: `${gateway.url}${path}` }, false);
      expect(await tourOfEverything({ client, prefix })).toEqual(reference.shared);
      await expectUpdatesReceived({ client, prefix });
      await client.close();
    }
  });
});
