// A fleet that is written in a node of a flow: its `spec` is that of a fleet, and it has no name among the others.

import type { SchemaReader } from '../../reader/schema-reader.ts';
import type { InlineResource } from '../agents/inline-agent.ts';
import { inlineRoot } from '../inline-root.ts';
import type { ReadResource } from '../resource-context.ts';
import type { Fleet } from './fleet.ts';
import { readFleet } from './read-fleet.ts';

export interface ReadInlineFleet {
  /** Undefined where something is wrong. */
  readonly fleet: Fleet | undefined;
  /** The fleet's own, and those of the agents that are written in it. */
  readonly resources: readonly ReadResource[];
}

/** What is wrong is reported to the readers of `resources`. */
export async function readInlineFleet(
  reader: SchemaReader,
  { name, file, path, spec }: InlineResource,
): Promise<ReadInlineFleet> {
  const inner = reader.within(path);
  const { fleet, inline } = await readFleet(inner, inlineRoot('Fleet', spec), file, name);
  return { fleet, resources: [{ kind: undefined, name: undefined, reader: inner }, ...inline] };
}
