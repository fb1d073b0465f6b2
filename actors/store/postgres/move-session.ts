// One connection to PostgreSQL for a move: nobody else works on the tables from its beginning to its end.
//
// MVP1  a database on which a gateway is a member is refused, and none can become one meanwhile: they all join under one lock, which this
//       connection holds.

import pg from 'pg';
import { StoreUnavailableError } from '../../base/errors/errors.ts';
import { MoveRefusedError, StoreFileError } from '../moved/move-errors.ts';
import { Database, types } from './database.ts';
import { faultOf, isRepeatable } from './faults.ts';
import { migrate } from './schema.ts';

const CONNECT_MS = 10_000;
/** One statement: of a large table some take long. */
const STATEMENT_MS = 300_000;
const LOCK_MS = 10_000;
/** Whoever reads a file from elsewhere may have to wait for it. */
const IDLE_MS = 600_000;
/** As in nodes.ts. */
const IS_STARTING = 'a gateway is starting on the database, or it is being moved; stop that first';
const LOCK_JOINS = 'SELECT pg_try_advisory_lock(1634162515, 2)';

export class MoveSession {
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  /**
   * With the tables brought to this version; `mayMake` where there are none. Rejects with StoreUnavailableError, and MoveRefusedError where
   * somebody works on them.
   */
  static async open(url: string, mayMake: boolean): Promise<MoveSession> {
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
    // A connection that ends between two statements says so with the next one.
    client.on('error', () => undefined);
    const session = new MoveSession(client);
    try {
      await client.connect();
      await session.#begin(url, mayMake);
      return session;
    } catch (error) {
      await session.close();
      throw refused(error);
    }
  }

  /** Rows are arrays. Rejects with GatewayErrors. */
  async rows<Row extends readonly unknown[]>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<readonly Row[]> {
    try {
      const { rows } = await this.#client.query({ text, values: [...values], rowMode: 'array' });
      return rows as unknown as Row[];
    } catch (error) {
      throw refused(error);
    }
  }

  /** The first column of the first row. */
  async number(text: string, values: readonly unknown[] = []): Promise<number> {
    return Number((await this.rows(text, values))[0]?.[0] ?? 0);
  }

  /** What was not committed has not been written. */
  async close(): Promise<void> {
    await this.#client.end().catch(() => undefined);
  }

  async #begin(url: string, mayMake: boolean): Promise<void> {
    const [[hasTables] = [false]] = await this.rows<[boolean]>(
      "SELECT to_regclass('actor_gateway.node') IS NOT NULL",
    );
    if (!hasTables && !mayMake)
      throw new MoveRefusedError('there is no store in the database: nothing can be exported');
    const [[isAlone] = [false]] = await this.rows<[boolean]>(LOCK_JOINS);
    if (!isAlone) throw new MoveRefusedError(IS_STARTING);
    if (hasTables) await this.#refuseMembers();
    const database = new Database({ url, connections: 1, timeoutMs: CONNECT_MS });
    try {
      await migrate(database);
    } finally {
      await database.close();
    }
    await this.rows('SET search_path = actor_gateway');
  }

  async #refuseMembers(): Promise<void> {
    const rows = await this.rows<[name: string]>(
      `SELECT name FROM actor_gateway.node WHERE until > extract(epoch FROM clock_timestamp()) * 1000 ORDER BY name`,
    );
    if (rows.length === 0) return;
    const names = rows.map(([name]) => name).join(', ');
    throw new MoveRefusedError(
      `gateways work on the database (${names}); stop them, or wait a moment where one was killed`,
    );
  }
}

/** What the server says of a row it does not take is no fault of ours, and nothing of the row is in it. */
function refused(error: unknown): unknown {
  // Nobody else waits for what this has: it has met one that was about to join.
  if (isRepeatable(error)) return new MoveRefusedError(IS_STARTING);
  const known = faultOf(error);
  if (known !== undefined) return known;
  const { code, message } = error as { code?: unknown; message?: string };
  if (typeof code !== 'string') return error;
  if (/^(?:22|23|54)/.test(code))
    return new StoreFileError(`the database does not take it: ${message} (${code})`);
  if (/^[0-9A-Z]{5}$/.test(code)) return new StoreUnavailableError(`the database says: ${message} (${code})`);
  return error;
}
