// Reads an inline fleet: a fleet's `spec` within a flow node. Other resources cannot refer to this fleet.

import type { SchemaReader } from '../../reader/schema-reader.ts';
import type { InlineResource } from '../agents/inline-agent.ts';
import { inlineRoot } from '../inline-root.ts';
import type { ReadResource } from '../resource-context.ts';
import type { Fleet } from './fleet.ts';
import { readFleet } from './read-fleet.ts';

export interface ReadInlineFleet {
  /** The fleet; undefined if the spec has errors. */
  readonly fleet: Fleet | undefined;
  /** The fleet, and all inline agents in it. */
  readonly resources: readonly ReadResource[];
}

/** Reports problems to the readers of `resources`. */
export async function readInlineFleet(
  reader: SchemaReader,
  { name, file, path, spec }: InlineResource,
): Promise<ReadInlineFleet> {
  const inner = reader.createInnerReader(path);
  const { fleet, inline } = await readFleet(inner, inlineRoot('Fleet', spec), file, name);
  return { fleet, resources: [{ kind: undefined, name: undefined, reader: inner }, ...inline] };
}
