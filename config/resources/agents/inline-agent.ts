// Reads an inline agent: an agent's `spec` within a fleet member or a flow node. Other resources cannot refer
// to this agent.

import type { SchemaReader } from '../../reader/schema-reader.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { inlineRoot } from '../inline-root.ts';
import type { ReadResource } from '../resource-context.ts';
import type { Agent } from './agent.ts';
import { readAgent } from './read-agent.ts';

export interface InlineResource {
  /** Derived name, such as `review/style`. */
  readonly name: string;
  readonly file: string;
  /** Path of the mapping with the `spec`. */
  readonly path: string;
  readonly spec: YamlTree;
}

export interface ReadInlineAgent {
  /** The agent; undefined if the spec has errors. */
  readonly agent: Agent | undefined;
  /** For checks across all agents. */
  readonly resource: ReadResource;
}

/** Reports problems to the reader in `resource`. */
export async function readInlineAgent(
  reader: SchemaReader,
  { name, file, path, spec }: InlineResource,
): Promise<ReadInlineAgent> {
  const inner = reader.createInnerReader(path);
  const read = await readAgent(inner, inlineRoot('Agent', spec), file);
  const agent = read.agent && { ...read.agent, name };
  return { agent, resource: { kind: undefined, name: undefined, reader: inner, agent } };
}
