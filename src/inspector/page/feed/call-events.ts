// Describes a tool call from the page, and parses the server-sent events of its response.

import type { CallMessage, CallProgress } from '../../wire/tools.ts';

export interface PageCall {
  readonly server: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Cancels the call. */
  readonly signal: AbortSignal;
  onProgress(progress: CallProgress): void;
}

/** Parses server-sent events from pieces of any size. */
export class CallEvents {
  #pieces: string[] = [];

  /** Adds a piece. Returns the events that it completes. */
  take(piece: string): CallMessage[] {
    if (piece === '') return [];
    this.#pieces.push(piece);
    // The separator may be split between two pieces. Pieces are joined when it arrives, not for each piece.
    if (!/\n\n/.test((this.#pieces.at(-2) ?? '').slice(-1) + piece)) return [];
    const blocks = this.#pieces.join('').split('\n\n');
    this.#pieces = [blocks.pop() ?? ''];
    return blocks.flatMap((block) => {
      const [, kind = '', data = ''] = /^event: (\w+)\ndata: (.*)$/s.exec(block) ?? [];
      return kind === '' ? [] : [{ kind, data: JSON.parse(data) } as CallMessage];
    });
  }
}
