// Creates the entry that connects a client program (desktop app, editor) to the gateway, for the client's own
// configuration file. The entry contains no API key: it refers to a variable in the client's syntax. For a
// client without variable substitution, the entry starts a program that substitutes the variable itself.

import type { Client } from './client.ts';

export interface ProgramToStart {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables that the program requires. */
  readonly variables: readonly string[];
}

export type ClientConnection =
  | {
      readonly kind: 'http';
      readonly url: string;
      /** Variable with the gateway's key; undefined without authentication. */
      readonly keyVariable?: string | undefined;
    }
  | ({ readonly kind: 'stdio' } & ProgramToStart);

/** Prompt that VS Code shows when it starts the server. */
export interface ClientInput {
  readonly type: 'promptString';
  readonly id: string;
  readonly description: string;
  readonly password: true;
}

export type EntryValue = string | readonly string[] | Readonly<Record<string, string>>;
export type ClientEntry = Readonly<Record<string, EntryValue>>;

export interface ClientEntries {
  readonly entry: ClientEntry;
  /** Prompts referenced by `${input:…}`; only for VS Code. */
  readonly inputs: readonly ClientInput[];
}

/**
 * Returns true if the client's file supports the connection. Any client can start a program (kind `stdio`),
 * which then connects to the gateway.
 */
export function canConnect(client: Client, connection: ClientConnection): boolean {
  if (connection.kind === 'stdio') return true;
  return client.remote !== undefined && (connection.keyVariable === undefined || client.reference !== 'none');
}

/** Throws for a connection that the client does not support. */
export function entryFor(client: Client, connection: ClientConnection): ClientEntries {
  if (connection.kind === 'stdio') return programEntry(client, connection);
  const { remote } = client;
  if (remote === undefined || !canConnect(client, connection))
    throw new Error(`${client.label} does not support this address`);
  const { url, keyVariable } = connection;
  const reference = keyVariable === undefined ? undefined : referenceTo(client, keyVariable);
  const entry = {
    ...(remote.type === undefined ? {} : { type: remote.type }),
    [remote.urlKey]: url,
    ...(reference === undefined ? {} : { headers: { 'X-API-Key': reference } }),
  };
  return { entry, inputs: inputsFor(client, keyVariable === undefined ? [] : [keyVariable]) };
}

function programEntry(client: Client, { command, args, variables }: ProgramToStart): ClientEntries {
  // If the client passes on its variables and substitutes nothing, `env` is omitted: the program inherits the
  // values, and a member of `env` would replace a value by the literal text of the reference.
  const needsEnv = !(client.reference === 'none' && client.isPassingEnvironment);
  const variableNames = needsEnv ? variables : [];
  const env = Object.fromEntries(variableNames.map((name) => [name, referenceTo(client, name)]));
  const entry = {
    ...(client.programType === undefined ? {} : { type: client.programType }),
    command,
    args,
    ...(variableNames.length === 0 ? {} : { env }),
  };
  return { entry, inputs: inputsFor(client, variableNames) };
}

/**
 * Returns the reference to a variable. For a client without substitution, it is a placeholder that the user
 * replaces.
 */
function referenceTo({ reference }: Client, name: string): string {
  if (reference === 'input') return `\${input:${inputId(name)}}`;
  return reference === 'env' ? `\${env:${name}}` : `\${${name}}`;
}

function inputsFor({ reference }: Client, names: readonly string[]): ClientInput[] {
  if (reference !== 'input') return [];
  return names.map((name) => ({
    type: 'promptString',
    id: inputId(name),
    description: `Value of ${name}`,
    password: true,
  }));
}

/** Converts `GATEWAY_API_KEY` to `gateway-api-key`. */
function inputId(name: string): string {
  return name.toLowerCase().replaceAll('_', '-');
}

/** Returns a file with only this entry, as the client expects it. */
export function clientDocument(client: Client, name: string, { entry, inputs }: ClientEntries): object {
  return { ...(inputs.length === 0 ? {} : { inputs }), [client.root]: { [name]: entry } };
}

/** Returns the shell command that adds the entry to Claude Code. */
export function claudeCodeCommand(name: string, connection: ClientConnection): string {
  const parts = ['claude', 'mcp', 'add', '--scope', 'user', '--transport'];
  if (connection.kind === 'http') {
    const { url, keyVariable } = connection;
    const header = keyVariable === undefined ? [] : ['--header', `X-API-Key: \${${keyVariable}}`];
    return [...parts, 'http', name, url, ...header].map(quoted).join(' ');
  }
  const { command, args, variables } = connection;
  const env = variables.flatMap((each) => ['--env', `${each}=\${${each}}`]);
  return [...parts, 'stdio', name, ...env, '--', command, ...args].map(quoted).join(' ');
}

function quoted(word: string): string {
  return /^[\w./:@=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
