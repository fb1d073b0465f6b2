// `connect`: what an MCP client needs in its own file to reach this gateway; printed, put in, or taken out again.

import { homedir } from 'node:os';
import type { Client, ClientFile, Machine } from '../../../config/clients/client.ts';
import {
  type Connection,
  claudeCodeCommand,
  clientDocument,
  entryFor,
} from '../../../config/clients/client-entry.ts';
import { clientIds, clientNamed, clients } from '../../../config/clients/client-list.ts';
import { ConfigError } from '../../../config/reader/problem.ts';
import { suggest } from '../../../config/reader/suggest.ts';
import { columnsOf, isTerminal } from '../../terminal/paint.ts';
import { DEFAULT_URL, UsageError } from '../api/target-options.ts';
import type { CommandModule } from '../command.ts';
import { complain, print, printJson } from '../views/output.ts';
import { printProblems } from '../views/problem-lines.ts';
import { table } from '../views/table.ts';
import { lookAt, undoEntry, writeEntry } from './client-file.ts';
import type { EntryPlace } from './client-text.ts';
import { type ConnectOptions, declareConnect, readConnectOptions } from './connect-options.ts';
import { connectionTo } from './connection-to.ts';

export const connect: CommandModule = {
  declare: declareConnect,
  run: (command) => connected(readConnectOptions(command)),
};

/** Rejects with a UsageError. */
async function connected(options: ConnectOptions): Promise<number> {
  if (options.client === undefined) return list(options);
  const client = clientOf(options.client, options);
  const place = { root: client.root, name: options.name };
  if (options.undo === true) return undo(client, place, options);
  try {
    return await offer(client, place, options);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    printProblems(error.problems);
    return 2;
  }
}

function clientOf(word: string, { name, url = DEFAULT_URL }: ConnectOptions): Client {
  const client = clientNamed(word);
  if (client !== undefined) return client;
  if (word === 'codex')
    throw new UsageError(
      `Codex keeps its servers in TOML, which is not written here; let it do that itself:\n` +
        `  codex mcp add ${name} --url ${url.replace(/\/(mcp\/?)?$/, '')}/mcp\n` +
        'with --bearer-token-env-var GATEWAY_API_KEY where the gateway asks for a key',
    );
  const close = suggest(word, clientIds);
  const hint = close === undefined ? `there are ${clientIds.join(', ')}` : `did you mean ${close}?`;
  throw new UsageError(`there is no such client; ${hint}`);
}

function thisMachine(): Machine {
  const { APPDATA: appData, XDG_CONFIG_HOME: configHome } = process.env;
  return { platform: process.platform, home: homedir(), appData, configHome, cwd: process.cwd() };
}

async function list({ name, json }: ConnectOptions): Promise<number> {
  const machine = thisMachine();
  const found = await Promise.all(
    clients.map(async (client) => {
      const files = client.files(machine).map(async ({ scope, path }) => {
        const { isThere, isConnected } = await lookAt(path, { root: client.root, name });
        return { scope, path, exists: isThere, connected: isConnected };
      });
      return { id: client.id, label: client.label, files: await Promise.all(files) };
    }),
  );
  if (json === true) {
    await printJson(JSON.stringify({ clients: found }));
    return 0;
  }
  const rows = found.flatMap(({ id, label, files }) => {
    const there = files.filter(({ exists }) => exists);
    return (there.length > 0 ? there : files.slice(0, 1)).map((file) => ({ id, label, ...file }));
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

async function offer(client: Client, place: EntryPlace, options: ConnectOptions): Promise<number> {
  const { name, scope } = options;
  const { connection, notes } = await connectionTo(client, options);
  const entries = entryFor(client, connection);
  const file = await fileFor(client, place, scope);
  if (options.write !== true) {
    await printJson(JSON.stringify(clientDocument(client, name, entries), undefined, 2));
    const lines = [`This belongs into ${file.path}; --write puts it there. Then ${client.nextStep}.`];
    complain([...lines, ...ownCommand(client, name, connection), ...notes].join('\n'));
    return 0;
  }
  const written = await writeEntry(file.path, place, entries);
  if (options.json === true) {
    const { label } = client;
    await printJson(JSON.stringify({ client: client.id, label, file: file.path, ...written, notes }));
    return 0;
  }
  const what =
    written.what === 'unchanged'
      ? `${file.path} has this entry already; nothing was changed.`
      : `${name} stands in ${file.path} now.`;
  const backup =
    written.what === 'written' && written.backup !== undefined
      ? [`The file as it was is kept in ${written.backup}.`]
      : [];
  await print(`${[what, ...backup, `Next: ${client.nextStep}.`, ...notes].join('\n')}\n`);
  return 0;
}

function ownCommand({ id }: Client, name: string, connection: Connection): string[] {
  return id === 'claude-code'
    ? ['Or let Claude Code do it:', `  ${claudeCodeCommand(name, connection)}`]
    : [];
}

async function undo(client: Client, place: EntryPlace, options: ConnectOptions): Promise<number> {
  const { path } = await fileFor(client, place, options.scope);
  const { what } = await undoEntry(path, place);
  if (options.json === true) {
    await printJson(JSON.stringify({ client: client.id, label: client.label, file: path, what }));
    return 0;
  }
  const words = {
    removed: `${place.name} is taken out of ${path}.`,
    restored: `What stood in ${path} as ${place.name} before stands there again.`,
    deleted: `${path} is gone again: there was nothing else in it.`,
    unchanged: `There is no ${place.name} in ${path}; nothing was changed.`,
  };
  await print(`${words[what]}\n`);
  return 0;
}

/** The one that has the entry, else the first that is there, else the one that a new entry belongs into. */
async function fileFor(
  client: Client,
  place: EntryPlace,
  scope: ConnectOptions['scope'],
): Promise<ClientFile> {
  const files = client.files(thisMachine()).filter((file) => file.scope === scope);
  const [first] = files;
  if (first === undefined) throw new UsageError(`${client.label} has no file for a project`);
  const looks = await Promise.all(files.map(async (file) => ({ file, ...(await lookAt(file.path, place)) })));
  const best = looks.find(({ isConnected }) => isConnected) ?? looks.find(({ isThere }) => isThere);
  return best?.file ?? first;
}
