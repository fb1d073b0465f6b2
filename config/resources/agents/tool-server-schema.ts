// Schema of tool servers in agent files: inline servers, which are defined there with the fields of the
// catalog, or references to servers of the catalog.

import * as Type from 'typebox';
import { desktopFields, serverIdPattern } from '../../catalog/catalog-schema.ts';
import type { WrittenEntry } from '../../catalog/normalise-entry.ts';

const nameMeaning = '1 to 64 of A-Z a-z 0-9 . _ -';

const serverName = (description: string) =>
  Type.String({ description, pattern: serverIdPattern, patternErrorMessage: nameMeaning, shownAs: 'name' });

/** Server as written in the file, without invalid parts and before defaults are applied. */
export type WrittenToolServer = WrittenEntry & { readonly name?: string; readonly server?: string };

export const toolServersSchema = Type.Unsafe<readonly (string | WrittenToolServer | undefined)[]>({
  type: 'array',
  description:
    'Tool servers of the agent: inline (name with command or url, and any field of the catalog), or from the catalog (server, or only its id).',
  default: [],
  maxItems: 100,
  items: {
    anyOf: [
      serverName('Id of a server of the catalog.'),
      {
        type: 'object',
        properties: {
          name: serverName('Name of an inline server.'),
          server: serverName('Id of a server of the catalog.'),
          // The catalog's fields, and their aliases in files of desktop clients.
          ...desktopFields,
        },
        // Exactly one of these fields defines the kind of server: local, remote, or of the catalog.
        oneOf: ['command', 'url', 'server'].map((key) => ({ required: [key] })),
      },
    ],
  },
});
