// The names that complete a word: of fields from the schemas, of everything else from the gateway that runs, as its API lists
// them. Where none answers at once there are none: nobody waits for a completion, and nobody wants to read why.

import { ApiClient } from '../api/api-client.ts';
import { pathOf } from '../api/server-path.ts';
import { readTarget } from '../api/target-options.ts';
import type { Candidate, Given } from './completed.ts';
import type { Noun } from './value-nouns.ts';

const DEADLINE_MS = 700;
/** A shell asks before it shows more. */
const MOST = 1000;

/** Where each noun is listed, and under which name its members have theirs. */
const lists: Readonly<
  Partial<Record<Noun, { readonly path: string; readonly list: string; readonly key: string }>>
> = {
  server: { path: 'servers', list: 'servers', key: 'id' },
  trigger: { path: 'triggers', list: 'triggers', key: 'name' },
  agent: { path: 'agents', list: 'agents', key: 'name' },
  fleet: { path: 'fleets', list: 'fleets', key: 'name' },
  flow: { path: 'flows', list: 'flows', key: 'name' },
  run: { path: 'runs', list: 'runs', key: 'id' },
  delivery: { path: 'deliveries', list: 'deliveries', key: 'id' },
  approval: { path: 'approvals', list: 'approvals', key: 'id' },
  // Those are a mapping.
  profile: { path: 'stats', list: 'profiles', key: '' },
};

/** Never rejects. */
export async function knownNames(noun: Noun, word: string, given: Given): Promise<readonly Candidate[]> {
  try {
    if (noun === 'field') return (await import('../commands/named-field.ts')).fieldsBeginning(word);
    const names = noun === 'tool' ? await toolsOf(given) : await listed(noun, given);
    return names.slice(0, MOST).map((name) => [name, ''] as const);
  } catch {
    return [];
  }
}

async function listed(noun: Noun, given: Given): Promise<string[]> {
  const where = lists[noun];
  if (where === undefined) return [];
  const rows = (await ask(where.path, given))[where.list];
  return Array.isArray(rows) ? rows.map((row) => String(row?.[where.key] ?? '')) : Object.keys(rows ?? {});
}

/** Of the server that stands before. */
async function toolsOf(given: Given): Promise<string[]> {
  const server = given.args.find(({ noun }) => noun === 'server')?.word;
  if (server === undefined) return [];
  const { tools } = await ask(pathOf(server), given);
  return Array.isArray(tools) ? tools.map(String) : [];
}

async function ask(path: string, { options }: Given): Promise<Record<string, unknown>> {
  const target = {
    ...(options.has('--url') ? { url: options.get('--url') as string } : {}),
    ...(options.has('--config') ? { config: options.get('--config') as string } : {}),
    ...(options.has('--api-key-file') ? { apiKeyFile: options.get('--api-key-file') as string } : {}),
  };
  const client = new ApiClient(await readTarget(target, process.env));
  return (await client.ask('GET', path, DEADLINE_MS)).body as Record<string, unknown>;
}
