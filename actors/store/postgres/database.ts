// Connection pool for PostgreSQL: statements with typed rows, and transactions with retries after
// serialization failures and deadlocks.
//
// A failed transaction has changed nothing, unless the connection was lost during COMMIT: then its outcome is
// unknown, and the caller receives StoreUnavailableError. Server and client both have statement timeouts. The
// timestamp of a transaction is its start by the server's clock, never by a node's clock (rule S8 in
// ../store.ts); statements use it as `nowMs`. A round trip costs as much as a small statement, so statements
// that need no earlier result are sent together with BEGIN or COMMIT.

import { setTimeout as elapse } from 'node:timers/promises';
import pg from 'pg';
import type { GatewayError } from '../../base/errors/errors.ts';
import type { NewEvent } from '../event.ts';
import { postgresText, type Query } from '../list-queries.ts';
import { databaseAddress } from './database-address.ts';
import { faultOf, isRepeatable } from './faults.ts';

/** Statement that each connection prepares once. */
export interface PostgresStatement<Row extends readonly unknown[]> {
  readonly name: string;
  readonly text: string;
  /** Type only, never set. */
  readonly row?: Row;
}

let statements = 0;

/** `Row` lists the types of the columns, in order. */
export function statement<Row extends readonly unknown[] = readonly []>(
  text: string,
): PostgresStatement<Row> {
  statements += 1;
  return { name: `ag_${statements}`, text };
}

/** Connection that runs statements. */
export interface Statements {
  rows<Row extends readonly unknown[]>(
    statement: PostgresStatement<Row>,
    values?: readonly unknown[],
  ): Promise<readonly Row[]>;
}

/** Open transaction. */
export interface Transaction extends Statements {
  /** Start of the transaction by the server's clock, epoch milliseconds. */
  readonly now: number;
  /** Events that the transaction emits; `appendEmitted` in append.ts appends them before the commit. */
  readonly emitted: NewEvent[];
  /** Upper bound of the unfinished events that this transaction adds. */
  added: number;
  /** True if the transaction makes any mailbox claimable. */
  isWakeDue: boolean;
  /** Runs a statement without preparing it, for texts that depend on the arguments. */
  query<Row extends readonly unknown[]>(text: string, values: readonly unknown[]): Promise<readonly Row[]>;
  /** Runs a listing query, unprepared. */
  list<Row extends readonly unknown[]>(query: Query): Promise<readonly Row[]>;
  /** Returns the number of changed rows. */
  run(statement: PostgresStatement<readonly []>, values?: readonly unknown[]): Promise<number>;
  /** Sends the statement with the commit, after all others. */
  runLast(statement: PostgresStatement<readonly []>, values: readonly unknown[]): void;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly connections: number;
  /** Statement timeout. */
  readonly timeoutMs: number;
  /** Maximum idle time inside a transaction, which holds locks. @default 1 second */
  readonly idleMs?: number;
  /** Called when an unused connection is lost. */
  readonly onLost?: ((error: Error) => void) | undefined;
  /** Called for each error caused by the database. */
  readonly onFault?: ((error: GatewayError) => void) | undefined;
}

const ATTEMPTS = 8;
/**
 * The locks of a suspended node block other nodes, so they must expire well before these nodes lose their
 * membership.
 */
const IDLE_IN_TRANSACTION_MS = 1_000;
const IDLE_CONNECTION_MS = 30_000;
/**
 * Disables sequential scans: prepared plans are cached, and a plan made for a small table would still scan
 * the table when it is large. All frequent statements have an index.
 */
const SESSION = 'SET search_path = actor_gateway; SET enable_seqscan = off; SET jit = off';

/** SQL expression: start of the transaction, epoch milliseconds. */
export const nowMs = 'floor(extract(epoch FROM transaction_timestamp()) * 1000)::bigint';
const clock = statement<[now: number]>(`SELECT ${nowMs}`);

const INT8 = 20;
/** 64-bit numbers are counts and timestamps here, which a JavaScript number represents exactly. */
export const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === INT8 ? (text: string) => Number(text) : pg.types.getTypeParser(oid, format as 'text'),
};

export class Database {
  readonly #pool: pg.Pool;
  readonly #options: DatabaseOptions;
  /** For messages. */
  readonly #address: string | undefined;
  #added = 0;

