// Reads inline agents and fleets: a node of a flow may define its agent or fleet in `config.spec`, instead of
// a name. They are read before the nodes, also in loops; the node then looks them up by path.

import { joinPath } from '../../reader/field-path.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, textOf } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import type { Agent } from '../agents/agent.ts';
import { readInlineAgent } from '../agents/inline-agent.ts';
import type { Fleet } from '../fleets/fleet.ts';
import { readInlineFleet } from '../fleets/inline-fleet.ts';
import type { ReadResource } from '../resource-context.ts';
import { MAX_DEPTH, MAX_NODES } from './flow-bounds.ts';
import { resolveNodeType } from './node-aliases.ts';

export interface InlineHandlers {
  /** Inline agents by the path of the node's `config`. */
  readonly agents: ReadonlyMap<string, Agent>;
  /** Inline fleets by the path of the node's `config`. */
  readonly fleets: ReadonlyMap<string, Fleet>;
  /** All inline agents and fleets, also those with errors, with the readers that have their problems. */
  readonly resources: readonly ReadResource[];
}

/** Position of the search: the flow, or a loop within it. */
interface SearchPosition {
  /** Beginning of the names of inline agents and fleets. */
  readonly prefix: string;
  readonly path: string;
  readonly depth: number;
}

/** Inline agent or fleet before it is read. */
interface InlineHandler {
  readonly kind: 'Agent' | 'Fleet';
  readonly name: string;
  readonly path: string;
  readonly spec: YamlTree;
}

/** `spec` is the spec of the flow `name`; `file` is absolute. Never rejects. */
export async function readInlineHandlers(
  reader: SchemaReader,
  { name, file, spec }: { readonly name: string; readonly file: string; readonly spec: YamlTree | undefined },
): Promise<InlineHandlers> {
  const agents = new Map<string, Agent>();
  const fleets = new Map<string, Fleet>();
  const resources: ReadResource[] = [];
  for (const { kind, ...found } of inlineIn(spec, { prefix: name, path: 'spec', depth: 0 })) {
    const input = { ...found, file };
    if (kind === 'Agent') {
      const { agent, resource } = await readInlineAgent(reader, input);
      if (agent !== undefined) agents.set(found.path, agent);
      resources.push(resource);
    } else {
      const read = await readInlineFleet(reader, input);
      if (read.fleet !== undefined) fleets.set(found.path, read.fleet);
      resources.push(...read.resources);
    }
  }
  return { agents, fleets, resources };
}

function inlineIn(
  tree: YamlTree | undefined,
  { prefix, path, depth }: SearchPosition,
): readonly InlineHandler[] {
  const list = memberOf(tree, 'nodes');
  if (list?.kind !== 'list' || depth > MAX_DEPTH) return [];
  return list.items.slice(0, MAX_NODES).flatMap((item, index): readonly InlineHandler[] => {
    const word = textOf(memberOf(item, 'type'));
    const nodeType = word === undefined ? undefined : resolveNodeType(word);
    // read-body.ts reports missing and unknown types.
    if (nodeType === undefined || 'fault' in nodeType) return [];
    const { type } = nodeType;
    const config = memberOf(item, 'config');
    const configPath = joinPath(joinPath(joinPath(path, 'nodes'), index), 'config');
    const name = `${prefix}/${textOf(memberOf(item, 'id')) ?? index}`;
    if (type === 'Loop') return inlineIn(config, { prefix: name, path: configPath, depth: depth + 1 });
    const spec = memberOf(config, 'spec');
    if (spec === undefined || (type !== 'Agent' && type !== 'Fleet')) return [];
    return [{ kind: type, name, path: configPath, spec }];
  });
}
