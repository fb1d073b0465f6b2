// `servers import`: finds the servers that clients on this machine have, and writes a catalog of them. It asks nothing, so that a
// script can run it.
//
// IPT1  a file that exists is replaced with --force only, and in one step (files/whole-file.ts).
// IPT2 (A9)  no value of a secret is written or printed: what has to be set is told by name.

import { isAbsolute, relative, resolve, sep } from 'node:path';
import { commentedCatalog } from '../../../config/catalog/commented-catalog.ts';
import { type ImportableServer, importableServers } from '../../../config/catalog/importable-servers.ts';
import type { Machine } from '../../../config/clients/client.ts';
import { clientIds } from '../../../config/clients/client-list.ts';
import { isError, type Problem } from '../../../config/reader/problem.ts';
import { readSourceFile, SourceFile } from '../../../config/reader/source-file.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { UsageError } from '../api/target-options.ts';
import type { CommandModule } from '../command.ts';
import { replaceableFile, UnwritableFile } from '../files/replaceable-file.ts';
import { writeWhole } from '../files/whole-file.ts';
import { programName } from '../program-name.ts';
import { counted } from '../views/figures.ts';
import { complain, print, printJson } from '../views/output.ts';
import { printProblems } from '../views/problem-lines.ts';
import { table } from '../views/table.ts';
import { type FoundFile, filesOfClients, namedFile, thisMachine, wordOf } from './found-files.ts';
import { hiddenSecrets, type Variable, type WithoutSecrets } from './hidden-secrets.ts';
import { type MergedServer, mergedServers, type Origin } from './merged-servers.ts';
import { catalogHead, commentsOf, originText, type ShownPath } from './origin-words.ts';

interface Options {
  readonly from?: string;
  readonly file?: string | undefined;
  readonly output: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

const after = `
Clients: ${clientIds.join(', ')}. Without --from and a file all of them are looked for, those of the project in this
folder too. The same server of two clients is written once; two that share a name get names of their own.

Values of keys, tokens, secrets and passwords are not written: in their place stands \${NAME}, and what to set is printed.

Examples:
  actor-gateway servers import
  actor-gateway servers import --from cursor --output cursor.yaml
  actor-gateway servers import ~/projects/shop/.vscode/mcp.json --force

Exit codes: 0 written, 1 there was nothing to import, 2 bad files or wrong usage`;

export const importServers: CommandModule = {
  declare: (command) =>
    command
      .option('--from <client>', `the files of this client alone: ${clientIds.join(', ')}`)
      .option('-o, --output <file>', 'where to write', 'catalog.yaml')
      .option('--force', 'replace the file that is there')
      .option('--json', 'print the result as JSON')
      .addHelpText('after', after),
  run: (command) => {
    const options = command.opts<Options>();
    const [file] = command.args;
    if (file !== undefined && options.from !== undefined)
      throw new UsageError('give either a file or --from <client>');
    return importCatalog({ ...options, file });
  },
};

/** Writes the catalog and returns the exit code. */
export function importCatalog(options: Options): Promise<number> {
  return imported(options, thisMachine(process.env));
}

async function imported(options: Options, machine: Machine): Promise<number> {
  const { file, from, output, force = false } = options;
  await refusing(output, () => replaceableFile(output, !force));
  const { found, sought } =
    file === undefined
      ? filesOfClients(machine, from)
      : { found: [namedFile(machine, file)], sought: [file] };
  const read = await Promise.all(found.map(readFound));
  const problems = read.flatMap((each) => each.problems);
  printProblems(problems);
  // What was asked for by name has to be whole; of many files the others are still of use.
  if ((file ?? from) !== undefined && problems.some(isError)) return 2;
  const { servers: merged, ownEntries } = mergedServers(
    read.map(({ found: { path, client }, word, servers }) => ({
      client: client?.label,
      word,
      file: path,
      servers,
    })),
  );
  const shown = shownPathOn(machine);
  for (const origin of ownEntries)
    complain(`left out: the entry of a gateway itself, from ${originText(origin, shown)}`);
  if (merged.length === 0) {
    complain(
      ['there is nothing to import; looked for servers in', ...sought.map(shown)].map(printable).join('\n  '),
    );
    return problems.some(isError) ? 2 : 1;
  }
  const result = hiddenSecrets(merged);
  const commented = result.servers.map((server) => ({ ...server, comments: commentsOf(server, shown) }));
  const text = commentedCatalog(commented, catalogHead);
  await refusing(output, () => writeWhole(output, text, { isNew: !force }));
  const report = reportOf(options, result, problems);
  if (options.json === true) await printJson(JSON.stringify(report));
  else await print(`${inWords(options, result, shown).join('\n')}\n`);
  return 0;
}

interface ReadFile {
  readonly found: FoundFile;
  readonly word: string;
  readonly servers: readonly ImportableServer[];
  readonly problems: readonly Problem[];
}

async function readFound(found: FoundFile): Promise<ReadFile> {
  const word = wordOf(found);
  const source = await readSourceFile(found.path);
  if (source instanceof SourceFile) return { found, word, ...importableServers(source) };
  return { found, word, servers: [], problems: [new SourceFile(found.path, '').problem(0, source.reason)] };
}

const inTheWay = (output: string) =>
  `${output} is there already; --force replaces it, --output FILE writes another one`;

/** Throws UsageError where the file cannot be written (IPT1). */
async function refusing(output: string, action: () => Promise<unknown>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof UnwritableFile)) throw error;
    throw new UsageError(error.isTaken ? inTheWay(output) : error.message);
  }
}

