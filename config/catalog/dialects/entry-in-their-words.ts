// What a command puts into a file, in the words of the client whose file it is, so that the client reads it as well: how an address
// and its transport are said, how a variable is referred to, and how a server is switched off. In a catalog of ours these are our words.

import { basename, dirname } from 'node:path';
import type { Client as ClientRecord } from '../../clients/client.ts';
import { clientNamed } from '../../clients/client-list.ts';
import type { SourceFile } from '../../reader/source-file.ts';
import { memberOf } from '../../reader/yaml-members.ts';
import { parseYamlTree, type YamlTree } from '../../reader/yaml-tree.ts';
import type { EntryToWrite } from '../edit-block.ts';
import { clientKeys, dialectOf, isVsCodeFile } from './dialect.ts';

export interface FilesWords {
  /** Of an entry that is off, where it does not say yet. */
  readonly off: 'enabled: false' | 'disabled: true';
  /** A new entry; what is given is in our fields. */
  entry(ours: EntryToWrite): EntryToWrite;
}

const ownWords: FilesWords = { off: 'enabled: false', entry: (ours) => ours };

/** Those of a file that can be read; for any other our own. */
export function wordsOf(source: SourceFile): FilesWords {
  const { root } = parseYamlTree(source);
  const key = ['servers', ...clientKeys].find((each) => memberOf(root, each)?.kind === 'map');
  const servers = key === undefined ? undefined : memberOf(root, key);
  if (root === undefined || key === undefined || servers?.kind !== 'map') return ownWords;
  if (key === 'servers' && !isVsCodeFile(root, servers, source.path)) return ownWords;
  const client = clientOf(source.path, dialectOf(root, servers, key, source.path).client, servers);
  const isDisabling = client?.id === 'cline' || client?.id === 'windsurf' || isSaid(servers, 'disabled');
  return {
    off: isDisabling ? 'disabled: true' : 'enabled: false',
    entry: (ours) => inTheirWords(ours, client),
  };
}

/** Undefined for a file that several clients have alike. */
function clientOf(path: string, dialect: string, servers: YamlTree): ClientRecord | undefined {
  if (basename(dirname(path)) === '.cursor') return clientNamed('cursor');
  const isWindsurf = basename(path) === 'mcp_config.json' || isSaid(servers, 'serverUrl');
  return clientNamed(dialect === 'any' && isWindsurf ? 'windsurf' : dialect);
}

function isSaid(servers: YamlTree, word: string): boolean {
  return servers.kind === 'map' && servers.pairs.some(({ value }) => memberOf(value, word) !== undefined);
}

function inTheirWords(ours: EntryToWrite, client: ClientRecord | undefined): EntryToWrite {
  const { url, runtime, ...rest } = ours;
  const entry =
    url === undefined ? programOf(ours, client) : { ...placeOf(url, runtime === 'sse', client), ...rest };
  return client?.reference === 'env' || client?.reference === 'input' ? withEnv(entry) : entry;
}

function programOf(ours: EntryToWrite, client: ClientRecord | undefined): EntryToWrite {
  return client?.programType === undefined ? ours : { type: client.programType, ...ours };
}

/** The older transport has a word of its own in some files, and where a type is said it is one. */
function placeOf(url: unknown, isSse: boolean, client: ClientRecord | undefined): EntryToWrite {
  const { urlKey = 'url', type } = client?.remote ?? {};
  if (!isSse) return { ...(type === undefined ? {} : { type }), [urlKey]: url };
  return client?.id === 'gemini' ? { url } : { type: 'sse', [urlKey]: url };
}

/** VS Code, Cursor and Windsurf know `${env:NAME}` alone. */
function withEnv(value: EntryToWrite): EntryToWrite {
  const text = JSON.stringify(value).replace(/(?<!\$)\$\{([A-Za-z_]\w*)\}/g, `\${env:$1}`);
  return JSON.parse(text) as EntryToWrite;
}
