// Names of flow nodes' types: also accepts names from other programs. Unsupported types of other programs are
// refused with an alternative.

import { suggest } from '../../reader/suggest.ts';
import type { NodeType } from './flow.ts';
import { nodeTypes } from './node-schemas.ts';

/** Node types by name in other programs, in lower case. */
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

/** Reasons and alternatives for unsupported types. */
const refused: Readonly<Record<string, string>> = {
  script: 'flows do not run programs: put it into a tool server, and use a Tool',
  shell: 'flows do not run programs: put it into a tool server, and use a Tool',
  webhook: 'is not a node: write a Trigger that refers to this flow',
  trigger: 'is not a node: write a Trigger that refers to this flow',
  flow: 'nested flows are not supported: write the nodes here',
};

/** Normalises a name for comparison. */
const plain = (word: string) => word.toLowerCase().replace(/[_-]/g, '');

/** Returns the usual notation of an alias, for editors. */
function displayName(word: string): string {
  return word === 'agentfleet' ? 'AgentFleet' : word.charAt(0).toUpperCase() + word.slice(1);
}

const typeByName: ReadonlyMap<string, NodeType> = new Map([
  ...nodeTypes.map((type) => [plain(type), type] as const),
  ...Object.entries(aliases),
]);

/** Type names and aliases; case-insensitive. */
export const allNodeTypeNames: readonly string[] = [...nodeTypes, ...Object.keys(aliases).map(displayName)];

/** Returns the type for a name or alias, or an error message. */
export function resolveNodeType(word: string): { readonly type: NodeType } | { readonly fault: string } {
  const type = typeByName.get(plain(word));
  if (type !== undefined) return { type };
  const why = Object.hasOwn(refused, plain(word)) ? refused[plain(word)] : undefined;
  if (why !== undefined) return { fault: why };
  const near = suggest(word, nodeTypes);
  return {
    fault: `unknown type of node; ${near === undefined ? `expected ${nodeTypes.join(', ')}` : `did you mean ${near}?`}`,
  };
}
