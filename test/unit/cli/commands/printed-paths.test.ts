// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// The command `explain` accepts each path that an error message prints. The test replaces every value of the
// examples by a value of another type, and looks up the paths in the messages. In `npm test` it replaces
// each value in one of three ways.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { loadConfig } from '../../../../config/load-config.ts';
import { ConfigError, type Problem } from '../../../../config/reader/problem.ts';
import { SecretValues } from '../../../../config/reader/secret-values.ts';
import { loadResources } from '../../../../config/resources/load-resources.ts';
import { findNamedFields } from '../../../../src/cli/commands/find-field.ts';
import { newFolder } from '../../../fixtures/new-folder.ts';
import { isShort } from '../../../fixtures/property-runs.ts';

const root = resolve(import.meta.dirname, '../../../..');
const folder = newFolder('printed-paths-');

type Json = null | string | number | boolean | readonly Json[] | { readonly [key: string]: Json };

/** Yields copies of `value` with one node replaced by `change`. */
function* replaced(value: Json, change: (node: Json) => Json): Generator<Json> {
  yield change(value);
  if (Array.isArray(value))
    for (const [at, item] of value.entries())
      for (const other of replaced(item, change)) yield value.with(at, other);
  else if (typeof value === 'object' && value !== null)
    for (const [key, member] of Object.entries(value))
      for (const other of replaced(member, change)) yield { ...value, [key]: other };
}

const isMap = (node: Json) => typeof node === 'object' && node !== null && !Array.isArray(node);
const changes: readonly ((node: Json) => Json)[] = [
  (node) => (isMap(node) ? 'text' : { other: 1 }),
  () => ['text', 7],
  (node) => (isMap(node) ? { ...(node as object), '${UNSET_4711}': 'x' } : '${UNSET_4711}'),
];

/** Returns the path at the start of a message; undefined for unknown keys, which have no field. */
function pathIn(message: string): string | undefined {
  if (message.includes('unknown key')) return undefined;
  return /^((?:[\w-]+|\["(?:[^"\\]|\\.)*"\]|\[\d+\]|\.)+): /.exec(message)?.[1];
}

function documentsIn(file: string): Json[] {
  return parseAllDocuments(readFileSync(file, 'utf8')).map((each) => each.toJS() as Json);
}

async function pathsOf(load: (file: string) => Promise<readonly Problem[]>, value: Json): Promise<string[]> {
  const paths = new Set<string>();
  const first = Math.floor(Math.random() * changes.length);
  for (const [kind, change] of changes.entries())
    for (const [at, other] of [...replaced(value, change)].entries()) {
      if (isShort && (first + kind + at) % changes.length !== 0) continue;
      const file = join(folder, 'case.yaml');
      writeFileSync(file, JSON.stringify(other));
      for (const { message } of await load(file)) {
        const path = pathIn(message);
        if (path !== undefined) paths.add(path);
      }
    }
  return [...paths];
}

function refusedOf(paths: readonly string[]): string[] {
  return paths.filter((path) => {
    try {
      return findNamedFields(path).length === 0;
    } catch {
      return true;
    }
  });
}

const examples = readdirSync(join(root, 'examples'), { recursive: true })
  .map(String)
  .filter((name) => name.includes('/') && /\.ya?ml$/.test(name) && !name.includes('scripts/'));

async function loadResource(file: string): Promise<readonly Problem[]> {
  return (await loadResources({ files: [file], env: {}, secrets: new SecretValues(), isLenient: true }))
    .problems;
}

async function problemsOf(load: () => Promise<{ readonly warnings: readonly Problem[] }>) {
  try {
    return (await load()).warnings;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems;
  }
}

describe('explain', () => {
  test.each(examples)('accepts all paths in messages about %s', async (name) => {
    const paths: string[] = [];
    for (const document of documentsIn(join(root, 'examples', name)))
      paths.push(...(await pathsOf(loadResource, document)));
    expect(paths.length).toBeGreaterThan(5);
    expect(refusedOf(paths)).toEqual([]);
  });

  test.each(['gateway.yaml', 'examples/automation.yaml', 'examples/assistant-automation.yaml'])(
    'accepts all paths in messages about %s',
    async (name) => {
      const load = (file: string) => problemsOf(() => loadConfig(file, {}));
      const [document = null] = documentsIn(join(root, name));
      const paths = await pathsOf(load, document);
      expect(paths.length).toBeGreaterThan(1);
      expect(refusedOf(paths)).toEqual([]);
    },
  );

  test('accepts all paths in messages about a catalog', async () => {
    const gateway = join(folder, 'gateway.yaml');
    writeFileSync(gateway, 'listen_addr: 127.0.0.1:0\ncatalog_path: ./case.yaml\n');
    const load = () => problemsOf(() => loadConfig(gateway, {}));
    const servers = {
      'my.server': { command: 'x', args: ['a', 'b'], env: { TOKEN: 'x' }, tags: ['x'], pool: { max: 2 } },
      far: { url: 'http://127.0.0.1:9/', headers: { 'X-Key': 'x' }, tools: { allow: ['a'] }, restart: {} },
    };
    for (const key of ['servers', 'mcpServers']) {
      const paths = await pathsOf(load, { [key]: servers });
      expect(paths.length).toBeGreaterThan(10);
      expect(refusedOf(paths)).toEqual([]);
    }
  });

  test.each([
    ['spec.timeout_seconds', ['agent', 'fleet', 'flow', 'trigger']],
    ['servers.files.env.TOKEN', ['catalog']],
    ['servers["my.server"].args[0]', ['catalog']],
    ['spec.config.bot_token', ['trigger']],
    ['spec.output_schema.properties.answer.type', ['agent']],
  ])('describes the path %s for each kind of resource that has the path', (path, kinds) => {
    const found = findNamedFields(path).map(({ kind }) => kind);
    expect([...found].sort()).toEqual(kinds);
  });
});
