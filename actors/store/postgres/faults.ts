// Converts errors of PostgreSQL and its connection into store errors. Messages contain host and port and the
// condition, never the password or data to be written. Other errors are bugs of the gateway and stay
// unchanged.

import { GatewayError, StoreFullError, StoreUnavailableError } from '../../base/errors/errors.ts';

/** The database is unreachable or busy, which may be temporary. */
export class DatabaseAwayError extends StoreUnavailableError {}

/**
 * The database or its tables are missing, or the tables do not match this version. An operator must repair
 * them.
 */
export class DatabaseLostError extends StoreUnavailableError {}

const DEADLOCK = '40P01';
const SERIALIZATION = '40001';

/** Returns true if the server aborted the transaction in favour of another, and a retry may succeed. */
export function isRepeatable(error: unknown): boolean {
  const code = codeOf(error);
  return code === DEADLOCK || code === SERIALIZATION;
}

/**
 * Returns the store error; undefined if the error does not come from the database. `address` is in the
 * message (database-address.ts).
 */
export function faultOf(error: unknown, address?: string): GatewayError | undefined {
  if (error instanceof GatewayError) return error;
  if (!(error instanceof Error)) return undefined;
  const code = codeOf(error);
  const fault = faults[code] ?? faultOfClass(code) ?? faultWithoutCode(code, error.message);
  if (fault === undefined) return undefined;
  const [ErrorClass, condition] = fault;
  const named = code === '' ? '' : ` (${code})`;
  const place = address === undefined ? '' : ` at ${address}`;
  return new ErrorClass(`the database${place} ${condition}${named}`, { cause: error });
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

type PostgresFault = readonly [
  new (message: string, options?: ErrorOptions) => GatewayError,
  condition: string,
];

const notStarted: PostgresFault = [
  DatabaseAwayError,
  'refuses connections; start it, or correct store.postgres.url',
];
const notFound: PostgresFault = [DatabaseAwayError, 'has an unknown host name; correct store.postgres.url'];
const unreachable: PostgresFault = [DatabaseAwayError, 'cannot be reached'];
const credentialsRefused: PostgresFault = [
  StoreUnavailableError,
  'rejected the user or password of store.postgres.url',
];
const slow: PostgresFault = [DatabaseAwayError, 'did not respond in time'];
const otherTables: PostgresFault = [
  DatabaseLostError,
  'has no tables of this version; restore them, or run the gateway version that created them',
];

const faults: Readonly<Record<string, PostgresFault>> = {
  ECONNREFUSED: notStarted,
  ENOENT: notStarted,
  ENOTFOUND: notFound,
  EAI_AGAIN: notFound,
  ECONNRESET: unreachable,
  EPIPE: unreachable,
  ETIMEDOUT: unreachable,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  '28000': credentialsRefused,
  '28P01': credentialsRefused,
  '3D000': [DatabaseLostError, 'does not exist; create it, or correct store.postgres.url'],
  '42501': [StoreUnavailableError, 'denied permission; its user must own the schema actor_gateway'],
  '25006': [DatabaseAwayError, 'is read-only: a standby that has not been promoted'],
  '53100': [StoreFullError, 'has no disk space'],
  '53300': [
    DatabaseAwayError,
    'has no connection left; raise its max_connections, or lower store.postgres.connections',
  ],
  '57014': slow,
  '55P03': slow,
  '25P03': [DatabaseAwayError, 'ended an idle transaction'],
  // Missing schema, table or column.
  '3F000': otherTables,
  '42P01': otherTables,
  '42703': otherTables,
};

function faultOfClass(code: string): PostgresFault | undefined {
  if (code.startsWith('08')) return unreachable;
  if (code.startsWith('57P')) return [DatabaseAwayError, 'is shutting down or starting'];
  if (code.startsWith('53') || code.startsWith('58'))
    return [DatabaseAwayError, 'lacks resources; see its log'];
  return undefined;
}

function faultWithoutCode(code: string, message: string): PostgresFault | undefined {
  if (code !== '') return undefined;
  return /timeout|terminated|not queryable|Connection|socket/i.test(message) ? unreachable : undefined;
}
