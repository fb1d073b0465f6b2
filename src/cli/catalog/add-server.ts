// `add`: a server more in the catalog, by the command that starts it or by its address.

import { dirname } from 'node:path';
import { serverIdPattern } from '../../../config/catalog/catalog-schema.ts';
import type { EntryToWrite } from '../../../config/catalog/edit-block.ts';
import { UsageError } from '../api/target-options.ts';
import type { CommandModule } from '../command.ts';
import { collected } from '../option-values.ts';
import { complain } from '../views/output.ts';
import {
  type CatalogOptions,
  catalogHelp,
  declareCatalog,
  readCatalogOptions,
  reportingProblems,
} from './catalog-options.ts';
import { findCatalog } from './catalog-place.ts';
import { CatalogFile } from './change-catalog.ts';
import { tell } from './outcome.ts';
import { tellGateway } from './running-gateway.ts';
import { SecretKeeper } from './secret-words.ts';

interface Given {
  readonly env?: readonly string[];
  readonly header?: readonly string[];
  readonly tag?: readonly string[];
  readonly sse?: boolean;
  readonly force?: boolean;
}

interface Options extends CatalogOptions {
  readonly id: string;
  readonly words: readonly string[];
  readonly given: Given;
}

const after = `
Values that look like secrets (a variable, a header, an option or a parameter named like TOKEN, KEY, SECRET, PASSWORD or
Authorization) go into .env beside the gateway file, with mode 0600, and a reference into the catalog.
${catalogHelp}

Examples:
  actor-gateway servers add files -- npx -y @modelcontextprotocol/server-filesystem /srv/files
  actor-gateway servers add hub --env HUB_TOKEN --tag code -- uvx hub-mcp
  actor-gateway servers add search https://mcp.example.com/mcp --header 'Authorization: Bearer 4711'`;

export const addServer: CommandModule = {
  declare: (command) => {
    command
      .usage('[options] <name> (-- <command...> | <url>)')
      .option(
        '--env <NAME=value>',
        'a variable of the program; NAME alone is a reference to it; repeatable',
        collected,
      )
      .option("--header <'Name: value'>", 'a header of each request to the address; repeatable', collected)
      .option('--tag <word>', 'a word for tool search; repeatable', collected)
      .option('--sse', 'the address speaks the older transport')
      .option('--force', 'replace a server of that name')
      .addHelpText('after', after);
    declareCatalog(command);
  },
  run: (command) => {
    const [id = '', ...words] = command.args;
    const options = { ...readCatalogOptions(command), id, words, given: command.opts<Given>() };
    return reportingProblems(() => added(options));
  },
};

async function added(options: Options): Promise<number> {
  const { id, given } = options;
  refuseNoId(id);
  const file = await CatalogFile.open(await findCatalog(options, process.env));
  const isReplacing = given.force === true;
  file.refuseTaken(id, isReplacing);
  const did = file.names.includes(id) ? 'replaced' : 'added';
  const entry = entryFor(options, new SecretKeeper(id, file.draft));
  await file.change({ do: 'add', name: id, entry, isReplacing });
  if (entry.command !== undefined && !options.isJson) noteFolder(dirname(file.place.catalogPath));
  return tell({ server: id, did, file, after: await tellGateway(options, file.place, id) }, options.isJson);
}

/** Throws UsageError for what cannot be the id of a server. */
export function refuseNoId(id: string): void {
  if (new RegExp(serverIdPattern).test(id) && id !== '.' && id !== '..') return;
  throw new UsageError(`${JSON.stringify(id)} cannot be the id of a server: 1 to 64 of A-Z a-z 0-9 . _ -`);
}

function entryFor({ words, given }: Options, keeper: SecretKeeper): EntryToWrite {
  const [first] = words;
  const { env = [], header = [], tag, sse } = given;
  const tags = tag === undefined ? {} : { tags: tag };
  if (first === undefined)
    throw new UsageError(
      'say what to add: -- COMMAND ARGUMENTS… for a program, or the address of a remote server',
    );
  if (words.length === 1 && /^https?:\/\//i.test(first)) {
    if (env.length > 0) throw new UsageError('--env is for programs; a remote server takes --header');
    const headers = Object.fromEntries(header.map((line) => headerFrom(line, keeper)));
    return {
      url: keeper.url(first),
      ...(sse === true ? { runtime: 'sse' } : {}),
      ...(header.length === 0 ? {} : { headers }),
      ...tags,
    };
  }
  if (header.length > 0 || sse === true)
    throw new UsageError('--header and --sse are for an address; a program takes --env');
  const [command = '', ...rest] = words;
  const variables = Object.fromEntries(env.map((text) => variableFrom(text, keeper)));
  return {
    command,
    ...(rest.length === 0 ? {} : { args: keeper.args(rest) }),
    ...(env.length === 0 ? {} : { env: variables }),
    ...tags,
  };
}

function variableFrom(text: string, keeper: SecretKeeper): [string, string] {
  const at = text.indexOf('=');
  const name = at === -1 ? text : text.slice(0, at);
  if (!/^[A-Za-z_]\w*$/.test(name))
    throw new UsageError('--env expects NAME=value, or NAME for a variable that is set');
  return [name, at === -1 ? `\${${name}}` : keeper.variable(name, text.slice(at + 1))];
}

function headerFrom(line: string, keeper: SecretKeeper): [string, string] {
  const [, name = '', value = ''] = /^([^:\s]+):\s*(.*?)\s*$/s.exec(line) ?? [];
  if (name === '') throw new UsageError("--header expects 'Name: value'");
  return [name, keeper.header(name, value)];
}

/** Relative paths in a command are taken from there. */
function noteFolder(folder: string): void {
  if (folder !== process.cwd()) complain(`it will run in ${folder}: relative paths are taken from there`);
}
