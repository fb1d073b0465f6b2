// Translates one entry of a client's file into an entry of our catalog. The tree is translated before it is read along the schema, so
// that problems are reported at their place; fields that only clients need are omitted.
//
// DIA2  servers and tools that a file switches off stay off.
// DIA3  the transport is the one that this client would have used.

import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { joinPath } from '../../reader/field-path.ts';
import { type FieldTable, translated } from '../../reader/field-table.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, plainValue, scalarLike, textOf, withoutMembers } from '../../reader/yaml-members.ts';
import type { YamlMap, YamlPair, YamlTree } from '../../reader/yaml-tree.ts';
import { isOwnHeader } from '../own-headers.ts';
import type { Dialect } from './dialect.ts';
import { inOurWords } from './references-in-our-words.ts';
import { readVariables } from './variables-file.ts';

/** Fields about approval, display and login, which are the client's business. */
const clientFields = [
  ...['alwaysAllow', 'autoApprove', 'trust', 'alwaysLoad', 'watchPaths', 'description', 'title', 'icon'],
  ...['oauth', 'auth', 'authProviderType', 'targetAudience', 'targetServiceAccount', 'extension'],
  ...['dev', 'gallery', 'version', 'sandbox', 'sandboxEnabled', 'settings', 'source', 'remote'],
];

/** In the order in which clients that know several of them read them. */
const addressFields = ['httpUrl', 'serverUrl', 'url'];

/** Clients' variables may be numbers, and headers that the gateway sets itself do no harm. */
const values: FieldTable = {
  env: { value: (env) => textMembers(env, ({ value }) => !isNothing(value)) },
  headers: {
    value: (headers, reader, path) =>
      textMembers(headers, ({ key, keyOffset, value }) => {
        if (!isOwnHeader(key)) return true;
        const at = joinPath(path, key);
        reader.place(at, keyOffset, value.offset);
        reader.reportKey(at, 'is ignored: it is set by the gateway itself', 'warning');
        return false;
      }),
  },
};

/** `pair` is of the file. Returns undefined, with a warning, for a server that only its client can start. */
export function inOurFields(
  reader: SchemaReader,
  { key: name, value: written }: YamlPair,
  path: string,
  dialect: Dialect,
): YamlTree | undefined {
  if (written.kind !== 'map') return written;
  const pairs = written.pairs.flatMap(flatCommand).filter(({ value }) => !isNothing(value));
  const flat: YamlMap = { ...written, pairs };
  const isReachable = ['command', ...addressFields].some((key) => has(flat, key));
  if (dialect.client === 'zed' && !isReachable) {
    reader.reportKey(path, 'is an extension of Zed, which nobody else can start; it is left out', 'warning');
    return undefined;
  }
  let entry = withReferences(reader, flat, path, dialect) as YamlMap;
  entry = withAddress(entry, dialect);
  entry = withTimeout(entry, dialect);
  entry = withEnvFile(reader, entry, path, dialect);
  if (dialect.isOff(name)) {
    const { offset } = written;
    const value = { kind: 'scalar', offset, end: offset, value: false } as const;
    entry = withPairs(withoutMembers(entry, ['enabled', 'disabled']), {
      key: 'enabled',
      keyOffset: offset,
      value,
    });
  }
  const sandbox = memberOf(written, 'sandboxEnabled');
  if (sandbox?.kind === 'scalar' && sandbox.value === true)
    reader.reportKey(
      joinPath(path, 'sandboxEnabled'),
      'is ignored: the gateway starts it without a sandbox',
      'warning',
    );
  return translated(reader, withoutMembers(entry, clientFields), path, values);
}

/** Flattens Zed's older form, `command: { path, args, env }`. */
function flatCommand(pair: YamlPair): readonly YamlPair[] {
  if (pair.key !== 'command' || pair.value.kind !== 'map') return [pair];
  return pair.value.pairs.map((inner) => (inner.key === 'path' ? { ...inner, key: 'command' } : inner));
}

function withReferences(reader: SchemaReader, tree: YamlTree, path: string, dialect: Dialect): YamlTree {
  const inner = (value: YamlTree, key: string | number) =>
    withReferences(reader, value, joinPath(path, key), dialect);
  if (tree.kind === 'list') return { ...tree, items: tree.items.map(inner) };
  if (tree.kind === 'map')
    return { ...tree, pairs: tree.pairs.map((pair) => ({ ...pair, value: inner(pair.value, pair.key) })) };
  if (typeof tree.value !== 'string') return tree;
  const { text, fault } = inOurWords(tree.value, dialect);
  if (fault !== undefined) {
    reader.place(path, tree.offset, tree.offset);
    reader.report(path, fault);
  }
  return text === tree.value ? tree : scalarLike(tree, text);
}

