// `init`: from nothing to a gateway that can be started. It asks a few questions on a terminal, writes commented files, and
// says which two commands come next.

import { join, resolve } from 'node:path';
import { parseListenAddr, urlOf } from '../../../config/gateway-file/listen-addr.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { UsageError } from '../api/target-options.ts';
import { readWhole, replaceText } from '../catalog/replace-text.ts';
import type { CommandModule } from '../command.ts';
import { importCatalog } from '../import/import-command.ts';
import { asInvoked } from '../program-name.ts';
import { print } from '../views/output.ts';
import { defaults, newFiles, sampleRequest, variablesOf, type Wishes, withOwnServers } from './new-files.ts';
import { askWishes } from './questions.ts';
import { makeFolder, refuseExisting, writeAll } from './write-files.ts';

const after = `
It writes gateway.yaml, catalog.yaml and what they name. What is there is never written over: a second time is refused.

Examples:
  actor-gateway init
  actor-gateway init --yes my-gateway

Exit codes: 0 done, 2 there is such a file, or wrong usage`;

export const init: CommandModule = {
  declare: (command) =>
    command
      .argument('[folder]', 'where to write; made where it is not there')
      .option('-y, --yes', 'ask nothing, and take what an empty answer would mean')
      .addHelpText('after', after),
  run: (command) => written(command.args[0] ?? '.', command.opts<{ yes?: boolean }>().yes === true),
};

async function written(folder: string, isWithoutQuestions: boolean): Promise<number> {
  // Before anybody answers five questions for nothing.
  refuseExisting(folder, newFiles(defaults).slice(0, 2));
  const wishes = isWithoutQuestions ? defaults : await asked(folder);
  const files = newFiles(wishes);
  refuseExisting(folder, files);
  if (wishes.files !== undefined) makeFolder(resolve(folder, wishes.files));
  makeFolder(resolve(folder));
  const catalog = join(folder, 'catalog.yaml');
  const isImported = wishes.isImporting && (await importCatalog({ output: catalog })) === 0;
  if (isImported) await addServers(catalog, wishes);
  const others = files.filter(({ path }) => !isImported || path !== 'catalog.yaml');
  const paths = (await writeAll(resolve(folder), others, variablesOf(wishes))).map((path) =>
    printable(join(folder, path)),
  );
  await print(`written: ${paths.join(', ')}\n\n${nextSteps(folder, wishes)}\n`);
  return 0;
}

/** Adds the chosen servers to the imported ones. */
async function addServers(catalog: string, wishes: Wishes): Promise<void> {
  const imported = await readWhole(catalog);
  await replaceText(catalog, imported, withOwnServers(imported, wishes));
}

function asked(folder: string): Promise<Wishes> {
  if (process.stdin.isTTY && process.stdout.isTTY) return askWishes(folder);
  throw new UsageError('init asks its questions on a terminal, and this is none; --yes takes the defaults');
}

/** The program is called as it was called just now. */
function nextSteps(folder: string, { files, listen, hasTriggers, hasKey, isImporting }: Wishes): string {
  const config = shellWord(join(folder, 'gateway.yaml'));
  const first =
    files === defaults.files && !isImporting
      ? 'tools call files read_text_file path=hello.txt'
      : files === undefined
        ? 'servers'
        : 'servers show files';
  const lines = [
    ...(hasKey ? ['The key is in .env, which nobody else may read.'] : []),
    'Next, and in another terminal once it runs:',
    `  actor-gateway --config ${config}`,
    `  actor-gateway ${first} --config ${config}`,
    ...(hasTriggers ? ['The webhook answers:', `  ${sampleRequest(listen)}`] : []),
    'A client that is to use this gateway:',
    `  actor-gateway connect${listen === defaults.listen ? '' : ` --url ${urlOf(parseListenAddr(listen))}`}`,
  ];
  return asInvoked(lines.join('\n'));
}

const shellWord = (text: string): string =>
  /^[\w./~@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
