// What a client needs to reach this gateway, as text to be copied: the entry of its file by address and by a program, the file, and what else is to be
// done. A key is never in it, only a reference.

import type { Client, Machine } from '../../../../config/clients/client.ts';
import {
  type Connection,
  canConnect,
  claudeCodeCommand,
  clientDocument,
  entryFor,
} from '../../../../config/clients/client-entry.ts';

/** Where everything of the gateway looks for its key. */
const KEY_VARIABLE = 'GATEWAY_API_KEY';

export interface Wanted {
  readonly client: Client;
  readonly system: System;
  /** Where the page was loaded from. */
  readonly origin: string;
  readonly reach: Reach;
  readonly needsKey: boolean;
  /** What starts the stdio form where the client runs. */
  readonly program: { readonly command: string; readonly args: readonly string[] };
}

/** What of the gateway: all servers, one of them, or a profile. */
export interface Reach {
  readonly kind: 'all' | 'server' | 'profile';
  readonly name: string;
}

export const everything: Reach = { kind: 'all', name: '' };

export interface ConnectEntries {
  /** JSON of a file that has the entry and nothing else; or why there is none. */
  readonly http: { readonly text: string } | { readonly why: string };
  readonly stdio: string;
  /** A line for a shell, where the client has a command of its own. */
  readonly command: string | undefined;
  /** The line that puts the entry into the file. */
  readonly writes: string;
  readonly files: readonly { readonly scope: 'user' | 'project'; readonly path: string }[];
  /** Of the key. */
  readonly note: string | undefined;
}

export type System = 'macOS' | 'Windows' | 'Linux';
export const systems: readonly System[] = ['macOS', 'Windows', 'Linux'];

/** Places as people write them. */
const machines: Readonly<Record<System, Machine>> = {
  macOS: { platform: 'darwin', home: '~', cwd: '.' },
  Windows: { platform: 'win32', home: '%USERPROFILE%', appData: '%APPDATA%', cwd: '.' },
  Linux: { platform: 'linux', home: '~', cwd: '.' },
};

export function connectEntries({ client, system, origin, reach, needsKey, program }: Wanted): ConnectEntries {
  const isServer = reach.kind === 'server';
  const name = isServer ? reach.name.replace(/[^\w-]/g, '-') : 'actor-gateway';
  const segments = { all: '', server: '/', profile: '/@' };
  const url = `${origin}/mcp${segments[reach.kind]}${encodeURIComponent(reach.name)}`;
  const keyVariable = needsKey ? KEY_VARIABLE : undefined;
  const byAddress: Connection = { kind: 'http', url, keyVariable };
  const byProgram: Connection = {
    kind: 'stdio',
    command: program.command,
    args: [...program.args, '--url', url, ...(needsKey ? ['--api-key-variable', KEY_VARIABLE] : [])],
    variables: needsKey ? [KEY_VARIABLE] : [],
  };
  const text = (connection: Connection) =>
    JSON.stringify(clientDocument(client, name, entryFor(client, connection)), null, 2);
  return {
    http: canConnect(client, byAddress) ? { text: text(byAddress) } : { why: whyNot(client) },
    stdio: text(byProgram),
    command: client.id === 'claude-code' ? claudeCodeCommand(name, byAddress) : undefined,
    writes: `actor-gateway connect ${client.id} --url ${url}${isServer ? ` --name ${name}` : ''} --write`,
    files: client.files(machines[system]),
    note: needsKey ? keyNote(client) : undefined,
  };
}

function whyNot({ label, remote }: Client): string {
  return remote === undefined
    ? `The file of ${label} takes programs only: use the entry that starts one.`
    : `${label} takes no reference to a key in an address: use the entry that starts a program.`;
}

function keyNote({ label, reference, isPassingEnvironment }: Client): string {
  if (reference === 'input') return `${label} asks for the key when it starts the server, and keeps it.`;
  if (reference !== 'none' || isPassingEnvironment)
    return `The key is read from the variable ${KEY_VARIABLE}, which has to be set where ${label} is started.`;
  return `${label} replaces no variables: write the key itself in place of \${${KEY_VARIABLE}} in its file, or name a file with it (--api-key-file FILE in args).`;
}

/** The system of the browser, by what it says of itself. */
export function systemOf(userAgent: string): System {
  if (/Windows/.test(userAgent)) return 'Windows';
  return /Mac OS|Macintosh|iPhone|iPad/.test(userAgent) ? 'macOS' : 'Linux';
}

/** Whether an address is that of the machine that asks. */
export function isOwnMachine(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
