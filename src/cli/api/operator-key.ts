// Finds the operator token in the target gateway's state folder, as a command's key. Each request proves its peer first
// (proven-connection.ts): a foreign listener could keep the token, or name the folder of another gateway.

import { randomBytes } from 'node:crypto';
import { get } from 'node:http';
import { isAbsolute, join } from 'node:path';
import { findOperatorToken, OPERATOR_TOKEN_FILE } from '../../../actors/state/operator-token.ts';
import { isLoopback } from '../../../config/gateway-file/listen-addr.ts';
import { FOLDER_HEADER, NONCE_HEADER } from '../../http/operator-proof.ts';
import type { Target } from './api-client.ts';

/** A gateway that does not answer in time fails the command itself. */
const FOLDER_MS = 1_000;

/** Returns the token as a key for `url`; undefined if there is no token, or `url` is no loopback address. */
export function findOperatorKey(url: URL, stateDir: string): Target['key'] {
  if (!mayHaveToken(url)) return undefined;
  const value = findOperatorToken(stateDir);
  if (value === undefined) return undefined;
  return { value, source: join(stateDir, OPERATOR_TOKEN_FILE), needsProof: true };
}

/** Requests the state folder of the gateway at `url`; undefined without a loopback address, an answer or a token there. */
export function requestStateFolder(url: URL): Promise<string | undefined> {
  if (!mayHaveToken(url)) return Promise.resolve(undefined);
  const health = new URL(url);
  health.pathname = `${url.pathname.replace(/\/$/, '')}/health`;
  const headers = { [NONCE_HEADER]: randomBytes(32).toString('base64url') };
  return new Promise((done) => {
    const sent = get(
      health,
      { headers, agent: false, signal: AbortSignal.timeout(FOLDER_MS) },
      (response) => {
        response.destroy();
        done(readFolder(response.headers[FOLDER_HEADER]));
      },
    );
    sent.on('error', () => done(undefined));
  });
}

function readFolder(header: string | readonly string[] | undefined): string | undefined {
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
