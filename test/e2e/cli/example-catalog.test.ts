// Example configuration as in `npm start`: the tool servers of this project behind the gateway, and their
// documentation pages.

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { McpClient } from '../../fixtures/clients/mcp-client.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';

const root = resolve(import.meta.dirname, '../../..');
const pages = { files: 'filesystem', browser: 'browser', repos: 'repository-host' } as const;

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway({
    settings: { catalog_path: join(root, 'catalog.yaml') },
    env: { REPOHOST_PERSONAL_ACCESS_TOKEN: '' },
  });
});

describe('the example configuration', () => {
  test('offers the working tools of all three servers at one address', async () => {
    const client = await McpClient.connect(`${gateway.url}/mcp`);
    const { tools } = await client.client.listTools();
    const counts: Record<string, number> = {};
    for (const { name } of tools) {
      const [server = ''] = name.split('__');
      counts[server] = (counts[server] ?? 0) + 1;
    }
    expect(counts).toEqual({ files: 14, browser: 9, repos: 27 });
    expect(await client.call('files__read_file', { path: 'hello.txt' })).toContain(
      'example filesystem server',
    );
    expect(await client.call('browser__browser_navigate', { url: gateway.url })).toContain('--allow-private');
    expect(await client.call('repos__get_file_contents', { owner: 'o', repo: 'r', path: '../x' })).toContain(
      '..',
    );
    await client.leave();
  });

  test.each(Object.entries(pages))('has a page for %s with all tools and parameters', async (id, name) => {
    const page = readFileSync(join(root, 'docs/tool-servers', `${name}.md`), 'utf8');
    const client = await McpClient.connect(`${gateway.url}/mcp/${id}`);
    const { tools } = await client.client.listTools();
    await client.leave();
    const words = tools.flatMap((tool) => [tool.name, ...Object.keys(tool.inputSchema.properties ?? {})]);
    expect(words.length).toBeGreaterThan(15);
    const rows = new Set([...page.matchAll(/^\|.*$/gm)].flatMap(([row]) => row.match(/\w+/g) ?? []));
    expect(words.filter((word) => !rows.has(word))).toEqual([]);
    for (const { title, description, annotations, inputSchema } of tools) {
      expect([title, description].every((text) => (text?.length ?? 0) > 3)).toBe(true);
      expect(Object.values(annotations ?? {}).filter((hint) => typeof hint === 'boolean')).toHaveLength(4);
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
    }
  });
});