/** Without a field for it, the transport follows from the client and the address (DIA3). */
function withAddress(entry: YamlMap, { client }: Dialect): YamlMap {
  const found = addressFields.flatMap((key) => entry.pairs.find((pair) => pair.key === key) ?? [])[0];
  if (found === undefined) return entry;
  const rest = withoutMembers(entry, [...addressFields, 'transportType']);
  const named = withPairs(rest, { ...found, key: 'url' });
  if (has(named, 'type') || has(named, 'runtime')) return named;
  const isOldClient = found.key === 'url' && (client === 'gemini' || client === 'cline');
  const isOldAddress = found.key !== 'httpUrl' && /\/sse\/?(?:[?#]|$)/.test(textOf(found.value) ?? '');
  const transport =
    textOf(memberOf(entry, 'transportType')) ?? (isOldClient || isOldAddress ? 'sse' : undefined);
  if (transport !== 'sse') return named;
  return withPairs(named, { ...found, key: 'type', value: scalarLike(found.value, 'sse') });
}

/** Longest timeout of clients that count in seconds; a larger number is milliseconds. */
const MOST_SECONDS = 3600;
/** Default of `max_request_seconds`. */
const DEFAULT_MOST_SECONDS = 600;

function withTimeout(entry: YamlMap, { client }: Dialect): YamlMap {
  const pair = entry.pairs.find(({ key }) => key === 'timeout');
  const value = pair && plainValue(pair.value);
  if (pair === undefined || typeof value !== 'number') return entry;
  const rest = withoutMembers(entry, ['timeout']);
  if (value <= 0 || has(entry, 'request_timeout_seconds')) return rest;
  const isMs = client === 'gemini' || (client !== 'cline' && value > MOST_SECONDS);
  const seconds = isMs ? value / 1000 : value;
  const isLong = seconds > DEFAULT_MOST_SECONDS && !has(entry, 'max_request_seconds');
  const keys = ['request_timeout_seconds', ...(isLong ? ['max_request_seconds'] : [])];
  return withPairs(rest, ...keys.map((key) => ({ ...pair, key, value: scalarLike(pair.value, seconds) })));
}

/** Adds the variables of `envFile` to `env`, which has priority. */
function withEnvFile(reader: SchemaReader, entry: YamlMap, path: string, dialect: Dialect): YamlMap {
  const pair = entry.pairs.find(({ key }) => key === 'envFile');
  const written = textOf(pair?.value);
  if (pair === undefined || written === undefined || written === '') return entry;
  const rest = withoutMembers(entry, ['envFile']);
  const at = joinPath(path, 'envFile');
  if (reader.isFaulty(at)) return rest;
  const file = resolve(dialect.folder, written.replace(/^~(?=$|[\\/])/, homedir()));
  const found = readVariables(file);
  if (found.reason !== undefined) {
    reader.place(at, pair.keyOffset, pair.value.offset);
    reader.report(at, `${file}: ${found.reason}`);
    return rest;
  }
  const env = rest.pairs.find(({ key }) => key === 'env');
  const own: YamlMap =
    env?.value.kind === 'map' ? env.value : { kind: 'map', offset: (env ?? pair).value.offset, pairs: [] };
  const more = Object.entries(found.values)
    .filter(([name]) => !has(own, name))
    .map(([name, text]) => {
      const value = dialect.envFiles === 'references' ? `\${${name}}` : text.replaceAll('${', () => '$${');
      return { key: name, keyOffset: pair.keyOffset, value: scalarLike(pair.value, value) };
    });
  const all = { ...(env ?? pair), key: 'env', value: withPairs(own, ...more) };
  return withPairs(withoutMembers(rest, ['env']), all);
}

const has = (map: YamlMap, key: string) => memberOf(map, key) !== undefined;

const withPairs = (map: YamlMap, ...more: YamlPair[]): YamlMap => ({
  ...map,
  pairs: [...map.pairs, ...more],
});

function isNothing(tree: YamlTree): boolean {
  return tree.kind === 'scalar' && (tree.value === null || tree.value === undefined);
}

/** Keeps some members of a mapping, and converts numbers and booleans to texts. */
function textMembers(tree: YamlTree, isKept: (pair: YamlPair) => boolean): YamlTree {
  if (tree.kind !== 'map') return tree;
  const asText = (value: YamlTree): YamlTree =>
    value.kind === 'scalar' && ['number', 'boolean'].includes(typeof value.value)
      ? scalarLike(value, String(value.value))
      : value;
  return {
    ...tree,
    pairs: tree.pairs.filter(isKept).map((pair) => ({ ...pair, value: asText(pair.value) })),
  };
}
