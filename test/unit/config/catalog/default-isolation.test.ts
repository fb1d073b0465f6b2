// The load option for the default isolation of servers.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type LoadOptions, loadConfig } from '../../../../config/load-config.ts';
import { newFolder } from '../../../fixtures/new-folder.ts';

const folder = newFolder('isolation-');

async function isolations(options?: LoadOptions): Promise<unknown> {
  const path = join(folder, 'gateway.yaml');
  writeFileSync(path, 'listen_addr: 127.0.0.1:0\ncatalog_path: c.yaml\n');
  writeFileSync(
    join(folder, 'c.yaml'),
    `servers:
  silent: { command: a }
  shared: { command: a, isolation: shared }
  session: { command: a, isolation: session }
  remote: { url: "http://h/mcp" }
`,
  );
  const { catalog } = await loadConfig(path, {}, options);
  return Object.fromEntries(
    Object.entries(catalog.servers).map(([id, { isolation, pool }]) => [id, [isolation, pool.max]]),
  );
}

test('a catalog entry without isolation gets the default isolation of the load options', async () => {
  const expectedDefaults = { shared: ['shared', 1], session: ['session', 32], remote: ['session', 1000] };
  expect(await isolations()).toEqual({ ...expectedDefaults, silent: ['shared', 1] });
  expect(await isolations({ defaultIsolation: 'session' })).toEqual({
    ...expectedDefaults,
    silent: ['session', 32],
  });
});
