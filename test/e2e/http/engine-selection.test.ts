// Selection of the HTTP engine: uWebSockets.js if its addon loads, otherwise or on demand node:http.

import { describe, expect, test } from 'vitest';
import { type LogLine, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { hasAddon, httpEngines } from '../../fixtures/gateway/http-engines.ts';

const ready = (logs: { msg: string; [field: string]: unknown }[]) =>
  logs.find(({ msg }) => msg === 'gateway is ready');
const fallback = (logs: LogLine[]) => logs.filter(({ alarm }) => alarm === 'fallback_listener');

describe('the HTTP engine', () => {
  test('can be uWebSockets.js on Node 20 and 22, which have a prebuilt addon; tests of engines run with both', () => {
    const [major] = process.versions.node.split('.');
    if (major === '20' || major === '22') expect(httpEngines).toEqual(['uws', 'node']);
    else expect(httpEngines).toContain('node');
  });

  test('is uWebSockets.js if the addon loads, otherwise node:http with one log line', async () => {
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
