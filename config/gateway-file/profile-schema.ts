// Schema of profiles: subsets of the catalog's servers and tools, each at a separate address. An empty list
// selects nothing. Without `tools`, all tools of the servers are selected. Without `servers`, all servers are
// selected, or only those with a matching tag if `tags` is set.

import * as Type from 'typebox';
import { serverIdPattern, toolPattern } from '../catalog/catalog-schema.ts';

/** Limits memory: each profile has its own tool lists and search index. */
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
  servers: names('Ids of servers in the profile. Default without tags: all servers of the catalog.'),
  tags: names('Tags that select further servers of the catalog.'),
  tools: Type.Optional(
    Type.Array(toolPattern, {
      description:
        "Glob patterns for tools in the profile. Default: all tools of its servers. Patterns with `__` match names at /mcp, and with a server id (`files__read_*`) only tools of that server; other patterns match the servers' own names (`read_*`).",
    }),
  ),
});

export const profilesSchema = Type.Unsafe<Readonly<Record<string, Type.Static<typeof profileSchema>>>>({
  type: 'object',
  patternProperties: { [serverIdPattern]: profileSchema },
  additionalProperties: false,
  patternErrorMessage: '1 to 64 of A-Z a-z 0-9 . _ -',
  description: 'Subsets of servers and tools by name, available at /mcp/@NAME. A reload applies changes.',
  default: {},
});

/** Profile before defaults. */
export type ProfileEntry = Type.Static<typeof profileSchema>;
export type ProfileEntries = Type.Static<typeof profilesSchema>;
