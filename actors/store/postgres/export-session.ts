// Connection to PostgreSQL for exports and imports. With exclusive use of the tables it holds the lock that a
// joining gateway needs, and rejects a database that gateways use. A backup shares the tables with them.

import pg from 'pg';
import { StoreUnavailableError } from '../../base/errors/errors.ts';
import { StoreFileError, TransferRefusedError } from '../export/errors.ts';
import { Database, types } from './database.ts';
import { databaseAddress } from './database-address.ts';
import { faultOf, isRepeatable } from './faults.ts';
import { migrate, type SchemaMigration } from './migration.ts';
import { schemaVersion } from './schema.ts';

const CONNECT_MS = 10_000;
/** Statements on large tables take long. */
const STATEMENT_MS = 300_000;
const LOCK_MS = 10_000;
/** An import may have to wait for its input. */
const IDLE_MS = 600_000;
const IS_STARTING = 'a gateway is starting on the database, or an export or import is running; stop it first';
/** Same lock as `lockJoins` in nodes.ts. */
const LOCK_JOINS = 'SELECT pg_try_advisory_lock(1634162515, 2)';

/** `created`: exclusive, and missing tables are created. */
export type TableUse = 'shared' | 'exclusive' | 'created';

export class TransferSession {
  readonly #client: pg.Client;
  readonly #address: string | undefined;

  private constructor(client: pg.Client, address: string | undefined) {
    this.#client = client;
    this.#address = address;
  }

  /**
   * Opens a session, and migrates the tables unless they are shared. Rejects with StoreUnavailableError, or
   * TransferRefusedError if the tables are in use.
   */
  static async open(
    url: string,
    use: TableUse,
    onMigrated?: (migration: SchemaMigration) => void,
  ): Promise<TransferSession> {
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
    const session = new TransferSession(client, databaseAddress(url));
    try {
      await client.connect();
      await session.#begin(url, use, onMigrated);
      return session;
    } catch (error) {
      await session.close();
      throw session.#toStoreError(error);
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
      throw this.#toStoreError(error);
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

  async #begin(
    url: string,
    use: TableUse,
    onMigrated: ((migration: SchemaMigration) => void) | undefined,
  ): Promise<void> {
    const [[hasTables] = [false]] = await this.rows<[boolean]>(
      "SELECT to_regclass('actor_gateway.node') IS NOT NULL",
    );
    if (!hasTables && use !== 'created')
      throw new TransferRefusedError('the database has no store: nothing to export');
    if (use === 'shared') {
      await this.#rejectOtherVersion();
      return;
    }
    const [[isAlone] = [false]] = await this.rows<[boolean]>(LOCK_JOINS);
    if (!isAlone) throw new TransferRefusedError(IS_STARTING);
    if (hasTables) await this.#rejectMembers();
    const database = new Database({ url, connections: 1, timeoutMs: CONNECT_MS });
    try {
      const migration = await migrate(database);
      if (migration !== undefined) onMigrated?.(migration);
    } finally {
      await database.close();
    }
    await this.rows('SET search_path = actor_gateway');
  }

  /**
   * Sets the search path, and throws if the tables have another version. A backup does not migrate the
   * tables, because gateways of that version may be running.
   */
  async #rejectOtherVersion(): Promise<void> {
    await this.rows('SET search_path = actor_gateway');
    const version = await this.number('SELECT version FROM schema_version');
    if (version !== schemaVersion)
      throw new TransferRefusedError(
        `the database has schema version ${version}, expected ${schemaVersion}; use the version of the gateways`,
      );
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

  /**
   * Converts errors for a rejected row into StoreFileError; the server's message contains no data of the row.
   */
  #toStoreError(error: unknown): unknown {
    // A deadlock is possible only with a joining gateway, which needs the same locks.
    if (isRepeatable(error)) return new TransferRefusedError(IS_STARTING);
    const fault = faultOf(error, this.#address);
    if (fault !== undefined) return fault;
    const { code, message } = error as { code?: unknown; message?: string };
    if (typeof code !== 'string') return error;
    if (/^(?:22|23|54)/.test(code))
      return new StoreFileError(`the database rejected it: ${message} (${code})`);
    if (/^[0-9A-Z]{5}$/.test(code)) return new StoreUnavailableError(`database error: ${message} (${code})`);
    return error;
  }
}
