// Profiles as they are written: what is taken, and what is told of those that cannot be.

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

test('profiles are taken as they are written: what is not there is not filled in', async () => {
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

test('a server that is not in the catalog is an error, a tag that no server has a warning, each with a proposal', async () => {
  const { lines } = await load(`  work:
    servers: [file, nothing-like-it]
    tags: [remoet, x]
`);
  expect(lines).toEqual([
    'gateway.yaml:5:15: profiles.work.servers[0]: there is no server file in the catalog; did you mean files?',
    'gateway.yaml:5:21: profiles.work.servers[1]: there is no server nothing-like-it in the catalog; there are files, repos',
    'gateway.yaml:6:12: warning: profiles.work.tags[0]: no server of the catalog has the tag remoet; did you mean remote?',
    'gateway.yaml:6:20: warning: profiles.work.tags[1]: no server of the catalog has the tag x; there are disk, local, remote',
  ]);
  const { loaded } = await load('  work: { tags: [remoet] }\n');
  expect(loaded?.config.profiles).toEqual({ work: { tags: ['remoet'] } });
});

test('a name that fits into no path, a pattern that is none, an unknown key and too many are told where they stand', async () => {
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
    'gateway.yaml:4:3: profiles: at most 100 are possible, and there are 101',
  ]);
});

test('while the catalog is bad nothing is said of servers that may be in it', async () => {
  folder.write('catalog.yaml', 'servers: { files: { comand: x } }\n');
  folder.write(
    'gateway.yaml',
    'listen_addr: 127.0.0.1:0\ncatalog_path: catalog.yaml\nprofiles: { work: { servers: [x] } }\n',
  );
  const { lines } = await folder.load();
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines) expect(line).toMatch(/^catalog\.yaml/);
});
