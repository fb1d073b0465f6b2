// The options --listen and --catalog.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadTarget } from '../../../../config/load-config.ts';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();

describe('the option --listen', () => {
  test.each([
    'listen_addr: 127.0.0.1:1\ncatalog_path: catalog.yaml\n',
    'http_port: 5\ncatalog_path: catalog.yaml\n',
    'http_port: 5\n',
    'spec: { server: { host: 127.0.0.1, port: 7 } }\n',
  ])('replaces the address of the file: %j', async (text) => {
    folder.write('catalog.yaml', 'servers: {}\n');
    folder.write('gateway.yaml', text);
    const { loaded, lines } = await folder.load({}, 'gateway.yaml', { listen: '[::1]:9000' });
    expect(lines).toEqual([]);
    expect(loaded?.config.listen_addr).toBe('[::1]:9000');
  });

  test('causes the same warning as listen_addr for an address beyond loopback', async () => {
    folder.write('catalog.yaml', 'servers: {}\n');
    folder.write('gateway.yaml', 'catalog_path: catalog.yaml\nlisten_addr: 127.0.0.1:1\n');
    const { lines } = await folder.load({}, 'gateway.yaml', { listen: '0.0.0.0:1', isListening: true });
    expect(lines[0]).toMatch(/^gateway\.yaml:2:14: warning: listen_addr: LISTENING BEYOND LOOPBACK/);
  });
});

describe('the option --catalog', () => {
  test('loads the catalog with default settings, and with a state folder next to it', async () => {
    const catalog = join(folder.path, 'alone.yaml');
    writeFileSync(catalog, 'servers: { a: { command: node } }\n');
    const loaded = await loadTarget({ catalog }, {}, { isListening: true });
    expect(loaded).toMatchObject({ configPath: '', catalogPath: catalog, warnings: [] });
    expect(loaded.config).toMatchObject({
      listen_addr: '127.0.0.1:8080',
      state_dir: join(folder.path, '.gateway'),
      api_key: '',
    });
    const open = await loadTarget({ catalog }, {}, { isListening: true, listen: '0.0.0.0:80' });
    expect(open.config.listen_addr).toBe('0.0.0.0:80');
    expect(open.warnings.map(({ message }) => message)[0]).toMatch(/^LISTENING BEYOND LOOPBACK/);
  });

  test('refuses a missing or invalid catalog with its position', async () => {
    const missing = loadTarget({ catalog: join(folder.path, 'no.yaml') }, {});
    await expect(missing).rejects.toMatchObject({
      problems: [{ line: 1, column: 1, message: 'the file does not exist' }],
    });
    const bad = join(folder.path, 'bad.yaml');
    writeFileSync(bad, 'servers:\n  a: {}\n');
    await expect(loadTarget({ catalog: bad }, {})).rejects.toMatchObject({ problems: [{ line: 2 }] });
  });
});
