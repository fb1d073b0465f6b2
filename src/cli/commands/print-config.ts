// `stdio --print-config` and `connect`: creates the entry with which a desktop client starts this program. In
// place of secret values the entry has references to variables; `env` lists the variables that the client
// must provide.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { LoadTarget } from '../../../config/load-config.ts';
import { isReference, referencesIn, referencesInFile } from '../../../config/reader/references.ts';
import type { StdioTarget } from '../stdio-options.ts';

const NAME = 'actor-gateway';

/** Authentication schemes that may precede a reference (`Bearer ${TOKEN}`). */
const SCHEMES = /^((Bearer|Basic|Token)\s+)?$/i;

/**
 * Returns the entry as JSON. `script` is the absolute path of this program and its first arguments. `files`
 * are read to find references to variables.
 */
export function desktopEntry(
  target: StdioTarget,
  script: readonly string[],
  files: readonly string[],
): string {
  const { args, names } = argumentsFor(target, files);
  const env = Object.fromEntries(names.map((name) => [name, `\${${name}}`]));
  const entry = {
    command: process.execPath,
    args: [...script, ...args],
    ...(names.length === 0 ? {} : { env }),
  };
  return `${JSON.stringify({ mcpServers: { [NAME]: entry } }, undefined, 2)}\n`;
}

type RemoteStdioTarget = Extract<StdioTarget, { readonly url: string }>;

/** Returns the arguments and variables for a target. Reads `files` to find references to variables. */
export function argumentsFor(target: StdioTarget, files: readonly string[]): ProgramArguments {
  return 'url' in target ? remoteArguments(target) : localArguments(target, files);
}

interface ProgramArguments {
  readonly args: readonly string[];
  /** Names of the variables that the program needs. */
  readonly names: readonly string[];
}

/** Lists the variables that the files reference: desktop clients pass only listed variables. */
function localArguments(
  target: LoadTarget & { server: string | undefined; profile: string | undefined },
  files: readonly string[],
): ProgramArguments {
  const server = target.server === undefined ? [] : ['--server', target.server];
  const profile = target.profile === undefined ? [] : ['--profile', target.profile];
  const names = new Set(files.flatMap((file) => referencesInFile(readFileSync(file, 'utf8'))));
  const file =
    'config' in target ? ['--config', resolve(target.config)] : ['--catalog', resolve(target.catalog)];
  return { args: [...file, ...server, ...profile], names: [...names] };
}

function remoteArguments(target: RemoteStdioTarget): ProgramArguments {
  const names = new Set(referencesIn(target.url));
  const args = Object.entries(target.headers).flatMap(([name, value]) => {
    const safeValue = safeValueOf(name, value);
    for (const each of referencesIn(safeValue)) names.add(each);
    return ['--header', `${name}: ${safeValue}`];
  });
  return { args: ['--url', target.url, ...args, ...keyArguments(target, names)], names: [...names] };
}

function keyArguments({ keyFile, keyVariable }: RemoteStdioTarget, names: Set<string>): string[] {
  if (keyFile !== undefined) return ['--api-key-file', resolve(keyFile)];
  if (keyVariable === undefined) return [];
  names.add(keyVariable);
  return ['--api-key-variable', keyVariable];
}

/** Returns `value` if this is a reference; otherwise a reference to a variable named after the header. */
function safeValueOf(header: string, value: string): string {
  if (isReference(value, SCHEMES)) return value;
  return `\${${header.toUpperCase().replace(/[^A-Z0-9]/g, '_')}}`;
}
