// Finds the operator token in the target gateway's state folder, as a command's key. Each request proves its peer first
// (proven-connection.ts): a foreign listener could keep the token.

import { join } from 'node:path';
import { findOperatorToken, OPERATOR_TOKEN_FILE } from '../../../actors/state/operator-token.ts';
import { isLoopback } from '../../../config/gateway-file/listen-addr.ts';
import type { Target } from './api-client.ts';

/** Returns the token as a key for `url`; undefined if there is no token, or `url` is no loopback address. */
export function findOperatorKey(url: URL, stateDir: string): Target['key'] {
  if (url.protocol !== 'http:' || !isLoopback(url.hostname)) return undefined;
  const value = findOperatorToken(stateDir);
  if (value === undefined) return undefined;
  return { value, source: join(stateDir, OPERATOR_TOKEN_FILE), needsProof: true };
}
