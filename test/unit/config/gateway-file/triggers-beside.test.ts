// Problems in triggers and agents are reported together with problems in the gateway file or catalog.

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();

const head = 'listen_addr: 127.0.0.1:0\ncatalog_path: catalog.yaml\n';
const spec = 'spec: { triggers: { directory: ./triggers }, agents: { directory: ./agents } }\n';
const goodCatalog = 'servers: {}\n';
const badCatalog = 'servers: { one: { command: node, comand: x } }\n';
const catalogProblem = 'catalog.yaml:1:34: servers.one.comand: unknown key; did you mean command?';
const triggerProblem = 'triggers/t.yaml:5:9: spec.type: unknown type; did you mean Manual?';

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

describe('problems of trigger and agent files', () => {
  test('are reported in addition to an error of the catalog', async () => {
    expect(await linesOf(head + spec, badCatalog)).toEqual([catalogProblem, triggerProblem]);
    expect(await linesOf(head + spec, badCatalog, false)).toEqual([catalogProblem]);
  });

  test('are reported in addition to an error of the gateway file, also of its listen_addr', async () => {
    expect(await linesOf(`${head}log_levl: info\n${spec}`, badCatalog)).toEqual([
      'gateway.yaml:3:1: log_levl: unknown key; did you mean log_level?',
      catalogProblem,
      triggerProblem,
    ]);
    expect(await linesOf(`listen_addr: here:99999\n${spec}`, goodCatalog)).toEqual([
      expect.stringMatching(/^gateway\.yaml:1:14: listen_addr: /),
      triggerProblem,
    ]);
  });

  test.each([
    [
      'an unknown key in spec',
      `${head}spec: { triggers: { directory: ./triggers }, runtmie: {} }\n`,
      '3:46: spec.runtmie: ',
    ],
    [
      'an unset variable of a platform',
      `${head}${spec}platforms: { repohost: { token: "\${GONE}" } }\n`,
      '4:34: platforms.',
    ],
    ['broken syntax', `${head}${spec}log_level: [info\n`, '5:1: YAML syntax: '],
  ])(
    'are not reported after %s in the gateway file, which may have caused them',
    async (_, gateway, problem) => {
      expect(await linesOf(gateway, goodCatalog)).toEqual([
        expect.stringMatching(new RegExp(`^gateway\\.yaml:${problem}`)),
      ]);
    },
  );

  test.each([
    ['triggers', `${head}spec: { triggers: { directory: ./gone } }\n`, '3:32'],
    ['agents', `${head}spec: { triggers: { directory: ./triggers }, agents: { directory: gone } }\n`, '3:67'],
  ])(
    'are reported at the reference in the gateway file if the folder of %s is missing',
    async (kind, gateway, at) => {
      expect(await linesOf(gateway, goodCatalog)).toEqual([
        `gateway.yaml:${at}: spec.${kind}.directory: ${join(folder.path, 'gone')}: no such file or folder`,
      ]);
      expect(await linesOf(gateway, goodCatalog, false)).toEqual([]);
    },
  );

  test('are not reported for valid files', async () => {
    rmSync(join(folder.path, 'triggers', 't.yaml'));
    expect(await linesOf(head + spec, badCatalog)).toEqual([catalogProblem]);
    expect(await linesOf(head + spec, goodCatalog)).toEqual([]);
  });
});
