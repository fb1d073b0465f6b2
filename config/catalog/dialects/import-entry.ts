// Translates an entry from a client's file into the fields of the catalog. The tree is translated before
// validation, so problems keep their positions in the file. Fields that only clients use are omitted. Servers
// and tools disabled in the file stay disabled, and the transport is the same as in this client.

import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { joinPath } from '../../reader/field-path.ts';
import { type FieldTable, translateFields } from '../../reader/field-table.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, plainValue, scalarLike, textOf, withoutMembers } from '../../reader/yaml-members.ts';
import type { YamlMap, YamlPair, YamlTree } from '../../reader/yaml-tree.ts';
import { isOwnHeader } from '../own-headers.ts';
import { transportOf } from '../transport-words.ts';
import { withCatalogFields } from './client-fields.ts';
import type { Dialect, DialectClient } from './dialect.ts';
import { translateReferences } from './import-references.ts';
import { readVariables } from './variables-file.ts';

/** Fields for approval, display and login, used by clients only. */
const ignoredFields = [
  ...['alwaysAllow', 'autoApprove', 'trust', 'alwaysLoad', 'watchPaths', 'description', 'title', 'icon'],
  ...['oauth', 'auth', 'authProviderType', 'targetAudience', 'targetServiceAccount', 'extension'],
  ...['dev', 'gallery', 'version', 'sandbox', 'sandboxEnabled', 'settings', 'source', 'remote'],
];

/** Names of clients that have servers which only the client itself can start. */
const extensionOwners: Partial<Record<DialectClient, string>> = { zed: 'Zed', goose: 'Goose' };

/** Address fields, in order of precedence. */
const addressFields = ['httpUrl', 'serverUrl', 'url'];

/** Converts numbers to text. Omits empty variables, and headers that the gateway sets itself. */
const valueConverters: FieldTable = {
  env: { value: (env) => textMembers(env, ({ value }) => !isNull(value)) },
  headers: {
    value: (headers, reader, path) =>
      textMembers(headers, ({ key, keyOffset, value }) => {
        if (!isOwnHeader(key)) return true;
        const fieldPath = joinPath(path, key);
        reader.recordPosition(fieldPath, keyOffset, value.offset);
        reader.reportKey(fieldPath, 'ignored: the gateway sets this header itself', 'warning');
        return false;
      }),
  },
};

/**
 * Translates a pair of the file. Returns undefined, with a warning, for a server that only its client can
 * start.
 */
export function translateEntry(
  reader: SchemaReader,
  { key: name, value: written }: YamlPair,
  path: string,
  dialect: Dialect,
): YamlTree | undefined {
  if (written.kind !== 'map') return written;
  const pairs = written.pairs.flatMap(flatCommand).filter(({ value }) => !isNull(value));
  const flat = withCatalogFields({ ...written, pairs }, dialect.client);
  const isReachable = ['command', ...addressFields].some((key) => has(flat, key));
  const owner = extensionOwners[dialect.client];
  if (owner !== undefined && !isReachable) {
    reader.reportKey(path, `skipped: only ${owner} can start its extensions`, 'warning');
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
      'ignored: the gateway starts the server without a sandbox',
      'warning',
    );
  return translateFields(reader, withoutMembers(entry, ignoredFields), path, valueConverters);
}

/** Flattens Zed's older form, `command: { path, args, env }`. */
function flatCommand(pair: YamlPair): readonly YamlPair[] {
  if (pair.key !== 'command' || pair.value.kind !== 'map') return [pair];
  return pair.value.pairs.map((inner) => (inner.key === 'path' ? { ...inner, key: 'command' } : inner));
}

/** Translates the references in all texts of a tree into the gateway's syntax. */
function withReferences(reader: SchemaReader, tree: YamlTree, path: string, dialect: Dialect): YamlTree {
  const inner = (value: YamlTree, key: string | number) =>
    withReferences(reader, value, joinPath(path, key), dialect);
  if (tree.kind === 'list') return { ...tree, items: tree.items.map(inner) };
  if (tree.kind === 'map')
    return { ...tree, pairs: tree.pairs.map((pair) => ({ ...pair, value: inner(pair.value, pair.key) })) };
  if (typeof tree.value !== 'string') return tree;
  const { text, fault } = translateReferences(tree.value, dialect);
  if (fault !== undefined) {
    reader.recordPosition(path, tree.offset, tree.offset);
    reader.report(path, fault);
  }
  return text === tree.value ? tree : scalarLike(tree, text);
}

/**
 * Renames the address to `url` and sets the transport. If the entry does not set the transport, it is SSE for
 * a `url` of Gemini or Cline, and for an address that ends with /sse, except in `httpUrl`.
 */
