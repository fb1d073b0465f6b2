// Reads a fleet (several agents that work on one event) from a document, together with the inline agents that
// the document defines. fleet-checks.ts checks the named agents once all files are loaded.

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
import { translateFleet } from './fleet-aliases.ts';
import { fleetSchema, fleetSpecSchema } from './fleet-schema.ts';

type WrittenFleet = Written<Type.Static<typeof fleetSchema>>;
type Spec = Type.Static<typeof fleetSpecSchema>;
type WrittenMember = Spec['agents'][number];

export interface ReadFleet {
  /** The fleet; undefined if the file has errors. */
  readonly fleet: Fleet | undefined;
  /** Agents that the fleet defines itself, with the readers that have their problems. */
  readonly inline: readonly ReadResource[];
}

/**
 * Reports problems to `reader` and to the readers of `inline`. `file` is absolute. `inlineName` is the name
 * of a fleet without `metadata.name`: an inline fleet, or a definition stored with a run. Never rejects.
 */
export async function readFleet(
  reader: SchemaReader,
  root: YamlTree,
  file: string,
  inlineName?: string,
): Promise<ReadFleet> {
  const tree = memberOf(root, 'spec');
  const translatedRoot = fleetIn(reader, root);
  const agents = memberOf(memberOf(translatedRoot, 'spec'), 'agents');
  const rootWithoutInlineAgents = withMember(translatedRoot, 'spec', (spec) =>
    withMember(spec, 'agents', (list) =>
      list.kind === 'list'
        ? { ...list, items: list.items.map((each) => withoutMembers(each, ['spec'])) }
        : list,
    ),
  );
  const document = reader.read(fleetSchema, rootWithoutInlineAgents, '') as WrittenFleet | undefined;
  const name = inlineName ?? document?.metadata?.name;
  const spec = fillDefaults(fleetSpecSchema, (document?.spec ?? {}) as Written<Spec>);
  const members: FleetMember[] = [];
  const inline: ReadInlineAgent[] = [];
  for (const [index, written] of (document?.spec?.agents ?? []).entries()) {
    // A member without a valid name was reported.
    if (written?.name === undefined) continue;
    const path = joinPath('spec.agents', index);
    const inlineSpec = agents?.kind === 'list' ? memberOf(agents.items[index], 'spec') : undefined;
    if (inlineSpec !== undefined && written.agent !== undefined)
      reader.reportKey(joinPath(path, 'agent'), 'contradicts spec, which is an inline agent');
    const read =
      inlineSpec &&
      (await readInlineAgent(reader, {
        name: `${name ?? 'fleet'}/${written.name}`,
        file,
        path,
        spec: inlineSpec,
      }));
    if (read !== undefined) inline.push(read);
    members.push(memberOfFleet(written as WrittenMember, read));
  }
  const coordination = coordinationOf(reader, spec, members);
  checkMembers(reader, spec, members);
  const inlineResources = inline.map(({ resource }) => resource);
  const isValid = !hasError(reader.problems) && inline.every(({ agent }) => agent !== undefined);
  if (name === undefined || tree === undefined || coordination === undefined || !isValid)
    return { fleet: undefined, inline: inlineResources };
  const { tokens, tool_calls, cost } = spec.budget;
  const { description, on_failure, timeout_seconds, concurrency } = spec;
  const definition = definitionOf(tree);
  const hash = contentHash({ name, definition, agents: inlineResources.map(({ agent }) => agent?.hash) });
  const rest = { description, on_failure, timeout_seconds, concurrency, file, hash, definition };
  return {
    fleet: { name, members, coordination, budget: { tokens, tool_calls, cost }, ...rest },
    inline: inlineResources,
  };
}

/** Returns the document with the kind `Fleet`, also for an alias, and with translated fields. */
function fleetIn(reader: SchemaReader, root: YamlTree): YamlTree {
  const rootWithKind = withMember(root, 'kind', (kind) =>
    kind.kind === 'scalar' ? { ...kind, value: 'Fleet' } : kind,
  );
  return withMember(rootWithKind, 'spec', (spec) => translateFleet(reader, spec));
}

function memberOfFleet(written: WrittenMember, inline: ReadInlineAgent | undefined): FleetMember {
  const { name, agent = name, description, weight = 1, role = 'member', tier = 1 } = written;
  return {
    name,
    agent: inline?.agent ?? agent,
    description: description ?? inline?.agent?.description,
    // In thousandths, because sums of whole numbers are exact.
    weight: Math.round(weight * 1_000),
    isManager: role === 'manager',
    tier,
  };
}

/** Reports contradictions. Returns undefined if the mode or the combination of answers is missing. */
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
      'contradicts consensus: use either a vote or an aggregation',
    );
  if (consensus === undefined && aggregation === undefined) {
    reader.report(path, 'needs consensus: { field }, or aggregation: merge or manager');
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
  // A missing field was reported, so the fleet is not used.
  return { mode, by: { field: field ?? '', algorithm, min_votes, on_none } };
}

/** Reports a missing or second manager; `setting` is the setting that needs a manager. */
function checkManager(reader: SchemaReader, members: readonly FleetMember[], setting: string): void {
  const count = members.filter(({ isManager }) => isManager).length;
  if (count !== 1)
    reader.report('spec.agents', `${setting} needs a single member with role: manager, found ${count}`);
}

function checkMembers(reader: SchemaReader, { coordination }: Spec, members: readonly FleetMember[]): void {
  if (members.length === 0 && reader.has('spec.agents')) reader.report('spec.agents', 'has no members');
  const seen = new Set<string>();
  for (const [index, { name }] of members.entries()) {
    if (seen.has(name))
      reader.report(joinPath(joinPath('spec.agents', index), 'name'), `is a duplicate: ${name}`);
    seen.add(name);
    const tierPath = joinPath(joinPath('spec.agents', index), 'tier');
    if (coordination?.mode !== 'tiered' && reader.has(tierPath))
      reader.reportKey(tierPath, 'only has an effect in mode tiered', 'warning');
  }
}
