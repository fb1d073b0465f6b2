// Which HTTP filling serves: uWebSockets.js where its addon loads, node:http everywhere else and on demand.

import { describe, expect, test } from 'vitest';
import { fillings, hasAddon } from '../../fixtures/gateway/fillings.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';

const ready = (logs: { msg: string; [field: string]: unknown }[]) =>
  logs.find(({ msg }) => msg === 'gateway is ready');
const fallback = (logs: { msg: string }[]) => logs.filter(({ msg }) => msg.startsWith('node:http serves'));

describe('the HTTP filling', () => {
  test('has its addon on the Node versions it is prebuilt for, so that both fillings are tested there', () => {
    const [major] = process.versions.node.split('.');
    if (major === '20' || major === '22') expect(fillings).toEqual(['uws', 'node']);
    else expect(fillings).toContain('node');
  });

  test('is uWebSockets.js where the addon loads, and else node:http, which one log line says', async () => {
    const gateway = await startGateway({ http: 'uws' });
    expect((await fetch(`${gateway.url}/health`)).status).toBe(200);
    expect(ready(gateway.logs())?.http).toBe(hasAddon ? 'uWebSockets.js' : 'node:http');
    expect(fallback(gateway.logs())).toHaveLength(hasAddon ? 0 : 1);
    expect(await gateway.stop()).toBe(0);
  });

  test('is node:http on demand, without a warning', async () => {
    const gateway = await startGateway({ http: 'node' });
    expect((await fetch(`${gateway.url}/health`)).status).toBe(200);
    expect(ready(gateway.logs())?.http).toBe('node:http');
    expect(fallback(gateway.logs())).toEqual([]);
    expect(await gateway.stop()).toBe(0);
  });
});