function reportOf(
  { output }: Options,
  { servers, variables }: WithoutSecrets<MergedServer>,
  problems: readonly Problem[],
) {
  return {
    output: resolve(output),
    servers: servers.map(({ id, entry, origins, renamedFrom }) => ({
      id,
      runtime: runtimeOf(entry),
      enabled: entry.enabled !== false,
      from: origins.map(({ client, file, line, project }) => ({
        client: client ?? null,
        file,
        line,
        project,
      })),
      renamedFrom,
    })),
    variables: variables.map(({ name, servers: ids, wasWritten }) => {
      return { name, servers: ids, isSet: process.env[name] !== undefined, wasWritten };
    }),
    problems,
  };
}

const runtimeOf = ({ command, runtime }: MergedServer['entry']) =>
  command === undefined ? String(runtime ?? 'http') : 'stdio';

function inWords(
  { output }: Options,
  { servers, variables }: WithoutSecrets<MergedServer>,
  shown: ShownPath,
): string[] {
  const unset = variables.filter(({ name }) => process.env[name] === undefined);
  const placesOf = originsOf(servers, shown);
  const found = table<MergedServer>(
    [
      { title: 'SERVER', text: ({ id }) => id },
      {
        title: 'RUNTIME',
        text: ({ entry }) => (entry.enabled === false ? 'switched off' : runtimeOf(entry)),
      },
      { title: 'FROM', text: (server) => fromText(server, shown) },
    ],
    servers,
  );
  const toSet = table<Variable>(
    [
      { title: 'VARIABLE', text: ({ name }) => name },
      { title: 'OF', text: (variable) => variable.servers.join(', ') },
      {
        title: 'VALUE',
        text: ({ wasWritten, servers: ids }) =>
          `${wasWritten ? 'stands' : 'referred to'} in ${placesOf(ids)}`,
      },
    ],
    unset,
  );
  const advice = 'To be set, in the environment or as NAME=value in .env beside the catalog:';
  return [
    `${printable(output)} has ${counted(servers.length, 'server')}`,
    ...found,
    ...(unset.length === 0 ? [] : ['', advice, ...toSet]),
    '',
    `Next: ${programName()} --catalog ${printable(output)} --check`,
  ];
}

function fromText({ origins, renamedFrom }: MergedServer, shown: ShownPath): string {
  const from = origins.map((origin) => originText(origin, shown)).join(', ');
  return renamedFrom === undefined ? from : `${from}; there called ${renamedFrom}, as another one is here`;
}

/** The files of these servers. */
function originsOf(servers: readonly MergedServer[], shown: ShownPath) {
  return (ids: readonly string[]): string => {
    const origins: Origin[] = servers.filter(({ id }) => ids.includes(id)).flatMap((each) => each.origins);
    return [...new Set(origins.map(({ file, line }) => `${shown(file)}:${line}`))].join(', ');
  };
}

/** As people write it: from the home folder, or from here. */
function shownPathOn({ home, cwd }: Machine): ShownPath {
  return (path) => {
    const fromHere = relative(cwd, path);
    if (fromHere !== '' && !fromHere.startsWith('..') && !isAbsolute(fromHere)) return fromHere;
    return path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path;
  };
}
