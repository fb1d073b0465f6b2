// HTTP connections to one remote server. A request uses the free connection that was used last, or opens a
// new one, so surplus connections become idle and close. Callers limit the number of concurrent requests
// (A8, ARCHITECTURE.md).

import { type ConnectionOwner, HttpConnection } from './http-connection.ts';
import type { HttpDestination } from './http-destination.ts';

export class ConnectionPool implements ConnectionOwner {
  tlsSession: Buffer | undefined;
  readonly #destination: HttpDestination;
  readonly #all = new Set<HttpConnection>();
  /** Free connections, the most recently used last. */
  readonly #free: HttpConnection[] = [];
  #isClosed = false;

  constructor(destination: HttpDestination) {
    this.#destination = destination;
  }

  /** Number of body bytes that the operating system has not accepted yet. */
  get unsentBytes(): number {
    let sum = 0;
    for (const connection of this.#all) sum += connection.unsentBytes;
    return sum;
  }

  /** Returns a free or new connection. Throws if the pool is closed. */
  acquire(): HttpConnection {
    if (this.#isClosed) throw new Error('the session with the server is closed');
    for (let last = this.#free.pop(); last !== undefined; last = this.#free.pop()) {
      // A server may declare how long it keeps an idle connection. After that time a request could be lost.
      if (last.goodUntil === Number.POSITIVE_INFINITY || performance.now() < last.goodUntil) return last;
      last.destroy();
    }
    const connection = new HttpConnection(this.#destination, this);
    this.#all.add(connection);
    return connection;
  }

  onFree(connection: HttpConnection): void {
    if (this.#isClosed) connection.destroy();
    else this.#free.push(connection);
  }

  onClose(connection: HttpConnection): void {
    this.#all.delete(connection);
    const at = this.#free.indexOf(connection);
    if (at !== -1) this.#free.splice(at, 1);
  }

  /** Closes every connection and the requests on them. */
  close(): void {
    this.#isClosed = true;
    for (const connection of [...this.#all]) connection.close();
  }
}
