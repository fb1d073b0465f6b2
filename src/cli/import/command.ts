// `servers import`: collects the servers from the configuration files of MCP clients on this machine, and
// writes a catalog. It asks no questions, so scripts can use it.
//
// An existing catalog is replaced only with --force. No secret value is written or printed (A9,
// ARCHITECTURE.md): the catalog references variables, and the command lists the variables to set.

import { isAbsolute, relative, resolve, sep } from 'node:path';
import { commentedCatalog } from '../../../config/catalog/commented-catalog.ts';
import { foreignFormatHint } from '../../../config/catalog/dialects/foreign-formats.ts';
import { type ImportableServer, importableServers } from '../../../config/catalog/importable-servers.ts';
import type { Machine } from '../../../config/clients/client.ts';
import { importSourceIds } from '../../../config/clients/import-sources.ts';
import { isTomlPath, parseFileTree } from '../../../config/reader/file-tree.ts';
import { isError, type Problem } from '../../../config/reader/problem.ts';
import { readSourceFile, SourceFile } from '../../../config/reader/source-file.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { CommandLineError } from '../api/target-options.ts';
import type { CommandModule } from '../command.ts';
import { writeFileAtomically } from '../files/atomic-write.ts';
import { resolveReplaceable, UnwritableFile } from '../files/replaceable-path.ts';
import { programName } from '../program-name.ts';
import { counted } from '../views/figures.ts';
import { print, printJson, printMessage } from '../views/output.ts';
import { printProblems } from '../views/problem-lines.ts';
import { table } from '../views/table.ts';
import {
  type ClientConfigFile,
  findClientFiles,
  identifyFile,
  shortNameOf,
  thisMachine,
} from './client-files.ts';
import { hideSecrets, type Variable, type WithoutSecrets } from './hide-secrets.ts';
import { type MergedServer, mergeServers, type Origin } from './merge-servers.ts';
import { catalogHead, commentsOf, type FormatPath, originText } from './origin-text.ts';

interface Options {
  readonly from?: string;
  readonly file?: string | undefined;
  readonly output: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

const after = `
Clients: ${importSourceIds.join(', ')}. If neither --from nor a file is named, the files of all clients are searched,
including the files of the project in this folder. If two clients have the same server, it is written once.
Different servers with the same name are renamed.

Values of keys, tokens, secrets and passwords are replaced by \${NAME}; the variables to set are printed.

Exit codes: 0 written, 1 nothing to import, 2 invalid files or usage`;

export const importServers: CommandModule = {
  examples: [
    'actor-gateway servers import',
    'actor-gateway servers import --from cursor --output cursor.yaml',
    'actor-gateway servers import ~/projects/shop/.vscode/mcp.json --force',
  ],
  declare: (command) =>
    command
      .option('--from <client>', `only files of this client: ${importSourceIds.join(', ')}`)
      .option('-o, --output <file>', 'output file', 'catalog.yaml')
      .option('--force', 'replace an existing file')
      .option('--json', 'print the result as JSON')
      .addHelpText('after', after),
  run: (command) => {
    const options = command.opts<Options>();
    const [file] = command.args;
    if (file !== undefined && options.from !== undefined)
      throw new CommandLineError('use either a file or --from <client>, not both');
    return importCatalog({ ...options, file });
  },
};

/** Writes the catalog and returns the exit code. */
export function importCatalog(options: Options): Promise<number> {
  return runImport(options, thisMachine(process.env));
}

async function runImport(options: Options, machine: Machine): Promise<number> {
  const { file, from, output, force = false } = options;
  await withCommandLineErrors(output, () => resolveReplaceable(output, !force));
  const { found, searchedPaths } =
    file === undefined
      ? findClientFiles(machine, from)
      : { found: [identifyFile(machine, file)], searchedPaths: [file] };
  const contents = await Promise.all(found.map((each) => readServers(each, file !== undefined)));
  const problems = contents.flatMap((each) => each.problems);
  printProblems(problems);
  // A named file or client must have a valid server. Otherwise invalid files and servers are skipped.
  const hasServer = contents.some(({ servers }) => servers.length > 0);
  if ((file ?? from) !== undefined && !hasServer && problems.some(isError)) return 2;
  const { servers: merged, ownEntries } = mergeServers(
    contents.map(({ found: { path, client }, shortName, servers }) => ({
      client: client?.label,
      shortName,
      file: path,
      servers,
    })),
  );
  const formatPath = pathFormatter(machine);
  for (const origin of ownEntries)
    printMessage(`skipped: entry of a gateway itself, from ${originText(origin, formatPath)}`);
  if (merged.length === 0) {
    printMessage(
      ['nothing to import; searched', ...searchedPaths.map(formatPath)].map(printable).join('\n  '),
    );
    return problems.some(isError) ? 2 : 1;
  }
  const result = hideSecrets(merged);
  const commentedServers = result.servers.map((server) => ({
    ...server,
    comments: commentsOf(server, formatPath),
  }));
  const text = commentedCatalog(commentedServers, catalogHead);
  await withCommandLineErrors(output, () => writeFileAtomically(output, text, { isNew: !force }));
  const report = reportOf(options, result, problems);
  if (options.json === true) await printJson(JSON.stringify(report));
  else await print(`${reportLines(options, result, formatPath).join('\n')}\n`);
  return 0;
}

interface FileContents {
  readonly found: ClientConfigFile;
  readonly shortName: string;
  readonly servers: readonly ImportableServer[];
  readonly problems: readonly Problem[];
}

/** `isNamed`: true if the user named the file, so a format that cannot be read is an error. */
async function readServers(found: ClientConfigFile, isNamed: boolean): Promise<FileContents> {
  const shortName = shortNameOf(found);
  const source = await readSourceFile(found.path);
  if (source instanceof SourceFile) {
    const parsed = await parseFileTree(source);
    const { servers, problems } = importableServers(source, parsed);
    const isUnreadable = isNamed && servers.length === 0 && !isTomlPath(found.path);
    const hint = isUnreadable ? foreignFormatHint(parsed.root, source.text) : undefined;
    const hints = hint === undefined ? [] : [source.problem(0, hint)];
    return { found, shortName, servers, problems: [...hints, ...problems] };
  }
  return {
    found,
    shortName,
    servers: [],
    problems: [new SourceFile(found.path, '').problem(0, source.reason)],
  };
}

const existsText = (output: string) =>
  `${output} already exists; add --force to replace it, or --output FILE to write another file`;

/** Converts write errors to CommandLineError. */
async function withCommandLineErrors(output: string, action: () => Promise<unknown>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof UnwritableFile)) throw error;
    throw new CommandLineError(error.isTaken ? existsText(output) : error.message);
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

