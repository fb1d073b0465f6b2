// `servers remove`, `servers enable` and `servers disable`: changes an entry of the catalog.

import { plainId } from '../../../config/catalog/read-catalog.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { ApiProblem } from '../api/client.ts';
import type { CommandModule } from '../command.ts';
import { CatalogFile } from './file.ts';
import { locateCatalog } from './location.ts';
import { type CatalogOutcome, printOutcome } from './outcome.ts';
import { reloadGateway } from './reload-gateway.ts';
import { findServerReferences } from './server-references.ts';
import {
  type CatalogOptions,
  catalogHelp,
  declareCatalog,
  readCatalogOptions,
  reportProblems,
} from './shared-options.ts';

interface Options extends CatalogOptions {
  readonly id: string;
}

const results = { remove: 'removed', enable: 'enabled', disable: 'disabled' } as const;

const notes = {
  remove: 'Comments above the entry are kept, and so are its variables in .env.',
  enable: 'A running gateway starts the server, and the command prints its tools.',
  disable: "The entry is kept, with enabled: false, or disabled: true in a client's file.",
};

const commandFor = (name: keyof typeof results): CommandModule => ({
  examples: [`actor-gateway servers ${name} files`],
  declare: (command) => {
    command.addHelpText('after', `\n${notes[name]}\n${catalogHelp}`);
    declareCatalog(command);
  },
  run: (command) =>
    reportProblems(() => changeServer(name, { ...readCatalogOptions(command), id: command.args[0] ?? '' })),
});

export const catalogCommands = {
  remove: commandFor('remove'),
  enable: commandFor('enable'),
  disable: commandFor('disable'),
};

async function changeServer(name: keyof typeof results, options: Options): Promise<number> {
  const { id } = options;
  const file = await CatalogFile.open(await locateCatalog(options, process.env));
  const server = file.nameOf(id);
  if (name === 'remove') await refuseReferenced(server, file);
  const isChanged = await file.change(
    name === 'remove'
      ? { do: 'remove', name: server }
      : { do: 'switch', name: server, isEnabled: name === 'enable' },
  );
  const did: CatalogOutcome['did'] = isChanged ? results[name] : 'nothing';
  const reload = await reloadGateway(options, file.location, name === 'enable' ? plainId(server) : undefined);
  return printOutcome({ server, did, file, reload }, options.isJson);
}

/** Throws ApiProblem if profiles, agents or other resources reference the server. */
async function refuseReferenced(server: string, { location }: CatalogFile): Promise<void> {
  const lines = await findServerReferences(plainId(server), location);
  if (lines.length === 0) return;
  throw new ApiProblem(
    `${server} is used by other parts of the configuration; change these first, or disable the server; nothing was written`,
    { details: lines.map(printable) },
  );
}
