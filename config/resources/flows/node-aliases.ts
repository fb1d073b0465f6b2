// Types of nodes as others write them. What cannot be had is refused with what to write instead.

import { suggest } from '../../reader/suggest.ts';
import type { NodeType } from './flow.ts';
import { nodeTypes } from './node-schemas.ts';

const aliases: Readonly<Record<string, NodeType>> = {
  slack: 'Response',
  telegram: 'Response',
  discord: 'Response',
  notify: 'Response',
  agentfleet: 'Fleet',
  output: 'Response',
  delay: 'Wait',
  sleep: 'Wait',
};

const refused: Readonly<Record<string, string>> = {
  script: 'programs are not run from flows: put it into a tool server, and write a Tool',
  shell: 'programs are not run from flows: put it into a tool server, and write a Tool',
  webhook: 'what starts a flow stands in a Trigger that names it',
  trigger: 'what starts a flow stands in a Trigger that names it',
  flow: 'a flow within a flow is not supported: write its nodes here',
};

const plain = (word: string) => word.toLowerCase().replace(/[_-]/g, '');

function shownWord(word: string): string {
  return word === 'agentfleet' ? 'AgentFleet' : word.charAt(0).toUpperCase() + word.slice(1);
}

const byWord: ReadonlyMap<string, NodeType> = new Map([
  ...nodeTypes.map((type) => [plain(type), type] as const),
  ...Object.entries(aliases),
]);

/** As they are written by us, and the words that others have for them; any case is taken. */
export const typeSpellings: readonly string[] = [...nodeTypes, ...Object.keys(aliases).map(shownWord)];

/** The type that is meant, in whatever case, or why there is none. */
export function nodeTypeMeant(word: string): { readonly type: NodeType } | { readonly fault: string } {
  const type = byWord.get(plain(word));
  if (type !== undefined) return { type };
  const why = Object.hasOwn(refused, plain(word)) ? refused[plain(word)] : undefined;
  if (why !== undefined) return { fault: why };
  const near = suggest(word, nodeTypes);
  return {
    fault: `there is no type of nodes of that name; ${near === undefined ? `there are ${nodeTypes.join(', ')}` : `did you mean ${near}?`}`,
  };
}
