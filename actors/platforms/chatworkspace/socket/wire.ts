// The wire below a socket of the platform: a WebSocket, of which no more is known than what is needed here. `web-socket.ts` makes
// a real one.

export interface WireEvents {
  /** A text frame, and its size. */
  onText(text: string, bytes: number): void;
  /** A text frame larger than what is read, which came again; its envelope as far as it says one, and its size. */
  onOversized(envelope: string | undefined, bytes: number): void;
  /** A sign of life: a ping, a pong, or a frame that is no text. */
  onSign(): void;
  /** Once; nothing comes after it. `reason` has no address in it, since that is a credential. */
  onClosed(reason: string, retryAfterMs?: number): void;
}

export interface Wire {
  /** What cannot be sent any more is dropped. */
  send(text: string): void;
  ping(): void;
  /** Nothing is read until `resume`. */
  pause(): void;
  resume(): void;
  /** Says that it is over, and reads until the other side has said so, too. */
  close(): void;
  /** At once. */
  terminate(): void;
}

export interface Wires {
  /** What fails is told to `onClosed`, also when the address is none. */
  connect(url: string, events: WireEvents): Wire;
}
