// `init`: asks a few questions on a terminal, writes a configuration with comments, and prints the commands
// to run next.

import { join, resolve } from 'node:path';
import { parseListenAddr, urlOf } from '../../../config/gateway-file/listen-addr.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { CommandLineError } from '../api/target-options.ts';
import { readText, replaceText } from '../catalog/replace-text.ts';
import type { CommandModule } from '../command.ts';
import { importCatalog } from '../import/command.ts';
import { withProgramName } from '../program-name.ts';
import { print } from '../views/output.ts';
import { shellWord } from '../views/shell-word.ts';
import {
  defaults,
  type InitOptions,
  renderFiles,
  sampleRequest,
  variablesOf,
  withOwnServers,
} from './new-files.ts';
import { askOptions } from './questions.ts';
import { makeFolder, refuseExisting, writeAll } from './write-files.ts';

const after = `
Writes gateway.yaml, catalog.yaml and the files they refer to. Existing files are never overwritten.

Exit codes: 0 success, 2 existing files or invalid usage`;

export const init: CommandModule = {
  examples: ['actor-gateway init', 'actor-gateway init --yes my-gateway'],
  declare: (command) =>
    command
      .argument('[folder]', 'output folder; created if missing')
      .option('-y, --yes', 'accept all defaults')
      .addHelpText('after', after),
  run: (command) => runInit(command.args[0] ?? '.', command.opts<{ yes?: boolean }>().yes === true),
};

async function runInit(folder: string, isWithoutQuestions: boolean): Promise<number> {
  // Fails before the first question if the configuration already exists.
  refuseExisting(folder, renderFiles(defaults).slice(0, 2));
  const options = isWithoutQuestions ? defaults : await askOrFail(folder);
  const files = renderFiles(options);
  refuseExisting(folder, files);
  if (options.files !== undefined) makeFolder(resolve(folder, options.files));
  makeFolder(resolve(folder));
  const catalog = join(folder, 'catalog.yaml');
  const isImported = options.isImporting && (await importCatalog({ output: catalog })) === 0;
  if (isImported) await addServers(catalog, options);
  const others = files.filter(({ path }) => !isImported || path !== 'catalog.yaml');
  const paths = (await writeAll(resolve(folder), others, variablesOf(options))).map((path) =>
    printable(join(folder, path)),
  );
  await print(`written: ${paths.join(', ')}\n\n${nextSteps(folder, options)}\n`);
  return 0;
}

/** Adds the servers that the user has chosen to an imported catalog. */
async function addServers(catalog: string, options: InitOptions): Promise<void> {
  const imported = await readText(catalog);
  await replaceText(catalog, imported, withOwnServers(imported, options));
}

function askOrFail(folder: string): Promise<InitOptions> {
  if (process.stdin.isTTY && process.stdout.isTTY) return askOptions(folder);
  throw new CommandLineError('init needs a terminal for its questions; --yes accepts the defaults');
}

/** Returns the text with the commands to run next. */
function nextSteps(folder: string, { files, listen, hasTriggers, hasKey, isImporting }: InitOptions): string {
  const config = shellWord(join(folder, 'gateway.yaml'));
  const hasSampleFile = files === defaults.files && !isImporting;
  const filesCommand = files === undefined ? 'servers' : 'servers show files';
  const command = hasSampleFile ? 'tools call files read_text_file path=hello.txt' : filesCommand;
  const lines = [
    ...(hasKey ? ['The key is in .env, which only this user can read.'] : []),
    'Start the gateway, and run the second command in another terminal:',
    `  actor-gateway --config ${config}`,
    `  actor-gateway ${command} --config ${config}`,
    ...(hasTriggers ? ['Test the webhook:', `  ${sampleRequest(listen)}`] : []),
    'Connect a client:',
    `  actor-gateway connect${listen === defaults.listen ? '' : ` --url ${urlOf(parseListenAddr(listen))}`}`,
  ];
  return withProgramName(lines.join('\n'));
}
