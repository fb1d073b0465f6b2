// How a client reaches the gateway that somebody has named: by its address, or by a program that runs as the entry stands,
// with absolute paths. Whether a key is needed the gateway is asked itself; its value is neither needed nor printed.

import { join, resolve } from 'node:path';
import type { Client } from '../../../config/clients/client.ts';
import { type Connection, canConnect } from '../../../config/clients/client-entry.ts';
import { loadConfig } from '../../../config/load-config.ts';
import { ApiClient, ApiProblem } from '../api/api-client.ts';
import { KEY_VARIABLE, readKeyFile, readTarget, UsageError } from '../api/target-options.ts';
import { argumentsFor } from '../commands/print-config.ts';
import type { StdioTarget } from '../stdio-options.ts';
import type { ConnectOptions } from './connect-options.ts';

interface Found {
  readonly connection: Connection;
  /** What somebody should know before it works, in plain sentences. */
  readonly notes: readonly string[];
}

const ASK_MS = 2_000;

/** Throws UsageError, and ConfigError for a configuration that a program would not start with. */
export async function connectionTo(client: Client, options: ConnectOptions): Promise<Found> {
  const { config, url, stdio: isProgramWanted } = options;
  const isProgram = isProgramWanted === true || client.remote === undefined;
  if (isProgram && config !== undefined && url === undefined) return ownServers(client, config, options);
  const { base, address } = await addressesOf(options);
  const notes: string[] = [];
  const keyVariable = await keyVariableFor(base, options, notes);
  const direct = { kind: 'http', url: address, keyVariable } as const;
  if (!isProgram && options.apiKeyFile === undefined && canConnect(client, direct))
    return { connection: direct, notes: [...notes, ...notesOnKey(client, keyVariable)] };
  if (!isProgram && options.apiKeyFile === undefined)
    notes.push(`${client.label} takes no reference to a key, so that the entry starts a program instead.`);
  const target: StdioTarget = { url: address, headers: {}, keyFile: options.apiKeyFile, keyVariable };
  if (options.apiKeyFile !== undefined) readKeyFile(options.apiKeyFile);
  return program(client, target, [], notes);
}

async function ownServers(client: Client, config: string, { profile }: ConnectOptions): Promise<Found> {
  const { configPath, catalogPath } = await loadConfig(config, process.env);
  const files = [configPath, catalogPath].filter((path) => path !== '');
  return program(client, { config: resolve(config), server: undefined, profile }, files, []);
}

function program(client: Client, target: StdioTarget, files: readonly string[], notes: string[]): Found {
  const { args, names } = argumentsFor(target, files);
  // Everything is built into one folder.
  const main = join(import.meta.dirname, 'main.js');
  const connection: Connection = {
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
    return [`${name} has to be set in the environment in which ${label} is started.`];
  return [
    `${label} replaces no variables: write the value in place of \${${name}} in its file, or have a key read from a ` +
      'file, with --api-key-file FILE.',
  ];
}

/** Where the gateway's own API is, and where its MCP clients go. */
async function addressesOf({
  url,
  config,
  profile,
}: ConnectOptions): Promise<{ base: URL; address: string }> {
  const { url: given } = await readTarget(
    { ...(url === undefined ? {} : { url }), ...(config === undefined ? {} : { config }) },
    {},
  );
  const path = given.pathname.replace(/\/+$/, '');
  const [, before = path, rest = '/mcp'] = /^(.*?)(\/mcp(?:\/[^/]+)?)$/.exec(path) ?? [];
  if (profile !== undefined && rest !== '/mcp')
    throw new UsageError('--url names one server already; give either that or --profile');
  const own = profile === undefined ? '' : `/@${profile}`;
  return { base: new URL(`${given.origin}${before}`), address: `${given.origin}${before}${rest}${own}` };
}

/** Undefined for a gateway that asks for no key, and where the key is in a file. */
async function keyVariableFor(
  base: URL,
  options: ConnectOptions,
  notes: string[],
): Promise<string | undefined> {
  const { apiKeyVariable, apiKeyFile } = options;
  if (apiKeyFile !== undefined) return undefined;
  if (apiKeyVariable !== undefined) return apiKeyVariable;
  try {
    await new ApiClient({ url: base, key: undefined }).ask('GET', 'servers', ASK_MS);
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    if (error.answer?.status === 401) return KEY_VARIABLE;
    if (error.answer === undefined)
      notes.push(`No gateway answers at ${base.origin} now; start it before the client.`);
    return (process.env[KEY_VARIABLE] ?? '') === '' ? undefined : KEY_VARIABLE;
  }
}
