// Translates fleets of other programs. Fields and modes without a counterpart are refused with the remedy.

import { type FieldTable, refusing, translated } from '../../reader/field-table.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, scalarLike, textOf, withMember, withoutMembers } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';

const toolServer = 'is not supported: let a tool server keep what members share';

const modes: Readonly<Record<string, string>> = {
  swarm: 'is not supported: write peer, or a Trigger for each kind of question',
  deep: 'is not supported: write one Agent with max_iterations',
};

const votes = refusing({
  distribution: 'is not supported: every member of a tier is asked',
  min_confidence: 'is not supported: what a model says of its own certainty is no measure; write min_votes',
});

const people = refusing({
  ask: 'is not supported: name a member that decides (agent: NAME), or ask this fleet in a flow and have on_error lead to an Approval',
});

const fields: FieldTable = {
  members: 'agents',
  agents: { fields: { ref: 'agent' } },
  coordination: {
    value: coordination,
    fields: { ...votes, consensus: { fields: { ...votes, on_none: { value: withoutPeople } } } },
  },
  ...refusing({
    scaling: 'is not supported: the members are those that are listed',
    replicas: 'is not supported: a member answers any number of questions at a time',
    communication: 'is not supported: members hear of each other by the mode of coordination alone',
    shared: toolServer,
    shared_memory: toolServer,
    shared_tools: 'is not supported: write mcp_servers of the members',
  }),
};

/** Returns the `spec` of a fleet in the fields of the schema. Reports fields that have none. */
export const translatedFleet = (reader: SchemaReader, spec: YamlTree): YamlTree =>
  translated(reader, spec, 'spec', fields);

/** Reports an unsupported mode, and replaces it: the rest is then checked without further errors. */
function coordination(written: YamlTree, reader: SchemaReader, path: string): YamlTree {
  const mode = memberOf(written, 'mode');
  const word = textOf(mode) ?? '';
  const reason = Object.hasOwn(modes, word) ? modes[word] : undefined;
  if (mode === undefined || reason === undefined) return written;
  reader.place(`${path}.mode`, mode.offset, mode.offset);
  reader.report(`${path}.mode`, `${word} ${reason}`);
  const supported = withMember(written, 'mode', (each) => scalarLike(each, 'pipeline'));
  return withoutMembers(supported, ['consensus', 'aggregation']);
}

/** Replaces a mapping whose only field was refused. */
function withoutPeople(onNone: YamlTree, reader: SchemaReader, path: string): YamlTree {
  const rest = translated(reader, onNone, path, people);
  const isRefused = memberOf(onNone, 'ask') !== undefined && rest.kind === 'map' && rest.pairs.length === 0;
  return isRefused ? scalarLike(onNone, 'fail') : rest;
}
