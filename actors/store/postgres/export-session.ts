// Connection to PostgreSQL for exports and imports, with exclusive use of the tables: holds the lock that a
// joining gateway needs, and rejects a database that gateways use.

import pg from 'pg';
import { StoreUnavailableError } from '../../base/errors/errors.ts';
import { StoreFileError, TransferRefusedError } from '../export/errors.ts';
import { Database, types } from './database.ts';
import { faultOf, isRepeatable } from './faults.ts';
import { migrate } from './schema.ts';

const CONNECT_MS = 10_000;
/** Statements on large tables take long. */
const STATEMENT_MS = 300_000;
const LOCK_MS = 10_000;
/** An import may have to wait for its input. */
const IDLE_MS = 600_000;
/** Same lock as `lockJoins` in nodes.ts. */
const IS_STARTING = 'a gateway is starting on the database, or an export or import is running; stop it first';
const LOCK_JOINS = 'SELECT pg_try_advisory_lock(1634162515, 2)';

export class TransferSession {
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  /**
   * Opens a session and migrates the tables, or with `mayCreate` creates them. Rejects with
   * StoreUnavailableError, or TransferRefusedError if the tables are in use.
   */
  static async open(url: string, mayCreate: boolean): Promise<TransferSession> {
    const client = new pg.Client({
      connectionString: url,
      types,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: STATEMENT_MS + 1_000,
      statement_timeout: STATEMENT_MS,
      lock_timeout: LOCK_MS,
      idle_in_transaction_session_timeout: IDLE_MS,
      keepAlive: true,
      application_name: 'actor-gateway store',
    } as pg.ClientConfig);
    // A connection that closes between two statements rejects the next statement.
    client.on('error', () => undefined);
    const session = new TransferSession(client);
    try {
      await client.connect();
      await session.#begin(url, mayCreate);
      return session;
    } catch (error) {
      await session.close();
      throw toStoreError(error);
    }
  }

  /** Returns rows as arrays. Rejects with GatewayErrors. */
  async rows<Row extends readonly unknown[]>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<readonly Row[]> {
    try {
      const { rows } = await this.#client.query({ text, values: [...values], rowMode: 'array' });
      return rows as unknown as Row[];
    } catch (error) {
      throw toStoreError(error);
    }
  }

  /** Returns the first column of the first row. */
  async number(text: string, values: readonly unknown[] = []): Promise<number> {
    return Number((await this.rows(text, values))[0]?.[0] ?? 0);
  }

  /** Discards uncommitted changes. */
  async close(): Promise<void> {
    await this.#client.end().catch(() => undefined);
  }

  async #begin(url: string, mayCreate: boolean): Promise<void> {
    const [[hasTables] = [false]] = await this.rows<[boolean]>(
      "SELECT to_regclass('actor_gateway.node') IS NOT NULL",
    );
    if (!hasTables && !mayCreate)
      throw new TransferRefusedError('the database has no store: nothing to export');
    const [[isAlone] = [false]] = await this.rows<[boolean]>(LOCK_JOINS);
    if (!isAlone) throw new TransferRefusedError(IS_STARTING);
    if (hasTables) await this.#rejectMembers();
    const database = new Database({ url, connections: 1, timeoutMs: CONNECT_MS });
    try {
      await migrate(database);
    } finally {
      await database.close();
    }
    await this.rows('SET search_path = actor_gateway');
  }

  async #rejectMembers(): Promise<void> {
    const rows = await this.rows<[name: string]>(
      `SELECT name FROM actor_gateway.node WHERE until > extract(epoch FROM clock_timestamp()) * 1000 ORDER BY name`,
    );
    if (rows.length === 0) return;
    const names = rows.map(([name]) => name).join(', ');
    throw new TransferRefusedError(
      `gateways use the database (${names}); stop them, or retry soon if one was killed`,
    );
  }
}

/**
 * Converts errors for a rejected row into StoreFileError; the server's message contains no data of the row.
 */
function toStoreError(error: unknown): unknown {
  // A deadlock is possible only with a joining gateway, which needs the same locks.
  if (isRepeatable(error)) return new TransferRefusedError(IS_STARTING);
  const fault = faultOf(error);
  if (fault !== undefined) return fault;
  const { code, message } = error as { code?: unknown; message?: string };
  if (typeof code !== 'string') return error;
  if (/^(?:22|23|54)/.test(code)) return new StoreFileError(`the database rejected it: ${message} (${code})`);
  if (/^[0-9A-Z]{5}$/.test(code)) return new StoreUnavailableError(`database error: ${message} (${code})`);
  return error;
}
