// The `spec` of an agent from its tree: put into our words, read along the schema, filled.

import * as Type from 'typebox';
import { fillDefaults, type Written } from '../../reader/fill-defaults.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, withMember, withoutMembers } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { translatedAgent } from './agent-aliases.ts';
import { type AgentSpec, agentSchema, agentSpecSchema } from './agent-schema.ts';
import { readOutputSchema } from './output-schema.ts';

export interface WrittenSpec {
  readonly spec: AgentSpec;
  readonly output_schema: Readonly<Record<string, unknown>> | undefined;
  /** As it was written; undefined where there is none. */
  readonly tree: YamlTree | undefined;
}

export type WrittenAgent = Written<Type.Static<typeof agentSchema>>;

const OUTPUT_SCHEMA = 'output_schema';
const specAlone = Type.Object({ spec: agentSpecSchema });

/** Of a whole document, or of a mapping that has only the `spec`. Reports what is bad, and leaves it out. */
export function readSpec(
  reader: SchemaReader,
  root: YamlTree,
  isAlone = false,
): WrittenSpec & { readonly document: WrittenAgent | undefined } {
  const tree = memberOf(root, 'spec');
  const meant = withMember(root, 'spec', (spec) => translatedAgent(reader, spec, 'spec'));
  // A schema may hold anything, and is taken as it stands.
  const schemaTree = memberOf(memberOf(meant, 'spec'), OUTPUT_SCHEMA);
  const known = withMember(meant, 'spec', (spec) => withoutMembers(spec, [OUTPUT_SCHEMA]));
  const document = reader.read(isAlone ? specAlone : agentSchema, known, '') as WrittenAgent | undefined;
  const path = `spec.${OUTPUT_SCHEMA}`;
  if (schemaTree !== undefined) reader.place(path, schemaTree.offset, schemaTree.offset);
  return {
    document,
    spec: fillDefaults(agentSpecSchema, (document?.spec ?? {}) as Written<AgentSpec>),
    output_schema: readOutputSchema(reader, schemaTree, path),
    tree,
  };
}
