// Response headers of the inspector.

import type { HeaderList } from '../http/listener/seam.ts';

export const securityHeaders: HeaderList = [
  [
    'content-security-policy',
    // Images and sounds of tool results have `data:` URLs.
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src data:; connect-src 'self'; " +
      "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  ],
  ['x-content-type-options', 'nosniff'],
  // Not `no-referrer`: browsers would send the key form with `Origin: null`.
  ['referrer-policy', 'same-origin'],
  ['cache-control', 'no-store'],
];

export const streamHeaders: HeaderList = [
  ...securityHeaders,
  ['content-type', 'text/event-stream'],
  ['x-accel-buffering', 'no'],
];

export const NOT_FOUND = 'unknown path of the inspector; the page is at /inspector';
