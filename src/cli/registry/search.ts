// `servers search`: lists the servers in a registry whose names contain a word.

import type { RegistryEntry } from '../../../actors/mcp/registry/entry.ts';
import { Registry, RegistryError } from '../../../actors/mcp/registry/registry.ts';
import { columnsOf, isTerminal } from '../../terminal/paint.ts';
import { ApiProblem } from '../api/client.ts';
import { findRegistry } from '../catalog/location.ts';
import { exitHelp } from '../catalog/shared-options.ts';
import type { CommandModule } from '../command.ts';
import { countParser } from '../option-values.ts';
import { print, printJson } from '../views/output.ts';
import { table } from '../views/table.ts';
import { plansFor } from './install-plan.ts';

interface Options {
  readonly config?: string;
  readonly registry?: string;
  readonly limit: number;
  readonly json?: boolean;
}

export const registryHelp = `
The registry is --registry, else registry_url of the gateway file (--config, else ./gateway.yaml), else the
public registry. It must implement the API of the public registry, v0.1; omit the version from its address.`;

const after = `${registryHelp}
${exitHelp}`;

export const searchRegistry: CommandModule = {
  examples: [
    'actor-gateway servers search filesystem',
    'actor-gateway servers search github --limit 5 --json',
  ],
  declare: (command) =>
    command
      .option('-c, --config <file>', 'gateway configuration (YAML), for its registry_url')
      .option('--registry <address>', 'use this registry')
      .option('--limit <count>', 'maximum number of servers', countParser(1000), 30)
      .option('--json', 'print the result as JSON')
      .addHelpText('after', after),
  run: (command) => runSearch(command.args[0], command.opts<Options>()),
};

async function runSearch(word: string | undefined, options: Options): Promise<number> {
  const { limit, json } = options;
  const address = options.registry ?? (await findRegistry(options.config, process.env));
  const { entries, isCut } = await withRegistryErrors(() => new Registry(address).search(word, limit));
  if (json === true) {
    const servers = entries.map((entry) => ({
      name: entry.name,
      version: entry.version,
      description: entry.description,
      status: entry.status,
      status_message: entry.statusMessage ?? null,
      kinds: kindsOf(entry),
    }));
    await printJson(JSON.stringify({ servers, is_cut: isCut }));
    return 0;
  }
  if (entries.length === 0) {
    await print(word === undefined ? 'the registry is empty\n' : `no server has ${word} in its name\n`);
    return 0;
  }
  const width = isTerminal(process.stdout, process.env) ? columnsOf(process.stdout) : undefined;
  const lines = table(columns, entries, width);
  if (isCut) lines.push(`more than ${limit} servers found; increase --limit to see more`);
  await print(`${lines.join('\n')}\n`);
  return 0;
}

const columns = [
  { title: 'NAME', text: ({ name }: RegistryEntry) => name },
  { title: 'VERSION', text: ({ version }: RegistryEntry) => version },
  { title: 'AS', text: (entry: RegistryEntry) => kindsOf(entry).join(', ') || '-' },
  {
    title: 'DESCRIPTION',
    text: ({ status, statusMessage, description }: RegistryEntry) => {
      if (status === 'active') return description;
      const why = statusMessage === undefined ? '' : ` (${statusMessage})`;
      return `${status.toUpperCase()}${why}: ${description}`;
    },
  },
];

const kindsOf = (entry: RegistryEntry): readonly string[] => [
  ...new Set(plansFor(entry).plans.map(({ kind }) => kind)),
];

/** Converts errors of the registry to ApiProblem. */
export async function withRegistryErrors<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    throw new ApiProblem(error.message, { isTransient: true });
  }
}
