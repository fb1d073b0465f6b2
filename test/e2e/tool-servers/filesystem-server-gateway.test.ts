// The built filesystem server behind the gateway, as in a catalog entry: tools, resources and change
// notifications.

import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventually, McpClient } from '../../fixtures/clients/mcp-client.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { filesystemProgram, testFolder } from '../../fixtures/tool-servers/filesystem-server.ts';

test('the filesystem server works through the gateway, and roots of the client do not extend its allowed folders', async () => {
  const parent = testFolder();
  const folder = join(parent, 'allowed');
  mkdirSync(folder);
  const path = join(folder, 'note.txt');
  writeFileSync(path, 'grüße');
  writeFileSync(join(parent, 'secret.txt'), 'not for you');
  const gateway = await startGateway({
    servers: { files: { command: process.execPath, args: [filesystemProgram, folder] } },
  });
  const client = await McpClient.connect(`${gateway.url}/mcp/files`, {
    roots: () => [{ uri: `file://${parent}` }],
  });
  expect(await client.call('read_file', { path: 'note.txt' })).toBe('grüße');
  expect(await client.call('read_file', { path: join(parent, 'secret.txt') })).not.toContain('not for you');
  const uri = `file://${path}`;
  const { resources } = await client.client.listResources();
  expect(resources).toMatchObject([{ uri, name: 'note.txt', size: 7 }]);
  expect((await client.client.readResource({ uri })).contents).toEqual([
    { uri, mimeType: 'text/plain', text: 'grüße' },
  ]);
  await client.client.subscribeResource({ uri });
  appendFileSync(path, '!');
  await eventually('the change', () => client.count('notifications/resources/updated') === 1);
  await client.leave();
});
