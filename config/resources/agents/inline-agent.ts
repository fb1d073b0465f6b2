// An agent that is written where it is used, as a member of a fleet or in a node of a flow: its `spec` is that of an agent, and it has no
// name among the others.

import type { SchemaReader } from '../../reader/schema-reader.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { inlineRoot } from '../inline-root.ts';
import type { ReadResource } from '../resource-context.ts';
import type { Agent } from './agent.ts';
import { readAgent } from './read-agent.ts';

export interface InlineResource {
  /** `review/style`. */
  readonly name: string;
  readonly file: string;
  /** Of the mapping that has the `spec`. */
  readonly path: string;
  readonly spec: YamlTree;
}

export interface ReadInlineAgent {
  /** Undefined where something is wrong. */
  readonly agent: Agent | undefined;
  /** For the checks that need all agents. */
  readonly resource: ReadResource;
}

/** What is wrong is reported to the reader of `resource`. */
export async function readInlineAgent(
  reader: SchemaReader,
  { name, file, path, spec }: InlineResource,
): Promise<ReadInlineAgent> {
  const inner = reader.within(path);
  const read = await readAgent(inner, inlineRoot('Agent', spec), file);
  const agent = read.agent && { ...read.agent, name };
  return { agent, resource: { kind: undefined, name: undefined, reader: inner, agent } };
}
