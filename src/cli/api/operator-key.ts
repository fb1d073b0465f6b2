// The operator token as the key of a command. It is taken from the state folder of the gateway that the command is for.
//
// OK1  the token goes to its own gateway alone: over loopback, while the process that holds the lock of the state folder
//      lives, and only to the address that the lock names. Another program at that address could keep the token.

import { join } from 'node:path';
import { findOperatorToken, OPERATOR_TOKEN_FILE } from '../../../actors/state/operator-token.ts';
import { listenAddrOfHolder } from '../../../actors/state/state-lock.ts';
import { isLoopback, parseListenAddr, urlOf } from '../../../config/gateway-file/listen-addr.ts';
import type { Target } from './api-client.ts';

/** Returns the token as a key for a request to `url`; undefined where the gateway of the folder is not there. */
export function findOperatorKey(url: URL, stateDir: string): Target['key'] {
  if (url.protocol !== 'http:' || !isLoopback(url.hostname)) return undefined;
  const listenAddr = listenAddrOfHolder(stateDir);
  if (listenAddr === undefined || !isAt(url, listenAddr)) return undefined;
  const value = findOperatorToken(stateDir);
  return value === undefined ? undefined : { value, source: join(stateDir, OPERATOR_TOKEN_FILE) };
}

/** Another name of this machine may lead to another program: [::1] beside 127.0.0.1. */
function isAt(url: URL, listenAddr: string): boolean {
  return url.origin === new URL(urlOf(parseListenAddr(listenAddr))).origin;
}
