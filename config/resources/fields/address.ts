// Addresses of platforms. All can be set, for proxies, for installations of one's own and for tests.

import * as Type from 'typebox';
import type { Fields } from '../triggers/trigger-type.ts';

/** A field for the base of an API. */
export function address(description: string, byDefault?: string) {
  return Type.String({
    description,
    ...(byDefault === undefined ? {} : { default: byDefault }),
    pattern: '^https?://[^\\s]+$',
    patternErrorMessage: 'an address that begins with https:// or http://',
    shownAs: 'address',
  });
}

/** Reports an address that cannot be used; no message repeats it, since it may hold a key. */
export function checkAddress(fields: Fields, key: string, text: string | undefined): void {
  if (text === undefined) return;
  if (!URL.canParse(text)) fields.report(key, 'is no address that can be used');
  else if (new URL(text).username !== '' || new URL(text).password !== '')
    fields.report(key, 'holds a user name or password, which do not belong into an address');
}
