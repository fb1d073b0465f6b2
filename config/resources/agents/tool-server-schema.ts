// A tool server as an agent names it: one of its own, with every field that the catalog has; or one of the catalog.

import * as Type from 'typebox';
import { desktopFields, serverIdPattern } from '../../catalog/catalog-schema.ts';
import type { WrittenEntry } from '../../catalog/normalise-entry.ts';

const nameMeaning = '1 to 64 of A-Z a-z 0-9 . _ -';

const serverName = (description: string) =>
  Type.String({ description, pattern: serverIdPattern, patternErrorMessage: nameMeaning, shownAs: 'name' });

/** As it was written; what is bad has been left out. */
export type WrittenToolServer = WrittenEntry & { readonly name?: string; readonly server?: string };

export const toolServersSchema = Type.Unsafe<readonly (string | WrittenToolServer | undefined)[]>({
  type: 'array',
  description:
    'Tool servers it may use: of its own (name and command, or name and url, with any field of the catalog), or of the catalog (server, or its id alone).',
  default: [],
  maxItems: 100,
  items: {
    anyOf: [
      serverName('Id of a server of the catalog.'),
      {
        type: 'object',
        properties: {
          name: serverName('Name of a server of its own.'),
          server: serverName('Id of a server of the catalog.'),
          ...desktopFields,
        },
        oneOf: ['command', 'url', 'server'].map((key) => ({ required: [key] })),
      },
    ],
  },
});
