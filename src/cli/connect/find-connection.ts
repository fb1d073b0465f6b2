// Decides how a client connects to the gateway: by address, or by starting `actor-gateway stdio` with
// absolute paths. A request to the gateway shows whether it requires a key. The key itself is not needed
// and not printed.

import { join, resolve } from 'node:path';
import type { Client } from '../../../config/clients/client.ts';
import { type ClientConnection, canConnect } from '../../../config/clients/client-entry.ts';
import { loadConfig } from '../../../config/load-config.ts';
import { ApiClient, ApiProblem } from '../api/client.ts';
import { CommandLineError, KEY_VARIABLE, readKeyFile, readTarget } from '../api/target-options.ts';
import { argumentsFor } from '../commands/print-config.ts';
import type { StdioTarget } from '../stdio-options.ts';
import type { ConnectOptions } from './options.ts';

interface FoundConnection {
  readonly connection: ClientConnection;
  /** Remaining steps for the user, as sentences. */
  readonly notes: readonly string[];
}

const KEY_CHECK_MS = 2_000;

/** Returns the connection. Throws CommandLineError, and ConfigError if the configuration is invalid. */
export async function findConnection(client: Client, options: ConnectOptions): Promise<FoundConnection> {
  const { config, url, stdio: isProgramWanted } = options;
  const isProgram = isProgramWanted === true || client.remote === undefined;
  if (isProgram && config !== undefined && url === undefined) return localConnection(client, config, options);
  const { base, address } = await resolveAddresses(options);
  const notes: string[] = [];
  const keyVariable = await findKeyVariable(base, options, notes);
  const direct = { kind: 'http', url: address, keyVariable } as const;
  if (!isProgram && options.apiKeyFile === undefined && canConnect(client, direct))
    return { connection: direct, notes: [...notes, ...notesOnKey(client, keyVariable)] };
  if (!isProgram && options.apiKeyFile === undefined)
    notes.push(`${client.label} does not support references to keys, so the entry starts a program.`);
  const target: StdioTarget = { url: address, headers: {}, keyFile: options.apiKeyFile, keyVariable };
  // Throws if the file does not contain a key.
  if (options.apiKeyFile !== undefined) readKeyFile(options.apiKeyFile);
  return programConnection(client, target, [], notes);
}

async function localConnection(
  client: Client,
  config: string,
  { profile }: ConnectOptions,
): Promise<FoundConnection> {
  const { configPath, catalogPath } = await loadConfig(config, process.env);
  const files = [configPath, catalogPath].filter((path) => path !== '');
  return programConnection(client, { config: resolve(config), server: undefined, profile }, files, []);
}

function programConnection(
  client: Client,
  target: StdioTarget,
  files: readonly string[],
  notes: string[],
): FoundConnection {
  const { args, names } = argumentsFor(target, files);
  // The build puts all modules into one folder.
  const main = join(import.meta.dirname, 'main.js');
  const connection: ClientConnection = {
    kind: 'stdio',
    command: process.execPath,
    args: [main, 'stdio', ...args],
    variables: names,
  };
  return { connection, notes: [...notes, ...names.flatMap((name) => notesOnKey(client, name))] };
}

function notesOnKey({ label, reference, isPassingEnvironment }: Client, name: string | undefined): string[] {
  if (name === undefined) return [];
  if (reference === 'input') return [`${label} asks for the value of ${name} when it starts the server.`];
  if (reference !== 'none' || isPassingEnvironment)
    return [`${name} must be set in the environment of ${label}.`];
  return [
    `${label} does not replace variables: write the value in place of \${${name}} in its file, or read the key from a ` +
      'file, with --api-key-file FILE.',
  ];
}

/** Returns the base address of the API and the address for MCP clients. */
async function resolveAddresses({
  url,
  config,
  profile,
}: ConnectOptions): Promise<{ base: URL; address: string }> {
  const { url: gatewayUrl } = await readTarget(
    { ...(url === undefined ? {} : { url }), ...(config === undefined ? {} : { config }) },
    {},
  );
  const path = gatewayUrl.pathname.replace(/\/+$/, '');
  const [, before = path, rest = '/mcp'] = /^(.*?)(\/mcp(?:\/[^/]+)?)$/.exec(path) ?? [];
  if (profile !== undefined && rest !== '/mcp')
    throw new CommandLineError('--url already selects one server; remove it or --profile');
  const profilePath = profile === undefined ? '' : `/@${profile}`;
  return {
    base: new URL(`${gatewayUrl.origin}${before}`),
    address: `${gatewayUrl.origin}${before}${rest}${profilePath}`,
  };
}

/** Returns the variable that contains the key; undefined if no key is required or the key is in a file. */
async function findKeyVariable(
  base: URL,
  options: ConnectOptions,
  notes: string[],
): Promise<string | undefined> {
  const { apiKeyVariable, apiKeyFile } = options;
  if (apiKeyFile !== undefined) return undefined;
  if (apiKeyVariable !== undefined) return apiKeyVariable;
  try {
    await new ApiClient({ url: base, key: undefined }).request('GET', 'servers', KEY_CHECK_MS);
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    if (error.response?.status === 401) return KEY_VARIABLE;
    if (error.response === undefined)
      notes.push(`No gateway responds at ${base.origin}; start it before the client.`);
    return (process.env[KEY_VARIABLE] ?? '') === '' ? undefined : KEY_VARIABLE;
  }
}
