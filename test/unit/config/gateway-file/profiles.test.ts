// Profiles: accepted and refused values.

import { expect, test } from 'vitest';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();

const catalog = `servers:
  files: { command: node, tags: [disk, local] }
  repos: { command: node, tags: [remote] }
`;

async function load(profiles: string) {
  folder.write('catalog.yaml', catalog);
  folder.write(
    'gateway.yaml',
    `listen_addr: 127.0.0.1:0\ncatalog_path: catalog.yaml\nprofiles:\n${profiles}`,
  );
  return folder.load();
}

test('profiles are loaded as written, without defaults', async () => {
  const { loaded, lines } = await load(`  work: { servers: [files], tags: [remote], tools: ["files__*", get] }
  all: {}
  none: { servers: [], tools: [] }
`);
  expect(lines).toEqual([]);
  expect(loaded?.config.profiles).toEqual({
    work: { servers: ['files'], tags: ['remote'], tools: ['files__*', 'get'] },
    all: {},
    none: { servers: [], tools: [] },
  });
});

test('an unknown server of a profile is an error, and an unused tag a warning, each with a suggestion', async () => {
  const { lines } = await load(`  work:
    servers: [file, nothing-like-it]
    tags: [remoet, x]
`);
  expect(lines).toEqual([
    'gateway.yaml:5:15: profiles.work.servers[0]: the catalog has no server file; did you mean files?',
    'gateway.yaml:5:21: profiles.work.servers[1]: the catalog has no server nothing-like-it; available: files, repos',
    'gateway.yaml:6:12: warning: profiles.work.tags[0]: no server of the catalog has the tag remoet; did you mean remote?',
    'gateway.yaml:6:20: warning: profiles.work.tags[1]: no server of the catalog has the tag x; available: disk, local, remote',
  ]);
  const { loaded } = await load('  work: { tags: [remoet] }\n');
  expect(loaded?.config.profiles).toEqual({ work: { tags: ['remoet'] } });
});

test('invalid names, patterns, keys and counts of profiles are reported with their positions', async () => {
  const { lines } = await load(`  "a b": {}
  work: { server: [files], tools: ["(a)"] }
`);
  expect(lines).toEqual([
    'gateway.yaml:4:3: profiles["a b"]: the key should be 1 to 64 of A-Z a-z 0-9 . _ -',
    'gateway.yaml:5:11: profiles.work.server: unknown key; did you mean servers?',
    expect.stringContaining('gateway.yaml:5:36: profiles.work.tools[0]: expected a pattern of'),
  ]);
  const many = Array.from({ length: 101 }, (_, at) => `  p${at}: {}\n`).join('');
  expect((await load(many)).lines).toEqual([
    'gateway.yaml:4:3: profiles: at most 100 profiles are possible, found 101',
  ]);
});

test('unknown servers of a profile are not reported while the catalog is invalid', async () => {
  folder.write('catalog.yaml', 'servers: { files: { comand: x } }\n');
  folder.write(
    'gateway.yaml',
    'listen_addr: 127.0.0.1:0\ncatalog_path: catalog.yaml\nprofiles: { work: { servers: [x] } }\n',
  );
  const { lines } = await folder.load();
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines) expect(line).toMatch(/^catalog\.yaml/);
});
