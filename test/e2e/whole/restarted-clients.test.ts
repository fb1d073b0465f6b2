// Unmodified clients of agent frameworks continue after `kill -9` and after an upgrade (stop and start) of
// the gateway, without another `initialize`. test/real/setup.mjs installs the large clients once.

import { beforeAll, expect, test } from 'vitest';
import { agentClients } from '../../fixtures/clients/agent-clients.ts';
import { apiServer } from '../../fixtures/clients/api-client.ts';
import { freePort } from '../../fixtures/free-port.ts';
import { startGateway, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { installReal } from '../../real/setup.mjs';

const INSTALL_MS = 300_000;

beforeAll(() => installReal(), INSTALL_MS);

test.concurrent.each(Object.entries(agentClients))(
  'the agent client %s continues its session across kill -9 and an upgrade of the gateway',
  async (_name, connect) => {
    const folder = temporaryFolder();
    const listen_addr = `127.0.0.1:${await freePort()}`;
    const setup = {
      ...{ folder, servers: { api: apiServer(), own: apiServer({ isolation: 'session' }) } },
      settings: { listen_addr, log_level: 'debug' },
    };
    let gateway = await startGateway(setup);
    const client = await connect(`${gateway.url}/mcp`);
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      expect(await client.call('api__echo', { before: signal })).toContain(signal);
      expect(await client.call('own__echo', { before: signal })).toContain(signal);
      await gateway.stop(signal);
      gateway = await startGateway(setup);
      expect(await client.call('own__echo', { after: signal })).toContain(signal);
      expect(await client.call('api__echo', { after: signal })).toContain(signal);
      const initializations = gateway.logs().filter(({ method }) => method === 'initialize');
      expect(initializations).toEqual([]);
    }
    await client.close();
    await gateway.stop();
  },
);
