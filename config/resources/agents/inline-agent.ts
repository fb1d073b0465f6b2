// An agent that is written where it is used, as a member of a fleet or in a node of a flow: its `spec` is that of an agent, and it has no
// name among the others.

import type { SchemaReader } from '../../reader/schema-reader.ts';
import type { SecretValues } from '../../reader/secret-values.ts';
import { scalarLike } from '../../reader/yaml-members.ts';
import type { YamlMap, YamlPair, YamlTree } from '../../reader/yaml-tree.ts';
import type { ReadResource } from '../resource-context.ts';
import type { Agent } from './agent.ts';
import { readAgent } from './read-agent.ts';

export interface InlineAgent {
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
  { name, file, path, spec }: InlineAgent,
  secrets: SecretValues,
): Promise<ReadInlineAgent> {
  const inner = reader.within(path);
  const pair = (key: string, value: YamlTree): YamlPair => ({ key, keyOffset: spec.offset, value });
  const text = (value: string) => scalarLike(spec, value);
  const metadata: YamlMap = { kind: 'map', offset: spec.offset, pairs: [pair('name', text('inline'))] };
  const root: YamlMap = {
    kind: 'map',
    offset: spec.offset,
    pairs: [
      pair('apiVersion', text('inline/v1')),
      pair('kind', text('Agent')),
      pair('metadata', metadata),
      pair('spec', spec),
    ],
  };
  const read = await readAgent(inner, root, file, secrets);
  const agent = read.agent && { ...read.agent, name };
  return { agent, resource: { kind: undefined, name: undefined, reader: inner, agent } };
}
