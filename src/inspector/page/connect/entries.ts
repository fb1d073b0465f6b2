// Creates the client configuration to copy: an entry for HTTP and one for stdio, the paths of the client's
// files, and notes. Entries contain the environment variable of the key, never the key.

import type { Client, Machine } from '../../../../config/clients/client.ts';
import {
  type ClientConnection,
  canConnect,
  claudeCodeCommand,
  clientDocument,
  entryFor,
} from '../../../../config/clients/client-entry.ts';

/** Environment variable of the key. */
const KEY_VARIABLE = 'GATEWAY_API_KEY';

export interface EntryOptions {
  readonly client: Client;
  readonly system: System;
  /** Address of the gateway: the origin of this page, with the prefix of a proxy. */
  readonly address: string;
  readonly selection: ServerSelection;
  readonly needsKey: boolean;
  /** Start command of the stdio program on the client's machine. */
  readonly program: { readonly command: string; readonly args: readonly string[] };
}

/** Servers of the entry: all servers, one server, or a profile. */
export interface ServerSelection {
  readonly kind: 'all' | 'server' | 'profile';
  readonly name: string;
}

export const ALL_SERVERS: ServerSelection = { kind: 'all', name: '' };

export interface ConnectEntries {
  /** JSON document with this entry only, or the reason why it is impossible. */
  readonly http: { readonly text: string } | { readonly reason: string };
  readonly stdio: string;
  /** Shell command, if the client has such a command. */
  readonly command: string | undefined;
  /** Command that writes the entry into the file. */
  readonly connectCommand: string;
  readonly files: readonly { readonly scope: 'user' | 'project'; readonly path: string }[];
  /** Explains how the client obtains the key; undefined if no key is required. */
  readonly note: string | undefined;
}

export type System = 'macOS' | 'Windows' | 'Linux';
export const systems: readonly System[] = ['macOS', 'Windows', 'Linux'];

/** Folders in the notation of each system. */
const machines: Readonly<Record<System, Machine>> = {
  macOS: { platform: 'darwin', home: '~', cwd: '.' },
  Windows: { platform: 'win32', home: '%USERPROFILE%', appData: '%APPDATA%', cwd: '.' },
  Linux: { platform: 'linux', home: '~', cwd: '.' },
};

export function connectEntries({
  client,
  system,
  address,
  selection,
  needsKey,
  program,
}: EntryOptions): ConnectEntries {
  const isServer = selection.kind === 'server';
  const name = isServer ? selection.name.replace(/[^\w-]/g, '-') : 'actor-gateway';
  const segments = { all: '', server: '/', profile: '/@' };
  const url = `${address}/mcp${segments[selection.kind]}${encodeURIComponent(selection.name)}`;
  const keyVariable = needsKey ? KEY_VARIABLE : undefined;
  const byAddress: ClientConnection = { kind: 'http', url, keyVariable };
  const byProgram: ClientConnection = {
    kind: 'stdio',
    command: program.command,
    args: [...program.args, '--url', url, ...(needsKey ? ['--api-key-variable', KEY_VARIABLE] : [])],
    variables: needsKey ? [KEY_VARIABLE] : [],
  };
  const text = (connection: ClientConnection) =>
    JSON.stringify(clientDocument(client, name, entryFor(client, connection)), null, 2);
  return {
    http: canConnect(client, byAddress) ? { text: text(byAddress) } : { reason: refusalReason(client) },
    stdio: text(byProgram),
    command: client.id === 'claude-code' ? claudeCodeCommand(name, byAddress) : undefined,
    connectCommand: `actor-gateway connect ${client.id} --url ${url}${isServer ? ` --name ${name}` : ''} --write`,
    files: client.files(machines[system]),
    note: needsKey ? keyNote(client) : undefined,
  };
}

function refusalReason({ label, remote }: Client): string {
  return remote === undefined
    ? `${label} only supports stdio: select stdio.`
    : `${label} cannot refer to a key in HTTP entries: select stdio.`;
}

function keyNote({ label, reference, isPassingEnvironment }: Client): string {
  if (reference === 'input') return `${label} prompts for the key when it starts the server, and stores it.`;
  if (reference !== 'none' || isPassingEnvironment)
    return `The key is read from the environment variable ${KEY_VARIABLE}; set it before you start ${label}.`;
  return `${label} does not replace variables: write the key instead of \${${KEY_VARIABLE}} into its file, or pass a file that contains it (--api-key-file FILE in args).`;
}

/** Returns the browser's operating system, from the user agent. */
export function systemOf(userAgent: string): System {
  if (/Windows/.test(userAgent)) return 'Windows';
  return /Mac OS|Macintosh|iPhone|iPad/.test(userAgent) ? 'macOS' : 'Linux';
}

/** Returns true for a loopback address: client and gateway are on the same machine. */
export function isOwnMachine(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
