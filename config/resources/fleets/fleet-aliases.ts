// Translates fleets (several agents that work on one event) in the syntax of other programs to the fields of
// fleet-schema.ts. Refuses unsupported fields and modes with a remedy.

import { type FieldTable, refusing, translateFields } from '../../reader/field-table.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, scalarLike, textOf, withMember, withoutMembers } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';

const toolServer = 'is not supported: share data through a tool server';

/** Reasons and remedies for unsupported modes. */
const modes: Readonly<Record<string, string>> = {
  swarm: 'is not supported: use peer, or a Trigger for each kind of request',
  deep: 'is not supported: use an Agent with max_iterations',
};

/** Refused fields of votes. */
const votes = refusing({
  distribution: 'is not supported: every member of a tier runs',
  min_confidence: 'is not supported: the confidence reported by models is not reliable; use min_votes',
});

/** Refuses `on_none: { ask: … }`, which other programs use to ask a person. */
const refusedAsk = refusing({
  ask: 'is not supported: name a member that decides (agent: NAME), or run this fleet in a flow, with on_error leading to an Approval',
});

const fields: FieldTable = {
  members: 'agents',
  agents: { fields: { ref: 'agent' } },
  coordination: {
    value: coordination,
    fields: { ...votes, consensus: { fields: { ...votes, on_none: { value: withoutAsk } } } },
  },
  ...refusing({
    scaling: 'is not supported: the list of members is fixed',
    replicas: 'is not supported: a member handles any number of concurrent requests',
    communication: 'is not supported: the mode of coordination determines the exchange between members',
    shared: toolServer,
    shared_memory: toolServer,
    shared_tools: 'is not supported: use mcp_servers of the members',
  }),
};

/** Translates a fleet's `spec` to the fields of the schema. Reports unsupported fields. */
export const translateFleet = (reader: SchemaReader, spec: YamlTree): YamlTree =>
  translateFields(reader, spec, 'spec', fields);

/** Reports an unsupported mode. Replaces it, so that the other fields are checked without further errors. */
function coordination(written: YamlTree, reader: SchemaReader, path: string): YamlTree {
  const mode = memberOf(written, 'mode');
  const word = textOf(mode) ?? '';
  const reason = Object.hasOwn(modes, word) ? modes[word] : undefined;
  if (mode === undefined || reason === undefined) return written;
  reader.recordPosition(`${path}.mode`, mode.offset, mode.offset);
  reader.report(`${path}.mode`, `${word} ${reason}`);
  const supported = withMember(written, 'mode', (each) => scalarLike(each, 'pipeline'));
  return withoutMembers(supported, ['consensus', 'aggregation']);
}

/** Reports `ask` in `on_none`. Replaces `on_none` with `fail` if it has no other field. */
function withoutAsk(onNone: YamlTree, reader: SchemaReader, path: string): YamlTree {
  const rest = translateFields(reader, onNone, path, refusedAsk);
  const hadOnlyAsk = memberOf(onNone, 'ask') !== undefined && rest.kind === 'map' && rest.pairs.length === 0;
  return hadOnlyAsk ? scalarLike(onNone, 'fail') : rest;
}
