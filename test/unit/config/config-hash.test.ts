// The configuration hash of real files: changes that affect it, and changes that do not.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { lastGoodResources } from '../../../actors/automation/reloads/last-good-resources.ts';
import { configHash, resourcesDigest } from '../../../config/config-hash.ts';
import { loadConfig } from '../../../config/load-config.ts';
import { SecretValues } from '../../../config/reader/secret-values.ts';
import { loadGatewayResources } from '../../../config/resources/gateway-resources.ts';
import type { LoadedResources } from '../../../config/resources/load-resources.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

interface Files {
  readonly gateway?: string;
  readonly catalog?: string;
  /** Text by file name. */
  readonly triggers?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

const catalog = 'servers: { files: { command: node, args: [server.js, --token, hunter2], env: { A: b } } }';
const hook = (name: string, more = '') => `
apiVersion: example.com/v1
kind: Trigger
metadata: { name: ${name} }
spec: { type: HTTP, config: { path: /hooks/${name}, webhook_secret: sssh ${more} }, default_agent: desk }
---
apiVersion: example.com/v1
kind: Agent
metadata: { name: ${name}-desk }
spec: { runtime: { http: { url: http://127.0.0.1:1/ } } }
`;
const desk = `{ apiVersion: example.com/v1, kind: Agent, metadata: { name: desk }, spec: { runtime: { http: { url: http://127.0.0.1:1/ } } } }`;

async function loadHash({ gateway = '', triggers = {}, env = {}, ...files }: Files) {
  const folder = mkdtempSync(join(tmpdir(), 'config-hash-'));
  folders.push(folder);
  mkdirSync(join(folder, 'triggers'));
  const gatewayText = `listen_addr: 127.0.0.1:0\ncatalog_path: ./catalog.yaml\nspec: { triggers: { directory: ./triggers } }\n${gateway}`;
  writeFileSync(join(folder, 'gateway.yaml'), gatewayText);
  writeFileSync(join(folder, 'catalog.yaml'), files.catalog ?? catalog);
  const all = { 'desk.yaml': desk, ...triggers };
  for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, 'triggers', name), text);
  const loaded = await loadConfig(join(folder, 'gateway.yaml'), env);
  const resources = await loadGatewayResources(loaded.config, env, new SecretValues(), ['files']);
  return { folder, loaded, resources, env };
}

async function hashOf(files: Files): Promise<string> {
  const { loaded, resources } = await loadHash(files);
  expect(resources.problems.filter(({ severity }) => severity === 'error')).toEqual([]);
  return configHash({ ...loaded.digests, resources: resourcesDigest(resources.digests) });
}

const triggers = { 'a.yaml': hook('a'), 'b.yaml': hook('b') };

test('cluster node settings, key order and file names do not change the configuration hash', async () => {
  const hash = await hashOf({ gateway: 'limits: { sessions: 5, in_flight: 9 }', triggers });
  expect(hash).toMatch(/^[0-9a-f]{12}$/);
  const own = `node: { name: other }\nlog_level: debug\nstate_dir: ./elsewhere\nallowed_hosts: [b.example]\n`;
  const same: Files[] = [
    { gateway: `${own}limits: { in_flight: 9, sessions: 5 } # of this machine`, triggers },
    { gateway: 'limits: { sessions: 5, in_flight: 9 }\nstore: {}', triggers },
    {
      gateway: 'limits: { sessions: 5, in_flight: 9 }',
      triggers: { 'both.yaml': `${hook('b')}---\n${hook('a')}` },
      catalog:
        'servers:\n  files:\n    env: { A: b }\n    args: [server.js, --token, hunter2]\n    command: node\n',
    },
  ];
  for (const files of same) expect(await hashOf(files)).toBe(hash);
});

