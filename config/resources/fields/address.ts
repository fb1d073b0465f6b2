// Addresses of platforms, all configurable for proxies, self-hosted installations and tests.

import * as Type from 'typebox';
import type { Fields } from '../triggers/trigger-type.ts';

/** Schema for API base URLs. */
export function address(description: string, byDefault?: string) {
  return Type.String({
    description,
    ...(byDefault === undefined ? {} : { default: byDefault }),
    pattern: '^https?://[^\\s]+$',
    patternErrorMessage: 'an address that begins with https:// or http://',
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
