// Reads an inline agent: an agent's `spec` within a fleet member or a flow node. Other files cannot refer to
// this agent.

import type { SchemaReader } from '../../reader/schema-reader.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { inlineRoot } from '../inline-root.ts';
import type { ReadResource } from '../resource-context.ts';
import type { Agent } from './agent.ts';
import { readAgent } from './read-agent.ts';

/** An agent or fleet within another resource, before it is read. */
export interface InlineResource {
  /** Name that combines the fleet or flow with its member or node, such as `review/style`. */
  readonly name: string;
  /** Absolute path. */
  readonly file: string;
  /** Field path of the mapping that contains the `spec`. */
  readonly path: string;
  readonly spec: YamlTree;
}

export interface ReadInlineAgent {
  /** The agent; undefined if the spec has errors. */
  readonly agent: Agent | undefined;
  /** The agent with the reader that has its problems, for checks across all agents. */
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
  // Without kind and name, so that other resources cannot refer to the agent.
  return { agent, resource: { kind: undefined, name: undefined, reader: inner, agent } };
}
