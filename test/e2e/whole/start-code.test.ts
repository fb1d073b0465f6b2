// Code that a gateway with nothing but tool servers loads at the start: it costs time and memory for all
// users. Counted in bytes and files as reported by the engine, not by the clock.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { agent, httpAgent, SECRET, startAutomation, trigger } from '../../fixtures/automation/automation.ts';
import {
  type GatewayProcess,
  type GatewaySetup,
  startGateway,
  temporaryFolder,
} from '../../fixtures/gateway/gateway-process.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const root = resolve(import.meta.dirname, '../../..');
/**
 * About 1,890,000: 260,000 more than version 0.1.0, most of it for installations, sessions, extensions,
 * alarms, recent calls, shares of limits, roles and the calls of the audit.
 */
const MAX_BYTES = 1_900_000;

/** Code for triggers. Only `auth.jwt` needs the code for tokens otherwise. */
const OF_TRIGGERS =
  /^(?:libs\/rest|actors\/(?:agents|automation|events|identity\/jwt|platforms)|config\/resources\/platforms|node_modules\/(?:@ai-sdk|ai|croner|jose|node-schedule))\/|^config\/resources\/trigger|^machines\/(?:agent-run|trigger|connection|conversation)|^src\/(?:automate|http\/(?:triggers-front|webhook-endpoint|api\/(?:automation|approval-|delivery-|run-|target-|trigger-records)))|^actors\/store\/(?:open-store|sqlite)/;
/**
 * Small parts: token detection, the clock check before a call; redirects, Retry-After, cookies and proxies of
 * remote servers.
 */
const ALLOWED = new Set([
  'actors/identity/jwt/bearer-token.ts',
  'libs/rest/forward-proxy.ts',
  'libs/rest/host.ts',
  'libs/rest/http-date.ts',
  'libs/rest/process-suspension.ts',
  'libs/rest/proxy.ts',
  'libs/rest/proxy-connection-error.ts',
  'libs/rest/redirect.ts',
  'libs/rest/request-fault.ts',
  'libs/rest/retry-after.ts',
]);

/** Code of access keys, for gateways that have some. */
const OF_KEYS = /^actors\/identity\/access-keys\/(?:access-keys|open-streams)|^src\/http\/api\/key-routes/;

/** Code for agents with a model. */
const OF_MODELS =
  /^(?:actors\/agents\/models|node_modules\/(?:ai|@ai-sdk))\/|^actors\/agents\/model-agent\/(?:model-agent|agent-run)|^machines\/agent-run\/plan/;

let loaded: readonly string[];
let loadedWithTriggers: readonly string[];
let loadedWithModel: readonly string[];

beforeAll(async () => {
  [loaded, loadedWithTriggers, loadedWithModel] = await Promise.all([
    loadedBy((setup) => startGateway({ ...setup, servers: { echo: fault('echo') } })),
    loadedBy((setup) => {
      const config = { path: '/hooks/orders', webhook_secret: SECRET };
      const orders = trigger('orders', { type: 'HTTP', config, default_agent: 'clerk' });
      return startAutomation({ ...setup, resources: [orders, httpAgent('clerk', 'http://127.0.0.1:9/')] });
    }),
    loadedBy((setup) =>
      startAutomation({
        ...setup,
        env: { ...setup.env, ANTHROPIC_API_KEY: 'a-key' },
        resources: [agent('writer', { model: 'anthropic:any' })],
      }),
    ),
  ]);
});

async function loadedBy(start: (setup: GatewaySetup) => Promise<GatewayProcess>): Promise<readonly string[]> {
  const folder = temporaryFolder();
  // The engine lists the loaded scripts at the exit.
  const gateway = await start({ env: { NODE_V8_COVERAGE: folder, NODE_OPTIONS: '' } });
  expect((await fetch(`${gateway.url}/health`)).status).toBe(200);
  expect((await fetch(`${gateway.url}/stats`)).status).toBe(200);
  await gateway.stop();
  return scriptsIn(folder, gateway.pid);
}

/** Each thread has a separate list. */
function scriptsIn(folder: string, pid: number): string[] {
  const reports = readdirSync(folder).filter((name) => name.startsWith(`coverage-${pid}-`));
  if (reports.length === 0) throw new Error('the gateway left no list of its scripts');
  const scripts = reports.flatMap((report) => {
    const { result } = JSON.parse(readFileSync(join(folder, report), 'utf8')) as {
      readonly result: readonly { readonly url: string }[];
    };
    return result.flatMap(({ url }) => (url.startsWith('file:') ? [fileURLToPath(url)] : []));
  });
  return [...new Set(scripts)];
}

function sourcesOf(script: string): string[] {
  const { sources } = JSON.parse(readFileSync(`${script}.map`, 'utf8')) as {
    readonly sources: readonly string[];
  };
  return sources.map((source) => resolve(dirname(script), source).slice(root.length + 1));
}

/** Sources of built scripts. An unbundled package counts as a source. */
const sourcesIn = (scripts: readonly string[]) =>
  scripts
    .filter((script) => script.startsWith(root) && script.endsWith('.js'))
    .flatMap((script) => (existsSync(`${script}.map`) ? sourcesOf(script) : [script.slice(root.length + 1)]));

it('a gateway with tool servers alone loads no code of triggers', () => {
  const sources = sourcesIn(loaded);
  expect(sources).toContain('src/main.ts');
  expect(sources.filter((source) => OF_TRIGGERS.test(source) && !ALLOWED.has(source))).toEqual([]);
});

it('a gateway without access keys loads none of their code, except for their form', () => {
  const sources = [...sourcesIn(loaded), ...sourcesIn(loadedWithTriggers)];
  expect(sources).toContain('actors/identity/access-keys/key-text.ts');
  expect(sources.filter((source) => OF_KEYS.test(source))).toEqual([]);
});

it('a gateway without an audit loads no code of it', () => {
  const ofAudit = /^(?:actors\/audit|src\/http\/(?:request-audit|api\/audit-filter)|src\/cli\/audit)/;
  expect(sourcesIn(loaded).filter((source) => ofAudit.test(source))).toEqual([]);
});

it('a gateway with triggers and no agent with a model loads no code of models', () => {
  const sources = sourcesIn(loadedWithTriggers);
  expect(sources).toContain('actors/automation/target-registry.ts');
  expect(sources.filter((source) => OF_MODELS.test(source))).toEqual([]);
});

it('a gateway with a model agent loads its code and the client of its provider at the start', () => {
  const sources = sourcesIn(loadedWithModel);
  expect(sources).toContain('actors/agents/model-agent/model-agent.ts');
  expect(sources).toContain('actors/agents/models/send-request.ts');
  expect(sources.some((source) => source.startsWith('node_modules/@ai-sdk/anthropic/'))).toBe(true);
  expect(sources.some((source) => source.startsWith('node_modules/@ai-sdk/google/'))).toBe(false);
});

it('the code that a gateway with tool servers alone loads is below a maximum size', () => {
  const bytes = loaded
    .filter((script) => script.includes('/dist/'))
    .map((script) => readFileSync(script).length);
  expect(bytes.length).toBeGreaterThan(0);
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(MAX_BYTES);
});
