// Turns errors of PostgreSQL and of the way to it into the errors that callers of the store know. Any other error is a bug of ours
// and stays what it is.
//
// A message names the condition, never the address, the password or anything that was to be written.

import { GatewayError, StoreFullError, StoreUnavailableError } from '../../base/errors/errors.ts';

/** It cannot be reached, or takes no work at the moment: it may by itself after a while. */
export class DatabaseAwayError extends StoreUnavailableError {}

/** The tables are not those of this program any more: nothing goes on before somebody has put that right. */
export class DatabaseLostError extends StoreUnavailableError {}

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
  const fault = faults[code] ?? ofClass(code) ?? withoutCode(code, error.message);
  if (fault === undefined) return undefined;
  const [Fault, advice] = fault;
  const named = code === '' ? '' : ` (${code})`;
  return new Fault(`the database ${advice}${named}`, { cause: error });
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

type Fault = readonly [new (message: string, options?: ErrorOptions) => GatewayError, advice: string];

const notStarted: Fault = [DatabaseAwayError, 'takes no connection; start it, or correct store.postgres.url'];
const notFound: Fault = [DatabaseAwayError, 'has a host name that is not found; correct store.postgres.url'];
const unreachable: Fault = [DatabaseAwayError, 'cannot be reached'];
const refused: Fault = [StoreUnavailableError, 'refuses the user or the password of store.postgres.url'];
const slow: Fault = [DatabaseAwayError, 'takes too long'];
const otherTables: Fault = [
  DatabaseLostError,
  'has no tables of this version any more; restore them, or run the version that they are of',
];

const faults: Readonly<Record<string, Fault>> = {
  ECONNREFUSED: notStarted,
  ENOENT: notStarted,
  ENOTFOUND: notFound,
  EAI_AGAIN: notFound,
  ECONNRESET: unreachable,
  EPIPE: unreachable,
  ETIMEDOUT: unreachable,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  '28000': refused,
  '28P01': refused,
  '3D000': [DatabaseLostError, 'of store.postgres.url is not there; create it'],
  '42501': [
    StoreUnavailableError,
    'does not let its user do that; the user must own the schema actor_gateway',
  ],
  '25006': [DatabaseAwayError, 'is read-only: a standby that has not been promoted'],
  '53100': [StoreFullError, 'has no room on its disk'],
  '53300': [
    DatabaseAwayError,
    'has no connection left; raise its max_connections, or lower store.postgres.connections',
  ],
  '57014': slow,
  '55P03': slow,
  '25P03': [DatabaseAwayError, 'ended a transaction that stood still'],
  // A schema, a table, a column.
  '3F000': otherTables,
  '42P01': otherTables,
  '42703': otherTables,
};

function ofClass(code: string): Fault | undefined {
  if (code.startsWith('08')) return unreachable;
  if (code.startsWith('57P')) return [DatabaseAwayError, 'is shutting down or starting'];
  if (code.startsWith('53') || code.startsWith('58'))
    return [DatabaseAwayError, 'lacks resources; see its log'];
  return undefined;
}

function withoutCode(code: string, message: string): Fault | undefined {
  if (code !== '') return undefined;
  return /timeout|terminated|not queryable|Connection|socket/i.test(message) ? unreachable : undefined;
}
