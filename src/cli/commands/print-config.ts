// --print-config: the entry with which a desktop client starts this program. Values that may be secret are never
// printed; in their place stands a reference, and `env` names what the client has to provide.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isReference, referencesIn, referencesInFile } from '../../../config/reader/references.ts';
import type { StdioTarget } from '../stdio-options.ts';

const NAME = 'actor-gateway';

/** What may stand around a reference without being a secret. */
const SCHEMES = /^((Bearer|Basic|Token)\s+)?$/i;

/** The text to print; `script` is the absolute path of this program. Reads the files of `target` again. */
export function desktopEntry(target: StdioTarget, script: string, files: readonly string[]): string {
  const { args, names } = 'url' in target ? remoteArguments(target) : localArguments(target, files);
  const env = Object.fromEntries(names.map((name) => [name, `\${${name}}`]));
  const entry = {
    command: process.execPath,
    args: [script, ...args],
    ...(names.length === 0 ? {} : { env }),
  };
  return `${JSON.stringify({ mcpServers: { [NAME]: entry } }, undefined, 2)}\n`;
}

interface Arguments {
  readonly args: readonly string[];
  /** Variables the program needs. */
  readonly names: readonly string[];
}

/** A desktop client passes little of the user's environment on, so that what the files refer to has to be named. */
function localArguments(
  target: { config: string; server: string | undefined },
  files: readonly string[],
): Arguments {
  const server = target.server === undefined ? [] : ['--server', target.server];
  const names = new Set(files.flatMap((file) => referencesInFile(readFileSync(file, 'utf8'))));
  return { args: ['--config', resolve(target.config), ...server], names: [...names] };
}

function remoteArguments(target: { url: string; headers: Readonly<Record<string, string>> }): Arguments {
  const names = new Set(referencesIn(target.url));
  const args = Object.entries(target.headers).flatMap(([name, value]) => {
    const shown = withoutValue(name, value);
    for (const each of referencesIn(shown)) names.add(each);
    return ['--header', `${name}: ${shown}`];
  });
  return { args: ['--url', target.url, ...args], names: [...names] };
}

function withoutValue(header: string, value: string): string {
  if (isReference(value, SCHEMES)) return value;
  return `\${${header.toUpperCase().replace(/[^A-Z0-9]/g, '_')}}`;
}
