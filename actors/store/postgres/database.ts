// A pool of connections to PostgreSQL: statements with typed rows, and transactions that are tried again where the server says so.
//
// PGD1  a transaction that fails has changed nothing, unless its connection was lost while it committed: then nobody knows, and
//       whoever asked is told that the store cannot be reached.
// PGD2  every wait has a deadline, here and at the server; a connection on which one has passed is not used again.
// The time of a transaction is the server's, that of its beginning: the clocks of nodes decide nothing (S8). Statements have the same
// one as `nowMs`.
//
// A way to the server and back costs as much as a small statement: what does not wait for an answer is sent with the beginning, or
// with the commit.

import { setTimeout as elapse } from 'node:timers/promises';
import pg from 'pg';
import type { GatewayError } from '../../base/errors/errors.ts';
import type { NewEvent } from '../event.ts';
import { postgresText, type Query } from '../list-queries.ts';
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

/** What can be asked of the server. */
export interface Statements {
  rows<Row extends readonly unknown[]>(
    statement: Statement<Row>,
    values?: readonly unknown[],
  ): Promise<readonly Row[]>;
}

/** What runs inside a transaction. */
export interface Transaction extends Statements {
  /** When it began by the server's clock, epoch ms. */
  readonly now: number;
  /** What is to be appended before it ends: see appendEmitted in append.ts. */
  readonly emitted: NewEvent[];
  /** How many more wait or run by it, at most. */
  added: number;
  /** Something has become claimable. */
  isWakeDue: boolean;
  /** A statement whose text depends on what is asked; it is not prepared. */
  ask<Row extends readonly unknown[]>(text: string, values: readonly unknown[]): Promise<readonly Row[]>;
  /** Runs a listing query, unprepared. */
  list<Row extends readonly unknown[]>(query: Query): Promise<readonly Row[]>;
  /** Gives how many rows it changed. */
  run(statement: Statement<readonly []>, values?: readonly unknown[]): Promise<number>;
  /** The statement is sent with the commit, behind all others. */
  runLast(statement: Statement<readonly []>, values: readonly unknown[]): void;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly connections: number;
  /** How long one statement may take. */
  readonly timeoutMs: number;
  /** How long a session that was cut off in the middle of a transaction may hold its locks. 1 s unless given. */
  readonly idleMs?: number;
  /** Hears of connections that are lost while nobody uses them. */
  readonly onLost?: ((error: Error) => void) | undefined;
  /** Hears of each error by which the database is what is wrong. */
  readonly onFault?: ((error: GatewayError) => void) | undefined;
}

const ATTEMPTS = 8;
/** What a stopped node has locked stops the others: it has to be free again well before their own memberships end. */
const IDLE_IN_TRANSACTION_MS = 1_000;
const KEPT_IDLE_MS = 30_000;
/**
 * Plans are made once, and kept: those that were made while a table was small would read all of it for hours. Each statement that comes
 * often has an index to go by.
 */
const SESSION = 'SET search_path = actor_gateway; SET enable_seqscan = off; SET jit = off';

/** When the transaction began, epoch ms: an expression for statements. */
export const nowMs = 'floor(extract(epoch FROM transaction_timestamp()) * 1000)::bigint';
const clock = statement<[now: number]>(`SELECT ${nowMs}`);

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
      onConnect: async (client) => void (await client.query(SESSION)),
    } as pg.PoolConfig);
    this.#pool.on('error', onLost);
  }

  /** How many more wait or run by all transactions that have ended here, at most: of one that was lost nobody knows. */
  get added(): number {
    return this.#added;
  }

  /** All or nothing. Rejects with what the action throws, and with GatewayErrors where the database is what is wrong. */
  transaction<T>(action: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.transactionAfter(nothing, action);
  }

  /** The same; what `open` asks is sent with the beginning, and answered before the action. */
  async transactionAfter<Opened, T>(
    open: (statements: Statements) => Promise<Opened>,
    action: (transaction: Transaction, opened: Opened) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1)
      try {
        return await this.#once(open, action);
      } catch (error) {
        if (!isRepeatable(error) || attempt === ATTEMPTS) throw this.#toldOf(error);
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
      throw this.#toldOf(error);
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
      throw this.#toldOf(error);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  #toldOf(error: unknown): unknown {
    const fault = faultOf(error);
    if (fault === undefined) return error;
    this.#options.onFault?.(fault);
    return fault;
  }

  async #once<Opened, T>(
    open: (statements: Statements) => Promise<Opened>,
    action: (transaction: Transaction, opened: Opened) => Promise<T>,
  ): Promise<T> {
    const client = await this.#pool.connect();
    let broken: Error | undefined;
    // A connection that ends between two statements says so here only.
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
      // Where even this fails the connection is of no use, and what was begun ends with it.
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
  readonly #last: (readonly [Statement<readonly []>, readonly unknown[]])[] = [];
  #isOver = false;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  rows<Row extends readonly unknown[]>(statement: Statement<Row>, values: readonly unknown[] = []) {
    return queryRows(this.#open, statement, values);
  }

  async ask<Row extends readonly unknown[]>(text: string, values: readonly unknown[]) {
    const { rows } = await this.#open.query({ text, values: [...values], rowMode: 'array' });
    return rows as unknown as Row[];
  }

  list<Row extends readonly unknown[]>({ text, values }: Query) {
    return this.ask<Row>(postgresText(text), values);
  }

  async run({ name, text }: Statement<readonly []>, values: readonly unknown[] = []): Promise<number> {
    const { rowCount } = await this.#open.query({ name, text, values: [...values] });
    return rowCount ?? 0;
  }

  runLast(statement: Statement<readonly []>, values: readonly unknown[]): void {
    this.#last.push([statement, values]);
  }

  async commit(): Promise<void> {
    // Where one of them fails the server takes back the transaction instead.
    const last = this.#last.map(([statement, values]) => this.run(statement, values));
    await Promise.all([...last, this.#open.query('COMMIT')]);
    this.end();
  }

  /** What is still asked after that would be no part of it. */
  end(): void {
    this.#isOver = true;
  }

  get #open(): pg.PoolClient {
    if (this.#isOver) throw new Error('the transaction is over');
    return this.#client;
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
