// The entry of a gateway in a client's file. It holds no key: where the gateway asks for one the entry refers to a
// variable in the client's own way. A client that replaces no variables is given a program instead of an address, since
// the program replaces them itself.

import type { Client } from './client.ts';

export interface ProgramToStart {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables the program cannot do without. */
  readonly variables: readonly string[];
}

export type Connection =
  | {
      readonly kind: 'http';
      readonly url: string;
      /** The variable with the gateway's key; undefined where the gateway asks for none. */
      readonly keyVariable?: string | undefined;
    }
  | ({ readonly kind: 'stdio' } & ProgramToStart);

/** A question that VS Code asks when it starts the server. */
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
  /** What the entry refers to by `${input:…}`; empty for every client but VS Code. */
  readonly inputs: readonly ClientInput[];
}

/** Whether the client's file can say so; otherwise only a program that passes everything on connects it. */
export function canConnect(client: Client, connection: Connection): boolean {
  if (connection.kind === 'stdio') return true;
  return client.remote !== undefined && (connection.keyVariable === undefined || client.reference !== 'none');
}

/** Throws for a connection that `canConnect` rules out. */
export function entryFor(client: Client, connection: Connection): ClientEntries {
  if (connection.kind === 'stdio') return programEntry(client, connection);
  const { remote } = client;
  if (remote === undefined || !canConnect(client, connection))
    throw new Error(`${client.label} cannot be given this address`);
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
  // What the client passes on anyway needs no line, and one that it does not replace would hide the value.
  const isNaming = !(client.reference === 'none' && client.isPassingEnvironment);
  const named = isNaming ? variables : [];
  const env = Object.fromEntries(named.map((name) => [name, referenceTo(client, name)]));
  const entry = {
    ...(client.programType === undefined ? {} : { type: client.programType }),
    command,
    args,
    ...(named.length === 0 ? {} : { env }),
  };
  return { entry, inputs: inputsFor(client, named) };
}

/** Where a client replaces nothing, this marks the place at which a person writes the value. */
function referenceTo({ reference }: Client, name: string): string {
  if (reference === 'input') return `\${input:${inputId(name)}}`;
  return reference === 'env' ? `\${env:${name}}` : `\${${name}}`;
}

function inputsFor({ reference }: Client, names: readonly string[]): ClientInput[] {
  if (reference !== 'input') return [];
  return names.map((name) => ({
    type: 'promptString',
    id: inputId(name),
    description: `The value of ${name}`,
    password: true,
  }));
}

/** `GATEWAY_API_KEY` is asked for as `gateway-api-key`. */
function inputId(name: string): string {
  return name.toLowerCase().replaceAll('_', '-');
}

/** The text of a file that has this entry and nothing else, as the client would read it. */
export function clientDocument(client: Client, name: string, { entry, inputs }: ClientEntries): object {
  return { ...(inputs.length === 0 ? {} : { inputs }), [client.root]: { [name]: entry } };
}

/** The line that has Claude Code add the entry itself. For a shell. */
export function claudeCodeCommand(name: string, connection: Connection): string {
  const words = ['claude', 'mcp', 'add', '--scope', 'user', '--transport'];
  if (connection.kind === 'http') {
    const { url, keyVariable } = connection;
    const header = keyVariable === undefined ? [] : ['--header', `X-API-Key: \${${keyVariable}}`];
    return [...words, 'http', name, url, ...header].map(quoted).join(' ');
  }
  const { command, args, variables } = connection;
  const env = variables.flatMap((each) => ['--env', `${each}=\${${each}}`]);
  return [...words, 'stdio', name, ...env, '--', command, ...args].map(quoted).join(' ');
}

function quoted(word: string): string {
  return /^[\w./:@=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
