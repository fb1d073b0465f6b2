// From the tree of one document to a fleet. What it needs of the agents that it names is checked when all files are read (fleet-checks.ts).

import type * as Type from 'typebox';
import { contentHash } from '../../content-hash.ts';
import { joinPath } from '../../reader/field-path.ts';
import { fillDefaults, type Written } from '../../reader/fill-defaults.ts';
import { hasError } from '../../reader/problem.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, withMember, withoutMembers } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { definitionOf } from '../agents/definition-text.ts';
import { type ReadInlineAgent, readInlineAgent } from '../agents/inline-agent.ts';
import type { ReadResource } from '../resource-context.ts';
import type { Coordination, Fleet, FleetMember } from './fleet.ts';
import { translatedFleet } from './fleet-aliases.ts';
import { fleetSchema, fleetSpecSchema } from './fleet-schema.ts';

type WrittenFleet = Written<Type.Static<typeof fleetSchema>>;
type Spec = Type.Static<typeof fleetSpecSchema>;
type WrittenMember = Spec['agents'][number];

export interface ReadFleet {
  /** Undefined where something is wrong. */
  readonly fleet: Fleet | undefined;
  /** Its agents that are written in it. */
  readonly inline: readonly ReadResource[];
}

/** Reports to `reader`, and to those of `inline`; `file` is absolute, `named` is for one without a name of its own. Never rejects. */
export async function readFleet(
  reader: SchemaReader,
  root: YamlTree,
  file: string,
  named?: string,
): Promise<ReadFleet> {
  const tree = memberOf(root, 'spec');
  const meant = fleetIn(reader, root);
  const agents = memberOf(memberOf(meant, 'spec'), 'agents');
  const bare = withMember(meant, 'spec', (spec) =>
    withMember(spec, 'agents', (list) =>
      list.kind === 'list'
        ? { ...list, items: list.items.map((each) => withoutMembers(each, ['spec'])) }
        : list,
    ),
  );
  const document = reader.read(fleetSchema, bare, '') as WrittenFleet | undefined;
  const name = named ?? document?.metadata?.name;
  const spec = fillDefaults(fleetSpecSchema, (document?.spec ?? {}) as Written<Spec>);
  const members: FleetMember[] = [];
  const inline: ReadInlineAgent[] = [];
  for (const [index, written] of (document?.spec?.agents ?? []).entries()) {
    if (written?.name === undefined) continue;
    const path = joinPath('spec.agents', index);
    const own = agents?.kind === 'list' ? memberOf(agents.items[index], 'spec') : undefined;
    if (own !== undefined && written.agent !== undefined)
      reader.reportKey(joinPath(path, 'agent'), 'contradicts spec, which is an agent of its own');
    const read =
      own &&
      (await readInlineAgent(reader, { name: `${name ?? 'fleet'}/${written.name}`, file, path, spec: own }));
    if (read !== undefined) inline.push(read);
    members.push(memberOfFleet(written as WrittenMember, read));
  }
  const coordination = coordinationOf(reader, spec, members);
  checkMembers(reader, spec, members);
  const read = inline.map(({ resource }) => resource);
  const isWhole = !hasError(reader.problems) && inline.every(({ agent }) => agent !== undefined);
  if (name === undefined || tree === undefined || coordination === undefined || !isWhole)
    return { fleet: undefined, inline: read };
  const { tokens, tool_calls, cost } = spec.budget;
  const { description, on_failure, timeout_seconds, concurrency } = spec;
  const definition = definitionOf(tree);
  const hash = contentHash({ name, definition, agents: read.map(({ agent }) => agent?.hash) });
  const rest = { description, on_failure, timeout_seconds, concurrency, file, hash, definition };
  return {
    fleet: { name, members, coordination, budget: { tokens, tool_calls, cost }, ...rest },
    inline: read,
  };
}

function fleetIn(reader: SchemaReader, root: YamlTree): YamlTree {
  const named = withMember(root, 'kind', (kind) =>
    kind.kind === 'scalar' ? { ...kind, value: 'Fleet' } : kind,
  );
  return withMember(named, 'spec', (spec) => translatedFleet(reader, spec));
}

function memberOfFleet(written: WrittenMember, inline: ReadInlineAgent | undefined): FleetMember {
  const { name, agent = name, description, weight = 1, role = 'member', tier = 1 } = written;
  return {
    name,
    agent: inline?.agent ?? agent,
    description: description ?? inline?.agent?.description,
    weight: Math.round(weight * 1_000),
    isManager: role === 'manager',
    tier,
  };
}

function coordinationOf(
  reader: SchemaReader,
  { coordination }: Spec,
  members: readonly FleetMember[],
): Coordination | undefined {
  const { mode, consensus, aggregation }: Partial<Spec['coordination']> = coordination ?? {};
  if (mode === undefined) return undefined;
  const path = 'spec.coordination';
  if (mode === 'pipeline' || mode === 'hierarchical') {
    for (const key of ['consensus', 'aggregation'])
      if (reader.has(joinPath(path, key)))
        reader.reportKey(joinPath(path, key), `has no effect in mode ${mode}`);
    if (mode === 'hierarchical') checkManager(reader, members, 'mode hierarchical');
    return { mode };
  }
  if (consensus !== undefined && aggregation !== undefined)
    reader.reportKey(
      joinPath(path, 'aggregation'),
      'contradicts consensus: answers are voted on, or put together',
    );
  if (consensus === undefined && aggregation === undefined) {
    reader.report(
      path,
      'says nothing of the one answer: give it consensus: { field }, or aggregation: merge or manager',
    );
    return undefined;
  }
  if (aggregation === 'manager') checkManager(reader, members, 'aggregation: manager');
  if (consensus === undefined) return { mode, by: aggregation ?? 'merge' };
  const {
    field,
    algorithm = 'majority',
    min_votes = 1,
    on_none = 'fail',
  } = consensus as Partial<typeof consensus>;
  if (typeof on_none === 'object' && !members.some(({ name }) => name === on_none.agent))
    reader.report(`${path}.consensus.on_none`, `there is no member ${on_none.agent}`);
  return { mode, by: { field: field ?? '', algorithm, min_votes, on_none } };
}

function checkManager(reader: SchemaReader, members: readonly FleetMember[], what: string): void {
  const managers = members.filter(({ isManager }) => isManager).length;
  if (managers !== 1)
    reader.report('spec.agents', `${what} needs one member with role: manager, and there are ${managers}`);
}

function checkMembers(reader: SchemaReader, { coordination }: Spec, members: readonly FleetMember[]): void {
  if (members.length === 0 && reader.has('spec.agents')) reader.report('spec.agents', 'has no members');
  const seen = new Set<string>();
  for (const [index, { name }] of members.entries()) {
    if (seen.has(name))
      reader.report(joinPath(joinPath('spec.agents', index), 'name'), `is there twice: ${name}`);
    seen.add(name);
    const tier = joinPath(joinPath('spec.agents', index), 'tier');
    if (coordination?.mode !== 'tiered' && reader.has(tier))
      reader.reportKey(tier, 'has no effect but in mode tiered', 'warning');
  }
}
