// Reads an agent's `spec`: translates aliases, validates, and applies defaults.

import * as Type from 'typebox';
import { fillDefaults, type Written } from '../../reader/fill-defaults.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, withMember, withoutMembers } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { translateAgent } from './agent-aliases.ts';
import { type AgentSpec, agentSchema, agentSpecSchema } from './agent-schema.ts';
import { readOutputSchema } from './output-schema.ts';

/** Valid parts of an agent's `spec`, with defaults. */
export interface WrittenSpec {
  readonly spec: AgentSpec;
  readonly output_schema: Readonly<Record<string, unknown>> | undefined;
  /** `spec` before the translation of aliases; undefined if it is missing. */
  readonly tree: YamlTree | undefined;
}

export type WrittenAgent = Written<Type.Static<typeof agentSchema>>;

const OUTPUT_SCHEMA = 'output_schema';
const specAlone = Type.Object({ spec: agentSpecSchema });

/**
 * Reads a document, or with `isAlone` a mapping that contains only the `spec`. Reports and omits invalid
 * parts.
 */
export function readSpec(
  reader: SchemaReader,
  root: YamlTree,
  isAlone = false,
): WrittenSpec & { readonly document: WrittenAgent | undefined } {
  const tree = memberOf(root, 'spec');
  const translatedRoot = withMember(root, 'spec', (spec) => translateAgent(reader, spec, 'spec'));
  // The output schema is read separately, because variables in it are not substituted.
  const schemaTree = memberOf(memberOf(translatedRoot, 'spec'), OUTPUT_SCHEMA);
  const rootWithoutSchema = withMember(translatedRoot, 'spec', (spec) =>
    withoutMembers(spec, [OUTPUT_SCHEMA]),
  );
  const document = reader.read(isAlone ? specAlone : agentSchema, rootWithoutSchema, '') as
    | WrittenAgent
    | undefined;
  const path = `spec.${OUTPUT_SCHEMA}`;
  if (schemaTree !== undefined) reader.recordPosition(path, schemaTree.offset, schemaTree.offset);
  return {
    document,
    spec: fillDefaults(agentSpecSchema, (document?.spec ?? {}) as Written<AgentSpec>),
    output_schema: readOutputSchema(reader, schemaTree, path),
    tree,
  };
}
