// Prints the outcome of commands that change the catalog, as text or JSON.

import { relative } from 'node:path';
import { printable } from '../../terminal/terminal-text.ts';
import { programName } from '../program-name.ts';
import { counted } from '../views/figures.ts';
import { print, printJson } from '../views/output.ts';
import type { CatalogFile } from './file.ts';
import type { ReloadResult } from './reload-gateway.ts';

export interface CatalogOutcome {
  readonly server: string;
  readonly did: 'added' | 'replaced' | 'removed' | 'enabled' | 'disabled' | 'nothing';
  readonly file: CatalogFile;
  readonly reload: ReloadResult;
}

const MAX_TOOLS = 20;

/** Prints the outcome. Returns exit code 1 if the gateway refused the change or the server does not start. */
export async function printOutcome(outcome: CatalogOutcome, isJson: boolean): Promise<number> {
  if (isJson) await printJson(JSON.stringify(asJson(outcome)));
  else await print(`${linesFor(outcome).join('\n')}\n`);
  const { reload } = outcome;
  const hasFailed =
    reload.gateway === 'refused' ||
    (reload.gateway === 'reloaded' && reload.startResult !== undefined && 'why' in reload.startResult);
  return hasFailed ? 1 : 0;
}

/** Returns the path relative to the current folder; outside of this folder, the absolute path. */
export function relativePath(path: string): string {
  const short = relative(process.cwd(), path);
  return short === '' || short.startsWith('..') ? path : short;
}

function asJson({ server, did, file, reload }: CatalogOutcome) {
  const { draft, location } = file;
  const startResult = reload.gateway === 'reloaded' ? reload.startResult : undefined;
  const startFailure = startResult !== undefined && 'why' in startResult ? startResult : undefined;
  const failure = reload.gateway === 'refused' ? reload : startFailure;
  return {
    server,
    did,
    catalog: location.catalogPath,
    env_file: draft.addedNames.length === 0 ? null : location.envPath,
    variables: draft.addedNames,
    gateway: reload.gateway,
    address: 'address' in reload ? reload.address : null,
    tools: startResult !== undefined && 'tools' in startResult ? startResult.tools : null,
    error: failure === undefined ? null : { message: failure.why, details: failure.details },
  };
}

function linesFor({ server, did, file, reload }: CatalogOutcome): string[] {
  const { draft, location } = file;
  const catalogName = relativePath(location.catalogPath);
  const lines = [
    did === 'nothing'
      ? `${server} is already in this state in ${catalogName}`
      : changeText(server, did, catalogName),
  ];
  if (draft.addedNames.length > 0) {
    const names = draft.addedNames.map((name) => `\${${name}}`).join(', ');
    lines.push(
      `secrets are in ${relativePath(location.envPath)} (mode 0600); the catalog references them as ${names}`,
    );
  }
  return [...lines, ...reloadLines(server, reload, location)];
}

function changeText(server: string, did: CatalogOutcome['did'], catalogName: string): string {
  if (did === 'removed') return `${server} was removed from ${catalogName}`;
  return did === 'added' ? `${server} was added to ${catalogName}` : `${server} is ${did} in ${catalogName}`;
}

function reloadLines(
  server: string,
  reload: ReloadResult,
  { config, catalogPath }: CatalogFile['location'],
): string[] {
  const start = config === undefined ? `--catalog ${relativePath(catalogPath)}` : `--config ${config}`;
  switch (reload.gateway) {
    case 'left':
      return [];
    case 'away':
      return [`${reload.why}; start it with: ${programName()} ${start}`];
    case 'refused':
      return [
        `the gateway at ${reload.address} refused the change and keeps the previous configuration: ${printable(reload.why)}`,
        ...reload.details.map((line) => `  ${printable(line)}`),
      ];
    case 'reloaded': {
      const { address, startResult } = reload;
      if (startResult === undefined) return [`the gateway at ${address} was reloaded`];
      if ('why' in startResult)
        return [
          `the gateway at ${address} was reloaded, but ${server} does not work: ${printable(startResult.why)}`,
          ...startResult.details.map((line) => `  ${printable(line)}`),
        ];
      const { tools } = startResult;
      const more = tools.length > MAX_TOOLS ? ` and ${tools.length - MAX_TOOLS} more` : '';
      const names =
        tools.length === 0 ? '' : `: ${tools.slice(0, MAX_TOOLS).map(printable).join(', ')}${more}`;
      return [
        `the gateway at ${address} was reloaded; ${server} offers ${counted(tools.length, 'tool')}${names}`,
      ];
    }
  }
}
