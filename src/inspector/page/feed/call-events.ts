// A call of a tool as the page asks for it, and the server-sent events that tell how it goes on.

import type { CallMessage, ShownProgress } from '../../wire/tool-wire.ts';

export interface CallAsked {
  readonly server: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Cancels the call. */
  readonly signal: AbortSignal;
  onProgress(progress: ShownProgress): void;
}

/** Reads server-sent events, in whatever pieces they come. */
export class CallEvents {
  #pieces: string[] = [];

  /** The events that this piece completes. */
  take(piece: string): CallMessage[] {
    if (piece === '') return [];
    this.#pieces.push(piece);
    // The end of one may come in two pieces; a large event is put together once.
    if (!/\n\n/.test((this.#pieces.at(-2) ?? '').slice(-1) + piece)) return [];
    const blocks = this.#pieces.join('').split('\n\n');
    this.#pieces = [blocks.pop() ?? ''];
    return blocks.flatMap((block) => {
      const [, kind = '', data = ''] = /^event: (\w+)\ndata: (.*)$/s.exec(block) ?? [];
      return kind === '' ? [] : [{ kind, data: JSON.parse(data) } as CallMessage];
    });
  }
}
