// Provides the default key for commands: the operator token, a file in the gateway's state folder.
// Before a request sends it, the peer must prove that it knows the token (proven-connection.ts). Otherwise
// another program at that address could steal the token.

import { randomBytes } from 'node:crypto';
import { get } from 'node:http';
import { isAbsolute, join } from 'node:path';
import { findOperatorToken, OPERATOR_TOKEN_FILE } from '../../../actors/state/operator-token.ts';
import { isLoopback } from '../../../config/gateway-file/listen-addr.ts';
import { FOLDER_HEADER, NONCE_HEADER } from '../../http/operator-proof.ts';
import type { GatewayTarget } from './client.ts';

/** Short, because the command itself reports an unreachable gateway. */
const FOLDER_TIMEOUT_MS = 1_000;

/** Returns the token as a key for `url`; undefined if no token exists or `url` is not on loopback. */
export function findOperatorKey(url: URL, stateDir: string): GatewayTarget['key'] {
  if (!mayHaveToken(url)) return undefined;
  const value = findOperatorToken(stateDir);
  if (value === undefined) return undefined;
  return { value, source: join(stateDir, OPERATOR_TOKEN_FILE), needsProof: true };
}

/**
 * Requests the path of the state folder from the gateway. Returns undefined if the gateway is not on
 * loopback, does not respond or does not return a path.
 */
export function requestStateFolder(url: URL): Promise<string | undefined> {
  if (!mayHaveToken(url)) return Promise.resolve(undefined);
  const health = new URL(url);
  health.pathname = `${url.pathname.replace(/\/$/, '')}/health`;
  // The gateway returns the folder only for a request with a nonce. The proof is checked by a later request.
  const headers = { [NONCE_HEADER]: randomBytes(32).toString('base64url') };
  return new Promise((resolve) => {
    const request = get(
      health,
      { headers, agent: false, signal: AbortSignal.timeout(FOLDER_TIMEOUT_MS) },
      (response) => {
        response.destroy();
        resolve(parseFolder(response.headers[FOLDER_HEADER]));
      },
    );
    request.on('error', () => resolve(undefined));
  });
}

function parseFolder(header: string | readonly string[] | undefined): string | undefined {
  try {
    const folder = decodeURIComponent(String(header ?? ''));
    return isAbsolute(folder) ? folder : undefined;
  } catch {
    return undefined;
  }
}

function mayHaveToken({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && isLoopback(hostname);
}
