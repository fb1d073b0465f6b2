// `servers search`: lists the servers of a registry.

import { Registry, RegistryError } from '../../../actors/mcp/registry/registry.ts';
import type { RegistryEntry } from '../../../actors/mcp/registry/registry-entry.ts';
import { columnsOf, isTerminal } from '../../terminal/paint.ts';
import { ApiProblem } from '../api/api-client.ts';
import { exitHelp } from '../catalog/catalog-options.ts';
import { findRegistry } from '../catalog/catalog-place.ts';
import type { CommandModule } from '../command.ts';
import { countUpTo } from '../option-values.ts';
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
The registry is --registry, else registry_url of the gateway file (--config, else ./gateway.yaml), else the public one. It speaks the
API of the public registry, v0.1; its address is given without that.`;

const after = `${registryHelp}

Examples:
  actor-gateway servers search filesystem
  actor-gateway servers search github --limit 5 --json
${exitHelp}`;

export const searchRegistry: CommandModule = {
  declare: (command) =>
    command
      .option('-c, --config <file>', 'gateway configuration (YAML), for its registry_url')
      .option('--registry <address>', 'ask this registry')
      .option('--limit <count>', 'most servers that are shown', countUpTo(1000), 30)
      .option('--json', 'print the result as JSON')
      .addHelpText('after', after),
  run: (command) => searched(command.args[0], command.opts<Options>()),
};

async function searched(word: string | undefined, options: Options): Promise<number> {
  const { limit, json } = options;
  const address = options.registry ?? (await findRegistry(options.config, process.env));
  const { entries, isCut } = await asking(() => new Registry(address).search(word, limit));
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
  if (isCut) lines.push(`there are more than ${limit}; --limit shows more of them`);
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

/** What a registry does not say is told as any other failure. */
export async function asking<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    throw new ApiProblem(error.message, true);
  }
}