function withAddress(written: YamlMap, { client }: Dialect): YamlMap {
  const address = addressFields.flatMap((key) => written.pairs.find((pair) => pair.key === key) ?? [])[0];
  const declared = declaredTransport(written, address === undefined);
  const entry = declared === undefined ? written : withoutMembers(written, ['transport', 'transportType']);
  if (address === undefined) return entry;
  const urlEntry = withPairs(withoutMembers(entry, addressFields), { ...address, key: 'url' });
  if (has(urlEntry, 'type') || has(urlEntry, 'runtime')) return urlEntry;
  const isSseClient = address.key === 'url' && (client === 'gemini' || client === 'cline');
  const isSseAddress = address.key !== 'httpUrl' && /\/sse\/?(?:[?#]|$)/.test(textOf(address.value) ?? '');
  const isSse = declared === undefined ? isSseClient || isSseAddress : declared === 'sse';
  if (!isSse) return urlEntry;
  return withPairs(urlEntry, { ...address, key: 'type', value: scalarLike(address.value, 'sse') });
}

/**
 * Returns the transport in `transportType` or `transport`, also as `transport: { type }`. Returns undefined
 * for unknown words and contradictions, so that the validation reports the member.
 */
function declaredTransport(entry: YamlMap, isLocal: boolean): string | undefined {
  const transport = memberOf(entry, 'transport');
  const words = [memberOf(entry, 'transportType'), transport, transport && memberOf(transport, 'type')];
  const declared = firstTransport(words);
  const explicit = firstTransport([memberOf(entry, 'runtime'), memberOf(entry, 'type')]);
  const isConsistent =
    (declared === 'stdio') === isLocal && (explicit === undefined || explicit === declared);
  return isConsistent ? declared : undefined;
}

function firstTransport(words: readonly (YamlTree | undefined)[]): string | undefined {
  return words.flatMap((word) => transportOf(textOf(word) ?? '') ?? [])[0];
}

/** Longest timeout of clients that count in seconds; a larger number is milliseconds. */
const MAX_TIMEOUT_SECONDS = 3600;
/** Default of `max_request_seconds`. */
const DEFAULT_MAX_REQUEST_SECONDS = 600;

/** Units of `timeout`; in the files of other clients, the value decides. */
const timeoutUnits: Partial<Record<DialectClient, 'ms' | 'seconds'>> = {
  gemini: 'ms',
  copilot: 'ms',
  opencode: 'ms',
  cline: 'seconds',
  codex: 'seconds',
  goose: 'seconds',
};

/** Converts `timeout` to seconds. A long timeout also raises the limit for the whole request. */
function withTimeout(entry: YamlMap, { client }: Dialect): YamlMap {
  const pair = entry.pairs.find(({ key }) => key === 'timeout');
  const value = pair && plainValue(pair.value);
  if (pair === undefined || typeof value !== 'number') return entry;
  const rest = withoutMembers(entry, ['timeout']);
  if (value <= 0 || has(entry, 'request_timeout_seconds')) return rest;
  const unit = timeoutUnits[client];
  const isMs = unit === 'ms' || (unit === undefined && value > MAX_TIMEOUT_SECONDS);
  const seconds = isMs ? value / 1000 : value;
  const isLong = seconds > DEFAULT_MAX_REQUEST_SECONDS && !has(entry, 'max_request_seconds');
  const keys = ['request_timeout_seconds', ...(isLong ? ['max_request_seconds'] : [])];
  return withPairs(rest, ...keys.map((key) => ({ ...pair, key, value: scalarLike(pair.value, seconds) })));
}

/** Adds the variables of `envFile` to `env`, which has priority. */
function withEnvFile(reader: SchemaReader, entry: YamlMap, path: string, dialect: Dialect): YamlMap {
  const pair = entry.pairs.find(({ key }) => key === 'envFile');
  const written = textOf(pair?.value);
  if (pair === undefined || written === undefined || written === '') return entry;
  const rest = withoutMembers(entry, ['envFile']);
  const fieldPath = joinPath(path, 'envFile');
  if (reader.isFaulty(fieldPath)) return rest;
  const file = resolve(dialect.folder, written.replace(/^~(?=$|[\\/])/, homedir()));
  const variables = readVariables(file);
  if (variables.reason !== undefined) {
    reader.recordPosition(fieldPath, pair.keyOffset, pair.value.offset);
    reader.report(fieldPath, `${file}: ${variables.reason}`);
    return rest;
  }
  const env = rest.pairs.find(({ key }) => key === 'env');
  const envMap: YamlMap =
    env?.value.kind === 'map' ? env.value : { kind: 'map', offset: (env ?? pair).value.offset, pairs: [] };
  const addedPairs = Object.entries(variables.values)
    .filter(([name]) => !has(envMap, name))
    .map(([name, text]) => {
      // A value may contain `${`, which is escaped so that it is not read as a reference.
      const value = dialect.envFiles === 'references' ? `\${${name}}` : text.replaceAll('${', () => '$${');
      return { key: name, keyOffset: pair.keyOffset, value: scalarLike(pair.value, value) };
    });
  const all = { ...(env ?? pair), key: 'env', value: withPairs(envMap, ...addedPairs) };
  return withPairs(withoutMembers(rest, ['env']), all);
}

const has = (map: YamlMap, key: string) => memberOf(map, key) !== undefined;

const withPairs = (map: YamlMap, ...more: YamlPair[]): YamlMap => ({
  ...map,
  pairs: [...map.pairs, ...more],
});

function isNull(tree: YamlTree): boolean {
  return tree.kind === 'scalar' && (tree.value === null || tree.value === undefined);
}

/** Filters the members, and converts numbers and booleans to texts. */
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
