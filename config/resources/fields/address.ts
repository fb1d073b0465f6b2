// URLs of platforms' APIs in trigger files: schema and check. All such URLs are configurable, for proxies,
// self-hosted installations and tests.

import * as Type from 'typebox';
import type { Fields } from '../triggers/trigger-type.ts';

/** Returns the schema of a URL field; without a default, the field is required. */
export function address(description: string, byDefault?: string) {
  return Type.String({
    description,
    ...(byDefault === undefined ? {} : { default: byDefault }),
    pattern: '^https?://[^\\s]+$',
    patternErrorMessage: 'an address that begins with https:// or http://',
    // Allows the API to show the value, see reader/visible-values.ts.
    shownAs: 'address',
  });
}

/** Reports an invalid address. Messages do not contain the address, which may contain a key. */
export function checkAddress(fields: Fields, key: string, text: string | undefined): void {
  if (text === undefined) return;
  if (!URL.canParse(text)) fields.report(key, 'is not a valid address');
  else if (new URL(text).username !== '' || new URL(text).password !== '')
    fields.report(key, 'contains a user name or password, which do not belong in an address');
}
