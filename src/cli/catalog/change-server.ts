// `servers remove`, `servers enable` and `servers disable`: one server of the catalog less, or switched.

import { plainId } from '../../../config/catalog/read-catalog.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { ApiProblem } from '../api/api-client.ts';
import type { CommandModule } from '../command.ts';
import {
  type CatalogOptions,
  catalogHelp,
  declareCatalog,
  readCatalogOptions,
  reportingProblems,
} from './catalog-options.ts';
import { findCatalog } from './catalog-place.ts';
import { CatalogFile } from './change-catalog.ts';
import { namedElsewhere } from './named-elsewhere.ts';
import { type Outcome, tell } from './outcome.ts';
import { tellGateway } from './running-gateway.ts';

interface Options extends CatalogOptions {
  readonly id: string;
}

const words = { remove: 'removed', enable: 'enabled', disable: 'disabled' } as const;

const notes = {
  remove: 'Comments above it stay, and what .env has for it.',
  enable: 'A running gateway starts it, and its tools are told.',
  disable: 'Its entry stays, with enabled: false, or disabled: true where the file of a client says it so.',
};

const commandFor = (name: keyof typeof words): CommandModule => ({
  declare: (command) => {
    command.addHelpText(
      'after',
      `\n${notes[name]}\n${catalogHelp}\n\nExample:\n  actor-gateway servers show ${name} files`,
    );
    declareCatalog(command);
  },
  run: (command) =>
    reportingProblems(() => changed(name, { ...readCatalogOptions(command), id: command.args[0] ?? '' })),
});

export const catalogCommands = {
  remove: commandFor('remove'),
  enable: commandFor('enable'),
  disable: commandFor('disable'),
};

async function changed(name: keyof typeof words, options: Options): Promise<number> {
  const { id } = options;
  const file = await CatalogFile.open(await findCatalog(options, process.env));
  const server = file.nameOf(id);
  if (name === 'remove') await refuseNamed(server, file);
  const isChanged = await file.change(
    name === 'remove'
      ? { do: 'remove', name: server }
      : { do: 'switch', name: server, isEnabled: name === 'enable' },
  );
  const did: Outcome['did'] = isChanged ? words[name] : 'nothing';
  const after = await tellGateway(options, file.place, name === 'enable' ? plainId(server) : undefined);
  return tell({ server, did, file, after }, options.isJson);
}

/** Throws ApiProblem where the gateway would not load what is left. */
async function refuseNamed(server: string, { place }: CatalogFile): Promise<void> {
  const lines = await namedElsewhere(plainId(server), place);
  if (lines.length === 0) return;
  throw new ApiProblem(
    `${server} is named elsewhere; change that first, or disable it; nothing was written`,
    false,
    undefined,
    lines.map(printable),
  );
}
