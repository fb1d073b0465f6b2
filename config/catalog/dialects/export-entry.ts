// Converts server entries to the format of the file that an edit changes (edit-catalog.ts). Files of clients
// have different fields for address and transport, and different references to variables. They disable a
// server by `enabled: false` or `disabled: true`. A native catalog keeps the native format.

import { basename, dirname } from 'node:path';
import type { Client as ClientRecord } from '../../clients/client.ts';
import { clientNamed } from '../../clients/client-list.ts';
import type { SourceFile } from '../../reader/source-file.ts';
import { memberOf } from '../../reader/yaml-members.ts';
import { parseYamlTree, type YamlTree } from '../../reader/yaml-tree.ts';
import type { EntryToWrite } from '../edit-block.ts';
import { clientKeys, dialectOf, isVsCodeFile } from './dialect.ts';

export interface FileFormat {
  /** Line that disables a server whose entry has neither `enabled` nor `disabled`. */
  readonly disablingLine: 'enabled: false' | 'disabled: true';
  /** Converts an entry of the catalog to the file's format. */
  entry(ours: EntryToWrite): EntryToWrite;
}

const nativeFormat: FileFormat = { disablingLine: 'enabled: false', entry: (ours) => ours };

/** Returns the file's format; the native format if the file has no servers or cannot be parsed. */
export function formatOf(source: SourceFile): FileFormat {
  const { root } = parseYamlTree(source);
  const key = ['servers', ...clientKeys].find((each) => memberOf(root, each)?.kind === 'map');
  const servers = key === undefined ? undefined : memberOf(root, key);
  if (root === undefined || key === undefined || servers?.kind !== 'map') return nativeFormat;
  if (key === 'servers' && !isVsCodeFile(root, servers, source.path)) return nativeFormat;
  const client = clientOf(source.path, dialectOf(root, servers, key, source.path).client, servers);
  const usesDisabledField =
    client?.id === 'cline' || client?.id === 'windsurf' || hasField(servers, 'disabled');
  return {
    disablingLine: usesDisabledField ? 'disabled: true' : 'enabled: false',
    entry: (ours) => toClientFormat(ours, client),
  };
}

/** Returns the client that owns the file; undefined if several clients share its format. */
function clientOf(path: string, dialect: string, servers: YamlTree): ClientRecord | undefined {
  if (basename(dirname(path)) === '.cursor') return clientNamed('cursor');
  const isWindsurf = basename(path) === 'mcp_config.json' || hasField(servers, 'serverUrl');
  return clientNamed(dialect === 'any' && isWindsurf ? 'windsurf' : dialect);
}

/** Returns true if any server has the field. */
function hasField(servers: YamlTree, field: string): boolean {
  return servers.kind === 'map' && servers.pairs.some(({ value }) => memberOf(value, field) !== undefined);
}

function toClientFormat(ours: EntryToWrite, client: ClientRecord | undefined): EntryToWrite {
  const { url, runtime, ...rest } = ours;
  const entry =
    url === undefined
      ? withProgramType(ours, client)
      : { ...toAddressFields(url, runtime === 'sse', client), ...rest };
  // VS Code (`input`) prefers prompts, `${input:name}`, but also supports `${env:NAME}`.
  return client?.reference === 'env' || client?.reference === 'input' ? withEnvReferences(entry) : entry;
}

/** Adds the `type` that some clients require for servers they start as a program. */
function withProgramType(ours: EntryToWrite, client: ClientRecord | undefined): EntryToWrite {
  return client?.programType === undefined ? ours : { type: client.programType, ...ours };
}

/**
 * Returns the fields for address and transport. SSE, the older transport, is `url` instead of `httpUrl` in
 * Gemini's files, and `type: sse` in all others.
 */
function toAddressFields(url: unknown, isSse: boolean, client: ClientRecord | undefined): EntryToWrite {
  const { urlKey = 'url', type } = client?.remote ?? {};
  if (!isSse) return { ...(type === undefined ? {} : { type }), [urlKey]: url };
  return client?.id === 'gemini' ? { url } : { type: 'sse', [urlKey]: url };
}

/** Rewrites `${NAME}` to `${env:NAME}`, the syntax for variables in VS Code, Cursor and Windsurf. */
function withEnvReferences(value: EntryToWrite): EntryToWrite {
  const text = JSON.stringify(value).replace(/(?<!\$)\$\{([A-Za-z_]\w*)\}/g, `\${env:$1}`);
  return JSON.parse(text) as EntryToWrite;
}
