// What a gateway with tool servers alone loads at its start: each kilobyte is read, compiled and kept by everybody. Counted in
// bytes and files as the engine tells them, not by the clock.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { startGateway, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const root = resolve(import.meta.dirname, '../../..');
/** Some 1,360,000 when this was written. */
const MAX_BYTES = 1_400_000;

/** What is of use to triggers only; tokens are taken where `auth.jwt` says so. */
const OF_TRIGGERS =
  /^(?:rest|actors\/(?:automation|connections|handlers|inbox|jwt|outbound|sources)|config\/resources\/types|node_modules\/(?:croner|jose|node-schedule))\/|^config\/resources\/trigger|^machines\/(?:trigger|connection|conversation)|^src\/(?:automate|http\/(?:triggers-front|webhook-endpoint|api\/automation))|^actors\/store\/(?:open-store|sqlite)/;
/** Two lines that tell a token from a key. */
const ALLOWED = new Set(['actors/jwt/bearer-token.ts']);

let loaded: readonly string[];

beforeAll(async () => {
  const folder = temporaryFolder();
  const gateway = await startGateway({
    servers: { echo: fault('echo') },
    // The engine lists its scripts at the end.
    env: { NODE_V8_COVERAGE: folder, NODE_OPTIONS: '' },
  });
  expect((await fetch(`${gateway.url}/health`)).status).toBe(200);
  expect((await fetch(`${gateway.url}/stats`)).status).toBe(200);
  await gateway.stop();
  loaded = scriptsIn(folder, gateway.pid);
});

function scriptsIn(folder: string, pid: number): string[] {
  const [report] = readdirSync(folder).filter((name) => name.startsWith(`coverage-${pid}-`));
  if (report === undefined) throw new Error('the gateway left no list of its scripts');
  const { result } = JSON.parse(readFileSync(join(folder, report), 'utf8')) as {
    readonly result: readonly { readonly url: string }[];
  };
  return result.flatMap(({ url }) => (url.startsWith('file:') ? [fileURLToPath(url)] : []));
}

function sourcesOf(script: string): string[] {
  const { sources } = JSON.parse(readFileSync(`${script}.map`, 'utf8')) as {
    readonly sources: readonly string[];
  };
  return sources.map((source) => resolve(dirname(script), source).slice(root.length + 1));
}

it('a gateway with tool servers alone loads no code of triggers', () => {
  const sources = loaded
    .filter((script) => script.startsWith(root) && script.endsWith('.js'))
    .flatMap(sourcesOf);
  expect(sources).toContain('src/main.ts');
  expect(sources.filter((source) => OF_TRIGGERS.test(source) && !ALLOWED.has(source))).toEqual([]);
});

it('what it loads stays small', () => {
  const bytes = loaded
    .filter((script) => script.includes('/dist/'))
    .map((script) => readFileSync(script).length);
  expect(bytes.length).toBeGreaterThan(0);
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(MAX_BYTES);
});