test('any setting for the whole cluster changes the configuration hash', async () => {
  const differing: Files[] = [
    {},
    { gateway: 'limits: { sessions: 5 }' },
    { gateway: 'expose: search' },
    { gateway: 'profiles: { one: { servers: [files] } }' },
    { gateway: '# expose: search' },
    { catalog: catalog.replace('server.js', 'other.js') },
    { catalog: catalog.replace('A: b', 'B: b') },
    { triggers },
    { triggers: { ...triggers, 'a.yaml': hook('a', ', key: "body:c"') } },
    { triggers: { ...triggers, 'a.yaml': hook('a', ', key: "body:d"') } },
    { triggers: { 'a.yaml': hook('a') } },
    { triggers: { 'a.yaml': hook('a').replace(/127\.0\.0\.1:1/g, '127.0.0.1:2') } },
  ];
  const hashes = await Promise.all(differing.map(hashOf));
  // A changed comment does not change the hash.
  expect(new Set(hashes).size).toBe(differing.length - 1);
});

test('the configuration hash does not depend on secrets, because it could help to guess them', async () => {
  const secrets: ((secret: string) => Files)[] = [
    (secret) => ({ gateway: `api_key: ${secret}` }),
    (secret) => ({ gateway: `api_key: \${KEY}`, env: { KEY: secret } }),
    (secret) => ({ gateway: `store: { postgres: { url: "postgres://me:${secret}@db.example/x" } }` }),
    (secret) => ({
      gateway: `providers: { p: { type: openai, base_url: "https://m.example/${secret}/v1" } }`,
    }),
    (secret) => ({
      gateway: `providers: { p: { type: openai, base_url: "https://m.example/v1", headers: { X: ${secret} } } }`,
    }),
    (secret) => ({ catalog: catalog.replace('hunter2', secret) }),
    (secret) => ({ catalog: catalog.replace('--token, hunter2', `--token=${secret}`) }),
    (secret) => ({ catalog: catalog.replace('--token, hunter2', `"Authorization: Bearer ${secret}"`) }),
    (secret) => ({ catalog: catalog.replace('--token, hunter2', `-H, "X-Any: ${secret}"`) }),
    (secret) => ({ catalog: catalog.replace('--token, hunter2', `"https://h.example/?k=${secret}"`) }),
    (secret) => ({ catalog: catalog.replace('A: b', `A: ${secret}`) }),
    (secret) => ({ catalog: catalog.replace('hunter2', `"\${WORD}"`), env: { WORD: secret } }),
    (secret) => ({ catalog: catalog.replace('server.js', `"\${WORD}"`), env: { WORD: secret } }),
    (secret) => ({ triggers: { 'a.yaml': hook('a').replace('sssh', secret) } }),
  ];
  // Secrets: a word that occurs elsewhere in the file, a short one, and an ordinary one.
  for (const files of secrets) {
    const hashes = await Promise.all(['server', 'b', 'correct-horse-1'].map((each) => hashOf(files(each))));
    expect(new Set(hashes).size, JSON.stringify(files('…'))).toBe(1);
  }
  expect(await hashOf({ gateway: `api_key: \${KEY}`, env: { KEY: 'a' } })).not.toBe(
    await hashOf({ gateway: `api_key: \${OTHER}`, env: { OTHER: 'a' } }),
  );
  const token = (text: string) => hashOf({ catalog: catalog.replace('server.js', text) });
  expect(await token('ghp_0123456789abcdefghij01')).toBe(await token('ghp_9876543210abcdefghij01'));
});

test('the configuration hash of an invalid file uses its last valid content', async () => {
  const { folder, loaded, resources: before, env } = await loadHash({ triggers });
  const hashWith = (next: LoadedResources) =>
    configHash({ ...loaded.digests, resources: resourcesDigest(next.digests) });
  const first = hashWith(before);
  const load = () => loadGatewayResources(loaded.config, env, new SecretValues(), ['files']);
  writeFileSync(join(folder, 'triggers', 'a.yaml'), hook('a').replace('type: HTTP', 'type: Nothing'));
  let next = lastGoodResources(await load(), before);
  expect(hashWith(next)).toBe(first);

  writeFileSync(join(folder, 'triggers', 'b.yaml'), hook('b', ', key: "body:c"'));
  next = lastGoodResources(await load(), next);
  expect(hashWith(next)).not.toBe(first);
});
