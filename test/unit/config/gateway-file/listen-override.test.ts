// What --listen and --catalog make of the settings.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadTarget } from '../../../../config/load-config.ts';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();

describe('an address that is given beside the gateway file', () => {
  test.each([
    'listen_addr: 127.0.0.1:1\ncatalog_path: catalog.yaml\n',
    'http_port: 5\ncatalog_path: catalog.yaml\n',
    'http_port: 5\n',
    'spec: { server: { host: 127.0.0.1, port: 7 } }\n',
  ])('stands in place of what the file says: %j', async (text) => {
    folder.write('catalog.yaml', 'servers: {}\n');
    folder.write('gateway.yaml', text);
    const { loaded, lines } = await folder.load({}, 'gateway.yaml', { listen: '[::1]:9000' });
    expect(lines).toEqual([]);
    expect(loaded?.config.listen_addr).toBe('[::1]:9000');
  });

  test('is held against the rules of an open address', async () => {
    folder.write('catalog.yaml', 'servers: {}\n');
    folder.write('gateway.yaml', 'catalog_path: catalog.yaml\nlisten_addr: 127.0.0.1:1\n');
    const { lines } = await folder.load({}, 'gateway.yaml', { listen: '0.0.0.0:1', isListening: true });
    expect(lines[0]).toMatch(/^gateway\.yaml:2:14: warning: listen_addr: LISTENING BEYOND LOOPBACK/);
  });
});

describe('a catalog by itself', () => {
  test('is served with the defaults, and its state is kept beside it', async () => {
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

  test('that is not there, or is no catalog, is refused with its place', async () => {
    const missing = loadTarget({ catalog: join(folder.path, 'no.yaml') }, {});
    await expect(missing).rejects.toMatchObject({
      problems: [{ line: 1, column: 1, message: 'the file does not exist' }],
    });
    const bad = join(folder.path, 'bad.yaml');
    writeFileSync(bad, 'servers:\n  a: {}\n');
    await expect(loadTarget({ catalog: bad }, {})).rejects.toMatchObject({ problems: [{ line: 2 }] });
  });
});
