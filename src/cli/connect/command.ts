// `connect`: prints the entry with which an MCP client reaches the gateway, writes it into the client's
// configuration file, or removes it.

import type { Client, ClientFile } from '../../../config/clients/client.ts';
import {
  type ClientConnection,
  claudeCodeCommand,
  clientDocument,
  entryFor,
} from '../../../config/clients/client-entry.ts';
import { clientIds, clientNamed, clients } from '../../../config/clients/client-list.ts';
import { ConfigError } from '../../../config/reader/problem.ts';
import { suggest } from '../../../config/reader/suggest.ts';
import { columnsOf, isTerminal } from '../../terminal/paint.ts';
import { CommandLineError, DEFAULT_URL } from '../api/target-options.ts';
import type { CommandModule } from '../command.ts';
import { thisMachine } from '../import/client-files.ts';
import { print, printJson, printMessage } from '../views/output.ts';
import { printProblems } from '../views/problem-lines.ts';
import { table } from '../views/table.ts';
import { inspectFile, undoEntry, writeEntry } from './client-file.ts';
import type { EntryLocation } from './client-text.ts';
import { findConnection } from './find-connection.ts';
import { type ConnectOptions, declareConnect, readConnectOptions } from './options.ts';

export const connect: CommandModule = {
  examples: [
    'actor-gateway connect',
    'actor-gateway connect cursor --url http://127.0.0.1:8080',
    'actor-gateway connect claude-desktop --write',
    'actor-gateway connect claude-desktop --undo',
    'actor-gateway connect vscode --scope project --profile work --write',
  ],
  declare: declareConnect,
  run: (command) => runConnect(readConnectOptions(command)),
};

/** Runs the command. Rejects with a CommandLineError. */
async function runConnect(options: ConnectOptions): Promise<number> {
  if (options.client === undefined) return listClients(options);
  const client = clientOf(options.client, options);
  const location = { root: client.root, name: options.name };
  if (options.undo === true) return removeEntry(client, location, options);
  try {
    return await offerEntry(client, location, options);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    printProblems(error.problems);
    return 2;
  }
}

function clientOf(id: string, { name, url = DEFAULT_URL }: ConnectOptions): Client {
  const client = clientNamed(id);
  if (client !== undefined) return client;
  if (id === 'codex')
    throw new CommandLineError(
      `Codex stores its servers in TOML, which this command does not write; run this instead:\n` +
        `  codex mcp add ${name} --url ${url.replace(/\/(mcp\/?)?$/, '')}/mcp\n` +
        'with --bearer-token-env-var GATEWAY_API_KEY if the gateway requires a key',
    );
  const close = suggest(id, clientIds);
  const hint = close === undefined ? `there are ${clientIds.join(', ')}` : `did you mean ${close}?`;
  throw new CommandLineError(`there is no client ${JSON.stringify(id)}; ${hint}`);
}

async function listClients({ name, json }: ConnectOptions): Promise<number> {
  const machine = thisMachine(process.env);
  const clientRows = await Promise.all(
    clients.map(async (client) => {
      const files = client.files(machine).map(async ({ scope, path }) => {
        const { exists, isConnected } = await inspectFile(path, { root: client.root, name });
        return { scope, path, exists, connected: isConnected };
      });
      return { id: client.id, label: client.label, files: await Promise.all(files) };
    }),
  );
  if (json === true) {
    await printJson(JSON.stringify({ clients: clientRows }));
    return 0;
  }
  const rows = clientRows.flatMap(({ id, label, files }) => {
    const existing = files.filter(({ exists }) => exists);
    return (existing.length > 0 ? existing : files.slice(0, 1)).map((file) => ({ id, label, ...file }));
  });
  const columns = [
    { title: 'CLIENT', text: ({ id }: (typeof rows)[number]) => id },
    {
      title: 'STATE',
      text: ({ exists, connected }: (typeof rows)[number]) =>
        connected ? 'connected' : exists ? 'found' : 'not found',
    },
    { title: 'SCOPE', text: ({ scope }: (typeof rows)[number]) => scope },
    { title: 'FILE', text: ({ path }: (typeof rows)[number]) => path },
  ];
  const { stdout } = process;
  const width = isTerminal(stdout, process.env) ? columnsOf(stdout) : undefined;
  await print(`${table(columns, rows, width).join('\n')}\n`);
  return 0;
}

async function offerEntry(client: Client, location: EntryLocation, options: ConnectOptions): Promise<number> {
  const { name, scope } = options;
  const { connection, notes } = await findConnection(client, options);
  const entries = entryFor(client, connection);
  const file = await fileFor(client, location, scope);
  if (options.write !== true) {
    await printJson(JSON.stringify(clientDocument(client, name, entries), undefined, 2));
    const lines = [`Add this to ${file.path}; --write does it for you. Then ${client.nextStep}.`];
    printMessage([...lines, ...ownCommand(client, name, connection), ...notes].join('\n'));
    return 0;
  }
  const result = await writeEntry(file.path, location, entries);
  if (options.json === true) {
    const { label } = client;
    await printJson(JSON.stringify({ client: client.id, label, file: file.path, ...result, notes }));
    return 0;
  }
  const what =
    result.what === 'unchanged'
      ? `${file.path} already contains this entry; nothing was changed.`
      : `${name} was added to ${file.path}.`;
  const backup =
    result.what === 'written' && result.backup !== undefined
      ? [`The previous file is saved as ${result.backup}.`]
      : [];
  await print(`${[what, ...backup, `Next: ${client.nextStep}.`, ...notes].join('\n')}\n`);
  return 0;
}

function ownCommand({ id }: Client, name: string, connection: ClientConnection): string[] {
  return id === 'claude-code' ? ['Or run in Claude Code:', `  ${claudeCodeCommand(name, connection)}`] : [];
}

async function removeEntry(
  client: Client,
  location: EntryLocation,
  options: ConnectOptions,
): Promise<number> {
  const { path } = await fileFor(client, location, options.scope);
  const { what } = await undoEntry(path, location);
  if (options.json === true) {
    await printJson(JSON.stringify({ client: client.id, label: client.label, file: path, what }));
    return 0;
  }
  const messages = {
    removed: `${location.name} was removed from ${path}.`,
    restored: `The previous entry ${location.name} was restored in ${path}.`,
    deleted: `${path} was deleted: it contained nothing else.`,
    unchanged: `There is no ${location.name} in ${path}; nothing was changed.`,
  };
  await print(`${messages[what]}\n`);
  return 0;
}

/** Returns the file that contains the entry, else the first existing file, else the first possible file. */
async function fileFor(
  client: Client,
  location: EntryLocation,
  scope: ConnectOptions['scope'],
): Promise<ClientFile> {
  const files = client.files(thisMachine(process.env)).filter((file) => file.scope === scope);
  const [first] = files;
  if (first === undefined) throw new CommandLineError(`${client.label} has no file for a project`);
  const inspections = await Promise.all(
    files.map(async (file) => ({ file, ...(await inspectFile(file.path, location)) })),
  );
  const best = inspections.find(({ isConnected }) => isConnected) ?? inspections.find(({ exists }) => exists);
  return best?.file ?? first;
}
