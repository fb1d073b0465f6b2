// Transport for platform sockets: the required subset of WebSocket. Implemented in `ws-wires.ts`.

export interface WireEvents {
  /** A text frame, with its size in bytes. */
  onText(text: string, bytes: number): void;
  /** An oversized text frame that was redelivered: envelope id, if found, and size in bytes. */
  onOversized(envelope: string | undefined, bytes: number): void;
  /** Any other activity of the platform: a ping, a pong, or a binary frame. */
  onActivity(): void;
  /** Called once, as the last event. `reason` does not contain the address, which is a credential. */
  onClosed(reason: string, retryAfterMs?: number): void;
}

export interface Wire {
  /** Sends a text frame; dropped if the wire is closed. */
  send(text: string): void;
  ping(): void;
  /** Stops reading until `resume`. */
  pause(): void;
  resume(): void;
  /** Sends a close frame, and reads until the platform has sent one. */
  close(): void;
  /** Closes the wire immediately. */
  terminate(): void;
}

export interface Wires {
  /** Opens a socket. Reports failures to `onClosed`, including an invalid address. */
  connect(url: string, events: WireEvents): Wire;
}
