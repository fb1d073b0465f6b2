// A pool of connections to PostgreSQL: statements with typed rows, and transactions that are tried again where the server says so.
//
// PGD1  a transaction that fails has changed nothing, unless its connection was lost while it committed: then nobody knows, and
//       whoever asked is told that the store cannot be reached.
// PGD2  every wait has a deadline, here and at the server; a connection on which one has passed is not used again.
// The time of a transaction is the server's, read once as it begins: the clocks of nodes decide nothing (S8).

import { setTimeout as elapse } from 'node:timers/promises';
import pg from 'pg';
import type { NewEvent } from '../store.ts';
import { faultOf, isRepeatable } from './faults.ts';

/** A statement that each connection prepares once. */
export interface Statement<Row extends readonly unknown[]> {
  readonly name: string;
  readonly text: string;
  /** For the types alone. */
  readonly row?: Row;
}

let statements = 0;

/** `Row` is what the columns of the statement are, in their order. */
export function statement<Row extends readonly unknown[] = readonly []>(text: string): Statement<Row> {
  statements += 1;
  return { name: `ag_${statements}`, text };
}

/** What runs inside a transaction. */
export interface Transaction {
  /** When it began by the server's clock, epoch ms. */
  readonly now: number;
  /** What is to be appended before it ends: see appendEmitted in append.ts. */
  readonly emitted: NewEvent[];
  /** How many more wait or run by it, at most. */
  added: number;
  /** Something has become claimable. */
  isWakeDue: boolean;
  rows<Row extends readonly unknown[]>(
    statement: Statement<Row>,
    values?: readonly unknown[],
  ): Promise<readonly Row[]>;
  /** A statement whose text depends on what is asked; it is not prepared. */
  ask<Row extends readonly unknown[]>(text: string, values: readonly unknown[]): Promise<readonly Row[]>;
  /** Gives how many rows it changed. */
  run(statement: Statement<readonly []>, values?: readonly unknown[]): Promise<number>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly connections: number;
  /** How long one statement may take. */
  readonly timeoutMs: number;
  /** How long a session that was cut off in the middle of a transaction may hold its locks. 5 s unless given. */
  readonly idleMs?: number;
  /** Hears of connections that are lost while nobody uses them. */
  readonly onLost?: ((error: Error) => void) | undefined;
}

const ATTEMPTS = 8;
const IDLE_IN_TRANSACTION_MS = 5_000;
const KEPT_IDLE_MS = 30_000;
const SCHEMA = 'actor_gateway';

const clock = statement<[now: number]>('SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint');

const INT8 = 20;
/** 64-bit numbers are counts and times here: none is beyond what a number of JavaScript holds. */
export const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === INT8 ? (text: string) => Number(text) : pg.types.getTypeParser(oid, format as 'text'),
};

export class Database {
  readonly #pool: pg.Pool;
  readonly #options: DatabaseOptions;
  #added = 0;

  constructor(options: DatabaseOptions) {
    const { url, connections, timeoutMs, onLost = () => undefined } = options;
    this.#options = options;
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
      idleTimeoutMillis: KEPT_IDLE_MS,
      keepAlive: true,
      application_name: 'actor-gateway',
      onConnect: async (client) => void (await client.query(`SET search_path = ${SCHEMA}`)),
    } as pg.PoolConfig);
    this.#pool.on('error', onLost);
  }

  /** How many more wait or run by all transactions that have ended here, at most: of one that was lost nobody knows. */
  get added(): number {
    return this.#added;
  }

  /** All or nothing. Rejects with what the action throws, and with GatewayErrors where the database is what is wrong. */
  async transaction<T>(action: (transaction: Transaction) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1)
      try {
        return await this.#once(action);
      } catch (error) {
        if (!isRepeatable(error) || attempt === ATTEMPTS) throw faultOf(error) ?? error;
        await elapse(Math.random() * 2 ** attempt);
      }
  }

  /** One statement by itself. */
  async rows<Row extends readonly unknown[]>(
    { name, text }: Statement<Row>,
    values: readonly unknown[] = [],
  ): Promise<readonly Row[]> {
    try {
      const { rows } = await this.#pool.query({ name, text, values: [...values], rowMode: 'array' });
      return rows as unknown as Row[];
    } catch (error) {
      throw faultOf(error) ?? error;
    }
  }

  /** A connection of its own, for notifications: whoever asks ends it. */
  async connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#options.url,
      connectionTimeoutMillis: this.#options.timeoutMs,
      keepAlive: true,
      application_name: 'actor-gateway',
    });
    try {
      await client.connect();
      return client;
    } catch (error) {
      throw faultOf(error) ?? error;
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #once<T>(action: (transaction: Transaction) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    let broken: Error | undefined;
    // A connection that ends between two statements says so here only.
    const onError = (error: Error) => {
      broken ??= error;
    };
    client.on('error', onError);
    try {
      const [, now] = await Promise.all([client.query('BEGIN'), queryRows(client, clock, [])]);
      const transaction = new OpenTransaction(client, now[0]?.[0] ?? 0);
      const result = await action(transaction);
      try {
        await client.query('COMMIT');
      } finally {
        this.#added += transaction.added;
      }
      return result;
    } catch (error) {
      // Where even this fails the connection is of no use, and what was begun ends with it.
      await client.query('ROLLBACK').catch(onError);
      throw error;
    } finally {
      client.off('error', onError);
      client.release(broken);
    }
  }
}

class OpenTransaction implements Transaction {
  readonly now: number;
  readonly emitted: NewEvent[] = [];
  added = 0;
  isWakeDue = false;
  readonly #client: pg.PoolClient;

  constructor(client: pg.PoolClient, now: number) {
    this.#client = client;
    this.now = now;
  }

  rows<Row extends readonly unknown[]>(statement: Statement<Row>, values: readonly unknown[] = []) {
    return queryRows(this.#client, statement, values);
  }

  async ask<Row extends readonly unknown[]>(text: string, values: readonly unknown[]) {
    const { rows } = await this.#client.query({ text, values: [...values], rowMode: 'array' });
    return rows as unknown as Row[];
  }

  async run({ name, text }: Statement<readonly []>, values: readonly unknown[] = []): Promise<number> {
    const { rowCount } = await this.#client.query({ name, text, values: [...values] });
    return rowCount ?? 0;
  }
}

async function queryRows<Row extends readonly unknown[]>(
  client: pg.PoolClient,
  { name, text }: Statement<Row>,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  const { rows } = await client.query({ name, text, values: [...values], rowMode: 'array' });
  return rows as unknown as Row[];
}
