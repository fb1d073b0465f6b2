// Turns errors of PostgreSQL and of the way to it into the errors that callers of the store know. Any other error is a bug of ours
// and stays what it is.
//
// A message names the condition, never the address, the password or anything that was to be written.

import { GatewayError, StoreFullError, StoreUnavailableError } from '../../errors.ts';

const DEADLOCK = '40P01';
const SERIALIZATION = '40001';

/** The server undid the transaction for the sake of another one: nothing speaks against doing it again. */
export function isRepeatable(error: unknown): boolean {
  const code = codeOf(error);
  return code === DEADLOCK || code === SERIALIZATION;
}

/** Undefined for an error that has nothing to do with the database. */
export function faultOf(error: unknown): GatewayError | undefined {
  if (error instanceof GatewayError) return error;
  if (!(error instanceof Error)) return undefined;
  const code = codeOf(error);
  if (code === '53100')
    return new StoreFullError(`the database has no room on its disk (${code})`, { cause: error });
  const advice = adviceOn(code, error.message);
  if (advice === undefined) return undefined;
  const named = code === '' ? '' : ` (${code})`;
  return new StoreUnavailableError(`the database ${advice}${named}`, { cause: error });
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

function adviceOn(code: string, message: string): string | undefined {
  switch (code) {
    case 'ECONNREFUSED':
    case 'ENOENT':
      return 'takes no connection; start it, or correct store.postgres.url';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'has a host name that is not found; correct store.postgres.url';
    case 'ECONNRESET':
    case 'EPIPE':
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return 'cannot be reached';
    case '28000':
    case '28P01':
      return 'refuses the user or the password of store.postgres.url';
    case '3D000':
      return 'of store.postgres.url is not there; create it';
    case '42501':
      return 'does not let its user do that; the user must own the schema actor_gateway';
    case '25006':
      return 'is read-only: a standby that has not been promoted';
    case '53300':
      return 'has no connection left; raise its max_connections, or lower store.postgres.connections';
    case '57014':
    case '55P03':
      return 'takes too long';
    case '25P03':
      return 'ended a transaction that stood still';
    default:
  }
  if (code.startsWith('08')) return 'cannot be reached';
  if (code.startsWith('57P')) return 'is shutting down or starting';
  if (code.startsWith('53') || code.startsWith('58')) return 'lacks resources; see its log';
  if (code !== '') return undefined;
  return /timeout|terminated|not queryable|Connection|socket/i.test(message)
    ? 'cannot be reached'
    : undefined;
}
