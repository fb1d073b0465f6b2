// Reads an inline fleet: a fleet's `spec` within a flow node. Other files cannot refer to this fleet.

import type { SchemaReader } from '../../reader/schema-reader.ts';
import type { InlineResource } from '../agents/inline-agent.ts';
import { inlineRoot } from '../inline-root.ts';
import type { ReadResource } from '../resource-context.ts';
import type { Fleet } from './fleet.ts';
import { readFleet } from './read-fleet.ts';

export interface ReadInlineFleet {
  /** The fleet; undefined if the spec has errors. */
  readonly fleet: Fleet | undefined;
  /** The fleet and the agents defined in it, with the readers that have their problems. */
  readonly resources: readonly ReadResource[];
}

/** Reports problems to the readers of `resources`. */
export async function readInlineFleet(
  reader: SchemaReader,
  { name, file, path, spec }: InlineResource,
): Promise<ReadInlineFleet> {
  const inner = reader.createInnerReader(path);
  const { fleet, inline } = await readFleet(inner, inlineRoot('Fleet', spec), file, name);
  // Without kind and name, so that other resources cannot refer to the fleet.
  return { fleet, resources: [{ kind: undefined, name: undefined, reader: inner }, ...inline] };
}
