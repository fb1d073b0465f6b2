// Looks up names for completion: fields in the schemas, all others by the API of the running gateway. If the
// gateway does not respond in time, the list is empty.

import { ApiClient } from '../api/client.ts';
import { pathOf } from '../api/server-path.ts';
import { readTarget } from '../api/target-options.ts';
import type { Candidate, PrecedingArguments } from './complete-words.ts';
import type { ValueNoun } from './value-nouns.ts';

const DEADLINE_MS = 700;
/** Limit of the list. For long lists shells ask the user first, so this is only a bound. */
const MAX_NAMES = 1000;

/** API path per noun, the member of the response that contains the list, and the member with the name. */
const lists: Readonly<
  Partial<Record<ValueNoun, { readonly path: string; readonly list: string; readonly key: string }>>
> = {
  server: { path: 'servers', list: 'servers', key: 'id' },
  trigger: { path: 'triggers', list: 'triggers', key: 'name' },
  agent: { path: 'agents', list: 'agents', key: 'name' },
  fleet: { path: 'fleets', list: 'fleets', key: 'name' },
  flow: { path: 'flows', list: 'flows', key: 'name' },
  run: { path: 'runs', list: 'runs', key: 'id' },
  delivery: { path: 'deliveries', list: 'deliveries', key: 'id' },
  approval: { path: 'approvals', list: 'approvals', key: 'id' },
  // An object with names as keys, not a list.
  profile: { path: 'stats', list: 'profiles', key: '' },
};

/** Returns candidates for a noun. Never rejects. */
export async function lookUpNames(
  noun: ValueNoun,
  word: string,
  preceding: PrecedingArguments,
): Promise<readonly Candidate[]> {
  try {
    if (noun === 'field') return (await import('../commands/find-field.ts')).completeFieldPath(word);
    const names = noun === 'tool' ? await requestTools(preceding) : await requestNames(noun, preceding);
    return names.slice(0, MAX_NAMES).map((name) => [name, ''] as const);
  } catch {
    return [];
  }
}

async function requestNames(noun: ValueNoun, preceding: PrecedingArguments): Promise<string[]> {
  const list = lists[noun];
  if (list === undefined) return [];
  const rows = (await requestJson(list.path, preceding))[list.list];
  return Array.isArray(rows) ? rows.map((row) => String(row?.[list.key] ?? '')) : Object.keys(rows ?? {});
}

/** Returns the tools of the server that an earlier argument names. */
async function requestTools(preceding: PrecedingArguments): Promise<string[]> {
  const server = preceding.args.find(({ noun }) => noun === 'server')?.word;
  if (server === undefined) return [];
  const { tools } = await requestJson(pathOf(server), preceding);
  return Array.isArray(tools) ? tools.map(String) : [];
}

async function requestJson(path: string, { options }: PrecedingArguments): Promise<Record<string, unknown>> {
  const target = {
    ...(options.has('--url') ? { url: options.get('--url') as string } : {}),
    ...(options.has('--config') ? { config: options.get('--config') as string } : {}),
    ...(options.has('--api-key-file') ? { apiKeyFile: options.get('--api-key-file') as string } : {}),
  };
  const client = new ApiClient(await readTarget(target, process.env));
  return (await client.request('GET', path, DEADLINE_MS)).body as Record<string, unknown>;
}
