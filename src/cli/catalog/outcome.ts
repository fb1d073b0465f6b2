// What a change of a catalog came to, for people and as JSON.

import { relative } from 'node:path';
import { printable } from '../../terminal/terminal-text.ts';
import { programName } from '../program-name.ts';
import { counted } from '../views/figures.ts';
import { print, printJson } from '../views/output.ts';
import type { CatalogFile } from './change-catalog.ts';
import type { Aftermath } from './running-gateway.ts';

export interface Outcome {
  readonly server: string;
  readonly did: 'added' | 'replaced' | 'removed' | 'enabled' | 'disabled' | 'nothing';
  readonly file: CatalogFile;
  readonly after: Aftermath;
}

const SHOWN_TOOLS = 20;

/** Prints it and gives the exit code: 1 where the gateway refused the change, or the server does not start. */
export async function tell(outcome: Outcome, isJson: boolean): Promise<number> {
  if (isJson) await printJson(JSON.stringify(asJson(outcome)));
  else await print(`${linesFor(outcome).join('\n')}\n`);
  const { after } = outcome;
  const isBad =
    after.gateway === 'refused' ||
    (after.gateway === 'reloaded' && after.offer !== undefined && 'why' in after.offer);
  return isBad ? 1 : 0;
}

/** As it is written from here. */
export function shortPath(path: string): string {
  const short = relative(process.cwd(), path);
  return short === '' || short.startsWith('..') ? path : short;
}

function asJson({ server, did, file, after }: Outcome) {
  const { draft, place } = file;
  const offer = after.gateway === 'reloaded' ? after.offer : undefined;
  const failed =
    after.gateway === 'refused' ? after : offer !== undefined && 'why' in offer ? offer : undefined;
  return {
    server,
    did,
    catalog: place.catalogPath,
    env_file: draft.added.length === 0 ? null : place.envPath,
    variables: draft.added,
    gateway: after.gateway,
    address: 'address' in after ? after.address : null,
    tools: offer !== undefined && 'tools' in offer ? offer.tools : null,
    error: failed === undefined ? null : { message: failed.why, details: failed.details },
  };
}

function linesFor({ server, did, file, after }: Outcome): string[] {
  const { draft, place } = file;
  const where = shortPath(place.catalogPath);
  const lines = [did === 'nothing' ? `${server} is so already in ${where}` : sentence(server, did, where)];
  if (draft.added.length > 0) {
    const names = draft.added.map((name) => `\${${name}}`).join(', ');
    lines.push(
      `secrets are in ${shortPath(place.envPath)} (mode 0600), and the catalog refers to them: ${names}`,
    );
  }
  return [...lines, ...linesAfter(server, after, place)];
}

function sentence(server: string, did: Outcome['did'], where: string): string {
  if (did === 'removed') return `${server} is removed from ${where}`;
  return did === 'added' ? `${server} is added to ${where}` : `${server} is ${did} in ${where}`;
}

function linesAfter(
  server: string,
  after: Aftermath,
  { config, catalogPath }: CatalogFile['place'],
): string[] {
  const start = config === undefined ? `--catalog ${shortPath(catalogPath)}` : `--config ${config}`;
  switch (after.gateway) {
    case 'left':
      return [];
    case 'away':
      return [`${after.why}; start one with: ${programName()} ${start}`];
    case 'refused':
      return [
        `the gateway at ${after.address} goes on as it was: ${printable(after.why)}`,
        ...after.details.map((line) => `  ${printable(line)}`),
      ];
    case 'reloaded': {
      const { address, offer } = after;
      if (offer === undefined) return [`the gateway at ${address} has read it`];
      if ('why' in offer)
        return [
          `the gateway at ${address} has read it, but ${server} is of no use yet: ${printable(offer.why)}`,
          ...offer.details.map((line) => `  ${printable(line)}`),
        ];
      const { tools } = offer;
      const more = tools.length > SHOWN_TOOLS ? ` and ${tools.length - SHOWN_TOOLS} more` : '';
      const names =
        tools.length === 0 ? '' : `: ${tools.slice(0, SHOWN_TOOLS).map(printable).join(', ')}${more}`;
      return [
        `the gateway at ${address} has read it; ${server} offers ${counted(tools.length, 'tool')}${names}`,
      ];
    }
  }
}
