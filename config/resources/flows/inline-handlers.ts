// Agents and fleets that are written in the nodes of a flow (`spec`), within its loops too. They are read before the nodes, which find them
// by where they stand.

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
import { nodeTypeMeant } from './node-aliases.ts';

export interface InlineHandlers {
  /** By the paths of the `config` that they are written in. */
  readonly agents: ReadonlyMap<string, Agent>;
  readonly fleets: ReadonlyMap<string, Fleet>;
  /** With what is wrong with them. */
  readonly resources: readonly ReadResource[];
}

interface Place {
  /** What stands before the names of those that are found. */
  readonly prefix: string;
  readonly path: string;
  readonly depth: number;
}

interface Found {
  readonly kind: 'Agent' | 'Fleet';
  readonly name: string;
  readonly path: string;
  readonly spec: YamlTree;
}

/** `spec` is of the flow `name`; `file` is absolute. Never rejects. */
export async function readInlineHandlers(
  reader: SchemaReader,
  { name, file, spec }: { readonly name: string; readonly file: string; readonly spec: YamlTree | undefined },
): Promise<InlineHandlers> {
  const agents = new Map<string, Agent>();
  const fleets = new Map<string, Fleet>();
  const resources: ReadResource[] = [];
  for (const { kind, ...found } of inlineIn(spec, { prefix: name, path: 'spec', depth: 0 })) {
    const given = { ...found, file };
    if (kind === 'Agent') {
      const { agent, resource } = await readInlineAgent(reader, given);
      if (agent !== undefined) agents.set(found.path, agent);
      resources.push(resource);
    } else {
      const read = await readInlineFleet(reader, given);
      if (read.fleet !== undefined) fleets.set(found.path, read.fleet);
      resources.push(...read.resources);
    }
  }
  return { agents, fleets, resources };
}

function inlineIn(tree: YamlTree | undefined, { prefix, path, depth }: Place): readonly Found[] {
  const list = memberOf(tree, 'nodes');
  if (list?.kind !== 'list' || depth > MAX_DEPTH) return [];
  return list.items.slice(0, MAX_NODES).flatMap((item, index): readonly Found[] => {
    const word = textOf(memberOf(item, 'type'));
    const meant = word === undefined ? undefined : nodeTypeMeant(word);
    if (meant === undefined || !('type' in meant)) return [];
    const { type } = meant;
    const config = memberOf(item, 'config');
    const at = joinPath(joinPath(joinPath(path, 'nodes'), index), 'config');
    const name = `${prefix}/${textOf(memberOf(item, 'id')) ?? index}`;
    if (type === 'Loop') return inlineIn(config, { prefix: name, path: at, depth: depth + 1 });
    const spec = memberOf(config, 'spec');
    if (spec === undefined || (type !== 'Agent' && type !== 'Fleet')) return [];
    return [{ kind: type, name, path: at, spec }];
  });
}
