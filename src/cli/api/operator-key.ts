// Uses the operator token as a command's key, from the target gateway's state folder.
//
// - the token is sent to its own gateway only: over loopback, while the holder of the state lock is alive, and to the
//   address recorded in the lock. A foreign listener could keep the token.

import { join } from 'node:path';
import { findOperatorToken, OPERATOR_TOKEN_FILE } from '../../../actors/state/operator-token.ts';
import { listenAddrOfHolder } from '../../../actors/state/state-lock.ts';
import { isLoopback, parseListenAddr, urlOf } from '../../../config/gateway-file/listen-addr.ts';
import type { Target } from './api-client.ts';

/** Returns the token as a key for `url`; undefined if the gateway of the folder does not listen there. */
export function findOperatorKey(url: URL, stateDir: string): Target['key'] {
  if (url.protocol !== 'http:' || !isLoopback(url.hostname)) return undefined;
  const listenAddr = listenAddrOfHolder(stateDir);
  if (listenAddr === undefined || !isAt(url, listenAddr)) return undefined;
  const value = findOperatorToken(stateDir);
  return value === undefined ? undefined : { value, source: join(stateDir, OPERATOR_TOKEN_FILE) };
}

/** Compares exactly: [::1] and 127.0.0.1 may be different listeners. */
function isAt(url: URL, listenAddr: string): boolean {
  return url.origin === new URL(urlOf(parseListenAddr(listenAddr))).origin;
}
