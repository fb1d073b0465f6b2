// Failures as an operator sees them: a failed start without a log, a second signal, a server that does not
// speak MCP, a stop during events, and a deleted state folder.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  eventually,
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { callOnce, json, startServer } from '../../fixtures/clients/raw-session.ts';
import { Terminal } from '../../fixtures/clients/terminal.ts';
import { startGateway, temporaryFolder, writeConfiguration } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const hook = {
  type: 'HTTP',
  config: { path: '/hooks/orders', webhook_secret: SECRET },
  default_agent: 'orders',
};

describe.concurrent('the operator output', () => {
  test.each(['fatal', 'silent'])('explains a failed start, also at log_level %s', async (log_level) => {
    const blocked = await startGateway({});
    const settings = { listen_addr: `127.0.0.1:${blocked.port}`, log_level };
    const config = writeConfiguration(temporaryFolder(), { settings });
    const { code, stdout, stderr } = await runMain(['--config', config]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^the gateway could not start: the address 127\.0\.0\.1:\d+ is in use by process \d+/,
    );
  });

  test.each([
    ['spec.server', (port: number) => `{ spec: { server: { port: ${port} } } }`],
    ['http_port', (port: number) => `{ http_port: ${port} }`],
  ])('names the setting for another port if the address is in use, %s', async (setting, fileFor) => {
    const blocked = await startGateway({});
    const config = join(temporaryFolder(), 'gateway.yaml');
    writeFileSync(config, fileFor(blocked.port));
    const { code, stdout } = await runMain(['--config', config]);
    expect([code, stdout.trimEnd()]).toEqual([1, expect.stringContaining(`or choose another ${setting}"`)]);
  });

  test('reports that a second signal has stopped everything immediately', async () => {
    const gateway = await startGateway({
      servers: { echo: fault('echo') },
      settings: { shutdown_seconds: 30 },
    });
    await startServer(gateway.url, 'echo');
    const cut = callOnce(gateway.url, 'echo', 'hang').catch(() => 'cut off');
    await eventually(async () => {
      const { body } = await json<{ requests: { in_flight: number } }>(`${gateway.url}/stats`);
      expect(body.requests.in_flight).toBe(1);
    });
    void gateway.stop();
    await eventually(() => expect(gateway.text()).toContain('"msg":"stopping"'));
    // A second signal within this time is ignored, because a terminal sends one to npm and another to the
    // program.
    await sleep(600);
    expect(await gateway.stop()).toBe(1);
    expect(gateway.logs()).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: 'second signal: exiting without a graceful shutdown' }),
    );
    await cut;
  });

  test('reports a server that writes invalid messages', async () => {
    const args = ['-c', 'while echo "GET / HTTP/1.1"; do sleep 0.05; done'];
    const { url } = await startGateway({
      servers: { web: { command: 'sh', args, start_timeout_seconds: 1 } },
    });
    const { status, body } = await json(`${url}/servers/web/start`, 'POST');
    expect(status).toBe(504);
    expect(body.message).toMatch(
      /did not complete initialize within 1 s; it wrote [1-9]\d* lines? to stdout that (are not MCP messages|is not an MCP message); check that it is an MCP server$/,
    );
  });

  test('has no colours with NO_COLOR, also in a terminal', async () => {
    const config = writeConfiguration(temporaryFolder(), {});
    const coloured = new Terminal(['--config', config]);
    await eventually(() => expect(coloured.text).toContain('gateway is ready'));
    const plain = new Terminal(['--config', writeConfiguration(temporaryFolder(), {})], {
      env: { NO_COLOR: '1' },
    });
    await eventually(() => expect(plain.text).toContain('gateway is ready'));
    expect(coloured.text).toContain('␛[');
    expect(plain.text).not.toContain('␛[');
    for (const terminal of [coloured, plain]) {
      terminal.type('\u0003');
      await eventually(() => expect(terminal.text).toContain('ENDED 0'));
    }
  });
});

describe.concurrent('events', () => {
  test('in progress get the documented time to finish at a stop', async () => {
    // The stop may take 8 s, with 2.5 s reserved for servers and 1 s for the store. The agent takes 3.5 s.
    let isRequested = false;
    const program = await startAgent(async () => {
      isRequested = true;
      await sleep(3_500);
      return { text: 'just in time' };
    });
    const resources = [trigger('orders', hook), httpAgent('orders', program.url)];
    const gateway = await startAutomation({
      resources,
      settings: { shutdown_seconds: 8, log_level: 'debug' },
    });
    expect((await postHook(gateway.url, '/hooks/orders', { n: 1 })).status).toBe(202);
    await eventually(() => expect(isRequested).toBe(true));
    expect(await gateway.stop()).toBe(0);
    expect(gateway.logs()).toContainEqual(
      expect.objectContaining({ msg: 'delivery ended', outcome: 'done' }),
    );
  });

  test('are refused after the state folder was deleted, with a log line', async () => {
    const program = await startAgent(async () => ({ text: 'fine' }));
    const resources = [trigger('orders', hook), httpAgent('orders', program.url)];
    const gateway = await startAutomation({ resources });
    expect((await postHook(gateway.url, '/hooks/orders', { n: 1 })).status).toBe(202);
    rmSync(join(gateway.folder, '.gateway'), { recursive: true });
    const refusal = await postHook(gateway.url, '/hooks/orders', { n: 2 });
    expect(refusal.status).toBe(503);
    await eventually(() =>
      expect(gateway.text()).toMatch(/store\.sqlite was removed or replaced while it was open; restore it/),
    );
    expect(await gateway.stop()).toBe(0);
  });
});
