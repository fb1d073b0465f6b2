import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { Registry, RegistryError } from '../../../../../actors/mcp/registry/registry.ts';
import { type FakeRegistry, startFakeRegistry } from '../../../../fixtures/registry/fake-registry.ts';

async function withRegistry(
  use: (registry: Registry, fake: FakeRegistry) => Promise<void>,
  timeoutMs = 20_000,
): Promise<void> {
  const fake = await startFakeRegistry();
  try {
    await use(new Registry(`${fake.url}/`, timeoutMs), fake);
  } finally {
    await fake.stop();
  }
}

describe('a registry search', () => {
  test('reads the necessary pages and returns each server once, without deleted servers', async () => {
    await withRegistry(async (registry, fake) => {
      const all = await registry.search(undefined, 100);
      expect(all.isCut).toBe(false);
      expect(all.entries.map(({ name, version }) => `${name} ${version}`)).toEqual([
        'io.example.tools/everything 2.0.0',
        'io.example.tools/filesystem 1.0.2',
        'io.example.people/weather 0.5.0',
        'com.example/analytics 3.0.0',
        'io.example.people/old-weather 0.9.5',
        'io.example.people/bundled 1.0.0',
        'io.example.people/database-manager 3.1.0',
        'com.example/on-its-own-host 1.0.0',
        'io.example.people/other-kinds 0.4.0-beta',
      ]);
      expect(fake.requestPaths.length).toBeGreaterThan(2);
      expect(await registry.search(undefined, 1)).toMatchObject({ entries: [{}], isCut: true });
    });
  });

  test('ends when the registry repeats a cursor', async () => {
    await withRegistry(async (registry, fake) => {
      const page = JSON.stringify({ servers: [], metadata: { nextCursor: 'round' } });
      fake.answerWith((response) => response.end(page));
      expect(await registry.search('x', 10)).toEqual({ entries: [], isCut: false });
      expect(fake.requestPaths).toHaveLength(2);
    });
  });
});

test('the registry client encodes a server name as one path segment, and accepts an address with the API version', async () => {
  await withRegistry(async (_, fake) => {
    const registry = new Registry(`${fake.url}/v0.1`);
    expect(await registry.entry('io.example.people/weather')).toMatchObject({
      version: '0.5.0',
      status: 'active',
    });
    expect(await registry.entry('io.example.people/weather', '0.4.0')).toMatchObject({ version: '0.4.0' });
    expect(await registry.findDeleted('io.example.people/gone')).toMatchObject({ status: 'deleted' });
    const absent = await registry.entry('io.example.people/none').catch((error) => error);
    expect([absent instanceof RegistryError, absent.isAbsent]).toEqual([true, true]);
    expect(fake.requestPaths[0]).toBe('/registry/v0.1/servers/io.example.people%2Fweather/versions/latest');
  });
});

test.each([
  ['..', 'latest'],
  ['.', 'latest'],
  ['', 'latest'],
  ['io.example.people/weather', '..'],
])('the registry client sends no request for the name %j in version %j', async (name, version) => {
  await withRegistry(async (registry, fake) => {
    const absent = await registry.entry(name, version).catch((error) => error);
    expect([absent instanceof RegistryError, absent.isAbsent]).toEqual([true, true]);
    expect(await registry.findDeleted(name, version)).toBeUndefined();
    expect(fake.requestPaths).toEqual([]);
  });
});

const answers: readonly [string, (response: ServerResponse) => void, RegExp][] = [
  ['a page that is not JSON', (response) => response.end('<html>'), /is not an MCP registry \(v0\.1\)/],
  ['JSON that is not a server list', (response) => response.end('{"servers": 1}'), /is not an MCP registry/],
  ['a refusal', (response) => response.writeHead(503).end(), /responded with status 503/],
  ['too many requests', (response) => response.writeHead(429).end(), /limits requests/],
  [
    'the address of another host',
    (response) => response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end(),
    /another host.*use the new address/,
  ],
  ['an incomplete response', (response) => response.write('{', () => response.destroy()), /was lost/],
  [
    'an oversized response',
    (response) => response.end(`"${'x'.repeat(9_000_000)}"`),
    /exceeds 8388608 bytes/,
  ],
];

test.each(answers)('the registry client explains %s in the error message', async (_, answer, words) => {
  await withRegistry(async (registry, fake) => {
    fake.answerWith(answer);
    const error = await registry.search('x', 10).catch((each) => each);
    expect(error).toBeInstanceOf(RegistryError);
    expect(error.message).toMatch(words);
  });
});

test('a request to a silent registry ends at the timeout', async () => {
  await withRegistry(async (registry, fake) => {
    fake.answerWith(() => {});
    await expect(registry.search('x', 10)).rejects.toThrow(/did not respond within 300 ms/);
  }, 300);
});

test('the registry client rejects an address that is not an HTTP address', () => {
  expect(() => new Registry('ftp://example.com')).toThrow(RegistryError);
});
