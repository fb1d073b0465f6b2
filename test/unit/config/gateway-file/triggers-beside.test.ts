// What is told of triggers and agents when the gateway file or the catalog has errors, before any of them are in use.

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();

const head = 'listen_addr: 127.0.0.1:0\ncatalog_path: catalog.yaml\n';
const spec = 'spec: { triggers: { directory: ./triggers }, agents: { directory: ./agents } }\n';
const goodCatalog = 'servers: {}\n';
const badCatalog = 'servers: { one: { command: node, comand: x } }\n';
const ofCatalog = 'catalog.yaml:1:34: servers.one.comand: unknown key; did you mean command?';
const ofTrigger = 'triggers/t.yaml:5:9: spec.type: there is no type of that name; did you mean Manual?';

beforeEach(() => {
  for (const name of ['triggers', 'agents']) {
    rmSync(join(folder.path, name), { recursive: true, force: true });
    mkdirSync(join(folder.path, name));
  }
  const trigger = 'apiVersion: a/v1\nkind: Trigger\nmetadata: { name: t }\nspec:\n  type: Manaul\n';
  folder.write('triggers/t.yaml', trigger);
});

async function linesOf(gateway: string, catalog: string, hasTriggers = true): Promise<readonly string[]> {
  folder.write('gateway.yaml', gateway);
  folder.write('catalog.yaml', catalog);
  return (await folder.load({}, 'gateway.yaml', { hasTriggers })).lines;
}

describe('where triggers will be loaded', () => {
  test('an error of the catalog hides none of their files', async () => {
    expect(await linesOf(head + spec, badCatalog)).toEqual([ofCatalog, ofTrigger]);
    expect(await linesOf(head + spec, badCatalog, false)).toEqual([ofCatalog]);
  });

  test('an error of the gateway file hides none of their files, nor does a listen_addr that is none', async () => {
    expect(await linesOf(`${head}log_levl: info\n${spec}`, badCatalog)).toEqual([
      'gateway.yaml:3:1: log_levl: unknown key; did you mean log_level?',
      ofCatalog,
      ofTrigger,
    ]);
    expect(await linesOf(`listen_addr: here:99999\n${spec}`, goodCatalog)).toEqual([
      expect.stringMatching(/^gateway\.yaml:1:14: listen_addr: /),
      ofTrigger,
    ]);
  });

  test.each([
    [
      'a slip in spec',
      `${head}spec: { triggers: { directory: ./triggers }, runtmie: {} }\n`,
      '3:46: spec.runtmie: ',
    ],
    [
      'a setting of a platform',
      `${head}${spec}platforms: { repohost: { token: "\${GONE}" } }\n`,
      '4:34: platforms.',
    ],
    ['broken syntax', `${head}${spec}log_level: [info\n`, '5:1: YAML syntax: '],
  ])('%s is told without them, since it may be why they look wrong', async (_, gateway, problem) => {
    expect(await linesOf(gateway, goodCatalog)).toEqual([
      expect.stringMatching(new RegExp(`^gateway\\.yaml:${problem}`)),
    ]);
  });

  test.each([
    ['triggers', `${head}spec: { triggers: { directory: ./gone } }\n`, '3:32'],
    ['agents', `${head}spec: { triggers: { directory: ./triggers }, agents: { directory: gone } }\n`, '3:67'],
  ])(
    'a folder of %s that is not there is told where the gateway file names it',
    async (kind, gateway, at) => {
      expect(await linesOf(gateway, goodCatalog)).toEqual([
        `gateway.yaml:${at}: spec.${kind}.directory: ${join(folder.path, 'gone')}: there is no such file or folder`,
      ]);
      expect(await linesOf(gateway, goodCatalog, false)).toEqual([]);
    },
  );

  test('good files of theirs add nothing', async () => {
    rmSync(join(folder.path, 'triggers', 't.yaml'));
    expect(await linesOf(head + spec, badCatalog)).toEqual([ofCatalog]);
    expect(await linesOf(head + spec, goodCatalog)).toEqual([]);
  });
});
