// --print-config: the entry with which a desktop client starts this program. Values that may be secret are never
// printed; in their place stands a reference, and `env` names what the client has to provide.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { LoadTarget } from '../../../config/load-config.ts';
import { isReference, referencesIn, referencesInFile } from '../../../config/reader/references.ts';
import type { StdioTarget } from '../stdio-options.ts';

const NAME = 'actor-gateway';

/** What may stand around a reference without being a secret. */
const SCHEMES = /^((Bearer|Basic|Token)\s+)?$/i;

/**
 * The text to print; `script` is the absolute path of this program, and the words that belong to it. Reads the files of
 * `target` again.
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

type RemoteTarget = Extract<StdioTarget, { readonly url: string }>;

/** What gateway-stdio is started with for a target. Reads its files again. */
export function argumentsFor(target: StdioTarget, files: readonly string[]): Arguments {
  return 'url' in target ? remoteArguments(target) : localArguments(target, files);
}

interface Arguments {
  readonly args: readonly string[];
  /** Variables the program needs. */
  readonly names: readonly string[];
}

/** A desktop client passes little of the user's environment on, so that what the files refer to has to be named. */
function localArguments(
  target: LoadTarget & { server: string | undefined; profile: string | undefined },
  files: readonly string[],
): Arguments {
  const server = target.server === undefined ? [] : ['--server', target.server];
  const profile = target.profile === undefined ? [] : ['--profile', target.profile];
  const names = new Set(files.flatMap((file) => referencesInFile(readFileSync(file, 'utf8'))));
  const file =
    'config' in target ? ['--config', resolve(target.config)] : ['--catalog', resolve(target.catalog)];
  return { args: [...file, ...server, ...profile], names: [...names] };
}

function remoteArguments(target: RemoteTarget): Arguments {
  const names = new Set(referencesIn(target.url));
  const args = Object.entries(target.headers).flatMap(([name, value]) => {
    const shown = withoutValue(name, value);
    for (const each of referencesIn(shown)) names.add(each);
    return ['--header', `${name}: ${shown}`];
  });
  return { args: ['--url', target.url, ...args, ...keyArguments(target, names)], names: [...names] };
}

function keyArguments({ keyFile, keyVariable }: RemoteTarget, names: Set<string>): string[] {
  if (keyFile !== undefined) return ['--api-key-file', resolve(keyFile)];
  if (keyVariable === undefined) return [];
  names.add(keyVariable);
  return ['--api-key-variable', keyVariable];
}

function withoutValue(header: string, value: string): string {
  if (isReference(value, SCHEMES)) return value;
  return `\${${header.toUpperCase().replace(/[^A-Z0-9]/g, '_')}}`;
}