  constructor(options: DatabaseOptions) {
    const { url, connections, timeoutMs, onLost = () => undefined } = options;
    this.#options = options;
    this.#address = databaseAddress(url);
    this.#pool = new pg.Pool({
      connectionString: url,
      max: connections,
      types,
      pipeline: true,
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs + 1_000,
      statement_timeout: timeoutMs,
      lock_timeout: timeoutMs,
      idle_in_transaction_session_timeout: options.idleMs ?? IDLE_IN_TRANSACTION_MS,
      idleTimeoutMillis: IDLE_CONNECTION_MS,
      keepAlive: true,
      application_name: 'actor-gateway',
      onConnect: async (client) => void (await client.query(SESSION)),
    } as pg.PoolConfig);
    this.#pool.on('error', onLost);
  }

  /**
   * Upper bound of the unfinished events that transactions of this process have added, including transactions
   * with unknown outcome.
   */
  get added(): number {
    return this.#added;
  }

  /**
   * Runs the action atomically. Rejects with errors of the action, and GatewayErrors for faults of the
   * database.
   */
  transaction<T>(action: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.transactionAfter(nothing, action);
  }

  /**
   * Like `transaction`; sends the statements of `open` together with BEGIN, and passes their result to the
   * action.
   */
  async transactionAfter<Opened, T>(
    open: (statements: Statements) => Promise<Opened>,
    action: (transaction: Transaction, opened: Opened) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1)
      try {
        return await this.#attempt(open, action);
      } catch (error) {
        if (!isRepeatable(error) || attempt === ATTEMPTS) throw this.#report(error);
        await elapse(Math.random() * 2 ** attempt);
      }
  }

  /** Runs a single statement. */
  async rows<Row extends readonly unknown[]>(
    { name, text }: PostgresStatement<Row>,
    values: readonly unknown[] = [],
  ): Promise<readonly Row[]> {
    try {
      const { rows } = await this.#pool.query({ name, text, values: [...values], rowMode: 'array' });
      return rows as unknown as Row[];
    } catch (error) {
      throw this.#report(error);
    }
  }

  /** Opens a dedicated connection for notifications. The caller closes it. */
  connect(): Promise<pg.Client> {
    return this.#connect({});
  }

  /** Runs the action on a dedicated connection, whose statements may take longer. */
  async withConnection<T>(timeoutMs: number, action: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = await this.#connect({
      query_timeout: timeoutMs + 1_000,
      statement_timeout: timeoutMs,
      lock_timeout: timeoutMs,
    });
    // A connection that closes between two statements rejects the next statement.
    client.on('error', () => undefined);
    try {
      return await action(client);
    } catch (error) {
      throw this.#report(error);
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #connect(timeouts: pg.ClientConfig): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#options.url,
      connectionTimeoutMillis: this.#options.timeoutMs,
      keepAlive: true,
      application_name: 'actor-gateway',
      ...timeouts,
    });
    try {
      await client.connect();
      return client;
    } catch (error) {
      throw this.#report(error);
    }
  }

  #report(error: unknown): unknown {
    const fault = faultOf(error, this.#address);
    if (fault === undefined) return error;
    this.#options.onFault?.(fault);
    return fault;
  }

  async #attempt<Opened, T>(
    open: (statements: Statements) => Promise<Opened>,
    action: (transaction: Transaction, opened: Opened) => Promise<T>,
  ): Promise<T> {
    const client = await this.#pool.connect();
    let broken: Error | undefined;
    // A connection that closes between two statements only emits an error event.
    const onError = (error: Error) => {
      broken ??= error;
    };
    client.on('error', onError);
    const transaction = new OpenTransaction(client);
    try {
      const [, [at], opened] = await Promise.all([
        client.query('BEGIN'),
        queryRows(client, clock, []),
        open(transaction),
      ]);
      transaction.now = at?.[0] ?? 0;
      const result = await action(transaction, opened);
      try {
        await transaction.commit();
      } finally {
        this.#added += transaction.added;
      }
      return result;
    } catch (error) {
      transaction.end();
      // If the rollback fails, the connection is closed, which aborts the transaction.
      await client.query('ROLLBACK').catch(onError);
      throw error;
    } finally {
      client.off('error', onError);
      client.release(broken);
    }
  }
}

const nothing = () => Promise.resolve();

class OpenTransaction implements Transaction {
  now = 0;
  readonly emitted: NewEvent[] = [];
  added = 0;
  isWakeDue = false;
  readonly #client: pg.PoolClient;
  readonly #last: (readonly [PostgresStatement<readonly []>, readonly unknown[]])[] = [];
  #isOver = false;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  rows<Row extends readonly unknown[]>(statement: PostgresStatement<Row>, values: readonly unknown[] = []) {
    return queryRows(this.#open, statement, values);
  }

  async query<Row extends readonly unknown[]>(text: string, values: readonly unknown[]) {
    const { rows } = await this.#open.query({ text, values: [...values], rowMode: 'array' });
    return rows as unknown as Row[];
  }

  list<Row extends readonly unknown[]>({ text, values }: Query) {
    return this.query<Row>(postgresText(text), values);
  }

  async run(
    { name, text }: PostgresStatement<readonly []>,
    values: readonly unknown[] = [],
  ): Promise<number> {
    const { rowCount } = await this.#open.query({ name, text, values: [...values] });
    return rowCount ?? 0;
  }

  runLast(statement: PostgresStatement<readonly []>, values: readonly unknown[]): void {
    this.#last.push([statement, values]);
  }

  async commit(): Promise<void> {
    // If any statement fails, the server rolls back instead of committing.
    const last = this.#last.map(([statement, values]) => this.run(statement, values));
    await Promise.all([...last, this.#open.query('COMMIT')]);
    this.end();
  }

  /** Rejects later statements, which would run outside of the transaction. */
  end(): void {
    this.#isOver = true;
  }

  get #open(): pg.PoolClient {
    if (this.#isOver) throw new Error('the transaction has ended');
    return this.#client;
  }
}

async function queryRows<Row extends readonly unknown[]>(
  client: pg.PoolClient,
  { name, text }: PostgresStatement<Row>,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  const { rows } = await client.query({ name, text, values: [...values], rowMode: 'array' });
  return rows as unknown as Row[];
}
