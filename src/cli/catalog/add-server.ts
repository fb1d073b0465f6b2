// `servers add`: adds a server to the catalog, given its command or its address.

import { dirname } from 'node:path';
import { serverIdPattern } from '../../../config/catalog/catalog-schema.ts';
import type { EntryToWrite } from '../../../config/catalog/edit-block.ts';
import { CommandLineError } from '../api/target-options.ts';
import type { CommandModule } from '../command.ts';
import { collectValues } from '../option-values.ts';
import { printMessage } from '../views/output.ts';
import { CatalogFile } from './file.ts';
import { locateCatalog } from './location.ts';
import { printOutcome } from './outcome.ts';
import { reloadGateway } from './reload-gateway.ts';
import { SecretStore } from './secret-store.ts';
import {
  type CatalogOptions,
  catalogHelp,
  declareCatalog,
  readCatalogOptions,
  reportProblems,
} from './shared-options.ts';

interface AddOptions {
  readonly env?: readonly string[];
  readonly header?: readonly string[];
  readonly tag?: readonly string[];
  readonly sse?: boolean;
  readonly force?: boolean;
}

interface Options extends CatalogOptions {
  readonly id: string;
  readonly operands: readonly string[];
  readonly entryOptions: AddOptions;
}

const after = `
Values that look like secrets (variables, headers, options or parameters with names such as TOKEN, KEY,
SECRET, PASSWORD or Authorization, text after Bearer, tokens of known services) are written to .env next to
the gateway file, with mode 0600. The catalog gets a reference.
${catalogHelp}`;

export const addServer: CommandModule = {
  examples: [
    'actor-gateway servers add files -- npx -y @modelcontextprotocol/server-filesystem /srv/files',
    'actor-gateway servers add hub --env HUB_TOKEN --tag code -- uvx hub-mcp',
    "actor-gateway servers add search https://mcp.example.com/mcp --header 'Authorization: Bearer 4711'",
  ],
  declare: (command) => {
    command
      .usage('[options] <name> (-- <command...> | <url>)')
      .option(
        '--env <NAME=value>',
        "environment variable of the program; NAME alone references the gateway's variable; repeatable",
        collectValues,
      )
      .option("--header <'Name: value'>", 'header of each request to the address; repeatable', collectValues)
      .option('--tag <word>', 'keyword for tool search; repeatable', collectValues)
      .option('--sse', 'the address uses the older SSE transport')
      .option('--force', 'replace an existing server of that name')
      .addHelpText('after', after);
    declareCatalog(command);
  },
  run: (command) => {
    const [id = '', ...operands] = command.args;
    const options = {
      ...readCatalogOptions(command),
      id,
      operands,
      entryOptions: command.opts<AddOptions>(),
    };
    return reportProblems(() => addToCatalog(options));
  },
};

async function addToCatalog(options: Options): Promise<number> {
  const { id, entryOptions } = options;
  checkServerId(id);
  const file = await CatalogFile.open(await locateCatalog(options, process.env));
  const isReplacing = entryOptions.force === true;
  file.refuseDuplicate(id, isReplacing);
  const did = file.names.includes(id) ? 'replaced' : 'added';
  const entry = entryFor(options, new SecretStore(id, file.draft));
  await file.change({ do: 'add', name: id, entry, isReplacing });
  if (entry.command !== undefined && !options.isJson) printFolderNote(dirname(file.location.catalogPath));
  return printOutcome(
    { server: id, did, file, reload: await reloadGateway(options, file.location, id) },
    options.isJson,
  );
}

/** Throws CommandLineError if the server id is invalid. */
export function checkServerId(id: string): void {
  if (new RegExp(serverIdPattern).test(id) && id !== '.' && id !== '..') return;
  throw new CommandLineError(
    `${JSON.stringify(id)} is not a valid server id; use 1 to 64 characters of A-Z a-z 0-9 . _ -`,
  );
}

function entryFor({ operands, entryOptions }: Options, secrets: SecretStore): EntryToWrite {
  const [first] = operands;
  const { env = [], header = [], tag, sse } = entryOptions;
  const tags = tag === undefined ? {} : { tags: tag };
  if (first === undefined)
    throw new CommandLineError(
      'nothing to add; append -- COMMAND ARGUMENTS… for a program, or the address of a remote server',
    );
  if (operands.length === 1 && /^https?:\/\//i.test(first)) {
    if (env.length > 0)
      throw new CommandLineError('--env applies to programs only; use --header for a remote server');
    const headers = Object.fromEntries(header.map((line) => headerFrom(line, secrets)));
    return {
      url: secrets.url(first),
      ...(sse === true ? { runtime: 'sse' } : {}),
      ...(header.length === 0 ? {} : { headers }),
      ...tags,
    };
  }
  if (header.length > 0 || sse === true)
    throw new CommandLineError('--header and --sse apply to addresses only; use --env for a program');
  const [command = '', ...rest] = operands;
  const variables = Object.fromEntries(env.map((text) => variableFrom(text, secrets)));
  return {
    command,
    ...(rest.length === 0 ? {} : { args: secrets.args(rest) }),
    ...(env.length === 0 ? {} : { env: variables }),
    ...tags,
  };
}

function variableFrom(text: string, secrets: SecretStore): [string, string] {
  const at = text.indexOf('=');
  const name = at === -1 ? text : text.slice(0, at);
  if (!/^[A-Za-z_]\w*$/.test(name))
    throw new CommandLineError('--env expects NAME=value, or NAME of a variable in the environment');
  return [name, at === -1 ? `\${${name}}` : secrets.variable(name, text.slice(at + 1))];
}

function headerFrom(line: string, secrets: SecretStore): [string, string] {
  const [, name = '', value = ''] = /^([^:\s]+):\s*(.*?)\s*$/s.exec(line) ?? [];
  if (name === '') throw new CommandLineError("--header expects 'Name: value'");
  return [name, secrets.header(name, value)];
}

/** Prints the working folder of the server if it is not the current folder. */
function printFolderNote(folder: string): void {
  if (folder !== process.cwd()) printMessage(`the server runs in ${folder}: relative paths start there`);
}
