// Profiles: subsets of the servers of the catalog, and of their tools, each with an address of its own. What is written here
// is told apart from what is not: a list that is there and empty holds nothing, and one that is not there everything.

import * as Type from 'typebox';
import { serverIdPattern, toolPattern } from '../catalog/catalog-schema.ts';

/** Each has lists and an index of its own. */
export const MAX_PROFILES = 100;

const names = (description: string) =>
  Type.Optional(
    Type.Array(
      Type.String({
        pattern: serverIdPattern,
        patternErrorMessage: '1 to 64 of A-Z a-z 0-9 . _ -',
        shownAs: 'name',
      }),
      { description },
    ),
  );

const profileSchema = Type.Object({
  servers: names('Ids of servers that belong to it. Without servers and tags all of the catalog do.'),
  tags: names('Servers that have one of these tags in the catalog belong to it, too.'),
  tools: Type.Optional(
    Type.Array(toolPattern, {
      description:
        "Patterns of the tools that it has; without them all of its servers' tools. A pattern with `__` is for names at /mcp, and after the id of a server (`files__read_*`) for its tools only; any other pattern is for the names that servers give (`read_*`).",
    }),
  ),
});

export const profilesSchema = Type.Unsafe<Readonly<Record<string, Type.Static<typeof profileSchema>>>>({
  type: 'object',
  patternProperties: { [serverIdPattern]: profileSchema },
  additionalProperties: false,
  patternErrorMessage: '1 to 64 of A-Z a-z 0-9 . _ -',
  description:
    'Subsets of the servers and their tools, by name; clients find each at /mcp/@NAME. A reload takes changes over.',
  default: {},
});

/** As written. */
export type ProfileEntry = Type.Static<typeof profileSchema>;
export type ProfileEntries = Type.Static<typeof profilesSchema>;
