// What fleets are told elsewhere and cannot be told here: refused by name, with what to write instead.

import { joinPath } from '../../reader/field-path.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, scalarLike, textOf, withMember, withoutMembers } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';

const fields: Readonly<Record<string, string>> = {
  scaling: 'is not supported: the members are those that are listed',
  replicas: 'is not supported: a member answers any number of questions at a time',
  communication: 'is not supported: members hear of each other by the mode of coordination alone',
  shared: 'is not supported: let a tool server keep what members share',
  shared_memory: 'is not supported: let a tool server keep what members share',
  shared_tools: 'is not supported: write mcp_servers of the members',
};

const modes: Readonly<Record<string, string>> = {
  swarm: 'is not supported: write peer, or a Trigger for each kind of question',
  deep: 'is not supported: write one Agent with max_iterations',
};

const coordinationFields: Readonly<Record<string, string>> = {
  distribution: 'is not supported: every member of a tier is asked',
  min_confidence: 'is not supported: what a model says of its own certainty is no measure; write min_votes',
};

/** The `spec` without what was refused. */
export function refuseElsewhere(reader: SchemaReader, spec: YamlTree): YamlTree {
  const rest = refusing(reader, spec, 'spec', fields);
  return withMember(rest, 'coordination', (coordination) => {
    const mode = memberOf(coordination, 'mode');
    const word = textOf(mode) ?? '';
    const why = Object.hasOwn(modes, word) ? modes[word] : undefined;
    if (mode !== undefined && why !== undefined) {
      reader.place('spec.coordination.mode', mode.offset, mode.offset);
      reader.report('spec.coordination.mode', `${word} ${why}`);
    }
    const known = refusing(reader, coordination, 'spec.coordination', coordinationFields);
    const consensus = withMember(known, 'consensus', (each) =>
      withMember(
        refusing(reader, each, 'spec.coordination.consensus', coordinationFields),
        'on_none',
        (onNone) => withoutPeople(reader, onNone),
      ),
    );
    // Reported already; what follows is read as if it were there.
    return why === undefined
      ? consensus
      : withoutMembers(
          withMember(consensus, 'mode', (each) => scalarLike(each, 'pipeline')),
          ['consensus', 'aggregation'],
        );
  });
}

const onNoneFields: Readonly<Record<string, string>> = {
  ask: 'is not supported: name a member that decides (agent: NAME), or ask this fleet in a flow and have on_error lead to an Approval',
};

function withoutPeople(reader: SchemaReader, tree: YamlTree): YamlTree {
  const rest = refusing(reader, tree, 'spec.coordination.consensus.on_none', onNoneFields);
  // Reported already; what follows is read as if it were there.
  return rest.kind === 'map' && rest !== tree && rest.pairs.length === 0 ? scalarLike(tree, 'fail') : rest;
}

function refusing(
  reader: SchemaReader,
  tree: YamlTree,
  path: string,
  refused: Readonly<Record<string, string>>,
): YamlTree {
  if (tree.kind !== 'map') return tree;
  for (const { key, keyOffset, value } of tree.pairs) {
    const why = Object.hasOwn(refused, key) ? refused[key] : undefined;
    if (why === undefined) continue;
    const at = joinPath(path, key);
    reader.place(at, keyOffset, value.offset);
    reader.reportKey(at, why);
  }
  return withoutMembers(tree, Object.keys(refused));
}
