// Streams of clients with access keys, by key. Streams of a revoked or expired key are closed, also streams
// opened during the revocation. Other responses are removed when complete.

/** Response that may become a stream. */
export interface KeyStream {
  readonly isDone: boolean;
  /** Closes the response if it is a stream. */
  endStream(): void;
}

export class OpenStreams {
  readonly #byKey = new Map<string, Set<KeyStream>>();

  add(keyId: string, stream: KeyStream): void {
    const streams = this.#byKey.get(keyId);
    if (streams === undefined) this.#byKey.set(keyId, new Set([stream]));
    else streams.add(stream);
  }

  /** Closes the streams of invalid keys, and removes complete responses. Call it periodically. */
  sweep(isEnded: (keyId: string) => boolean): void {
    for (const [keyId, streams] of this.#byKey) {
      const shouldEnd = isEnded(keyId);
      for (const stream of streams) {
        if (shouldEnd) stream.endStream();
        if (stream.isDone) streams.delete(stream);
      }
      if (streams.size === 0) this.#byKey.delete(keyId);
    }
  }
}
