// The connections of one remote session. A request takes the one that was used last, or a new one, so that what is too many
// falls idle and closes; how many requests there are at a time is bounded by whoever sends them (A8).

import { type ConnectionOwner, type Destination, HttpConnection } from './http-connection.ts';

export class ConnectionPool implements ConnectionOwner {
  tlsSession: Buffer | undefined;
  readonly #destination: Destination;
  readonly #all = new Set<HttpConnection>();
  /** The last one was used last. */
  readonly #free: HttpConnection[] = [];
  #isClosed = false;

  constructor(destination: Destination) {
    this.#destination = destination;
  }

  /** Bytes of bodies that the operating system has not taken yet. */
  get unsentBytes(): number {
    let sum = 0;
    for (const connection of this.#all) sum += connection.unsentBytes;
    return sum;
  }

  /** Throws once it is closed. */
  take(): HttpConnection {
    if (this.#isClosed) throw new Error('the session with the server is closed');
    for (let last = this.#free.pop(); last !== undefined; last = this.#free.pop()) {
      if (last.goodUntil === Number.POSITIVE_INFINITY || performance.now() < last.goodUntil) return last;
      last.destroy();
    }
    const made = new HttpConnection(this.#destination, this);
    this.#all.add(made);
    return made;
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

  /** Ends every connection, and the requests on them. */
  close(): void {
    this.#isClosed = true;
    for (const connection of [...this.#all]) connection.close();
  }
}