function reportLines(
  { output }: Options,
  { servers, variables }: WithoutSecrets<MergedServer>,
  formatPath: FormatPath,
): string[] {
  const unset = variables.filter(({ name }) => process.env[name] === undefined);
  const filesOf = originsOf(servers, formatPath);
  const found = table<MergedServer>(
    [
      { title: 'SERVER', text: ({ id }) => id },
      {
        title: 'RUNTIME',
        text: ({ entry }) => (entry.enabled === false ? 'disabled' : runtimeOf(entry)),
      },
      { title: 'FROM', text: (server) => fromText(server, formatPath) },
    ],
    servers,
  );
  const toSet = table<Variable>(
    [
      { title: 'VARIABLE', text: ({ name }) => name },
      { title: 'OF', text: (variable) => variable.servers.join(', ') },
      {
        title: 'VALUE',
        text: ({ wasWritten, servers: ids }) => `${wasWritten ? 'in' : 'referenced in'} ${filesOf(ids)}`,
      },
    ],
    unset,
  );
  const advice = 'Set these variables in the environment, or as NAME=value in .env next to the catalog:';
  return [
    `${printable(output)} has ${counted(servers.length, 'server')}`,
    ...found,
    ...(unset.length === 0 ? [] : ['', advice, ...toSet]),
    '',
    `Next: ${programName()} --catalog ${printable(output)} --check`,
  ];
}

function fromText({ origins, renamedFrom }: MergedServer, formatPath: FormatPath): string {
  const from = origins.map((origin) => originText(origin, formatPath)).join(', ');
  return renamedFrom === undefined ? from : `${from}; renamed from ${renamedFrom}, which another server uses`;
}

/** Returns a function that lists the files in which servers were found. */
function originsOf(servers: readonly MergedServer[], formatPath: FormatPath) {
  return (ids: readonly string[]): string => {
    const origins: Origin[] = servers.filter(({ id }) => ids.includes(id)).flatMap((each) => each.origins);
    return [...new Set(origins.map(({ file, line }) => `${formatPath(file)}:${line}`))].join(', ');
  };
}

/**
 * Returns a function that shortens a path: relative to the current folder, or with `~` for the home folder.
 */
function pathFormatter({ home, cwd }: Machine): FormatPath {
  return (path) => {
    const relativePath = relative(cwd, path);
    if (relativePath !== '' && !relativePath.startsWith('..') && !isAbsolute(relativePath))
      return relativePath;
    return path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path;
  };
}
