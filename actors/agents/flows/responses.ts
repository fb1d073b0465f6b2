// Texts of Response nodes. If a slow node follows, a response is sent immediately, and once; the remaining
// responses form the answer.

import type { FlowNode, NodeWork } from '../../../config/resources/flows/flow.ts';
import type { RunMessages } from '../handlers/handler-context.ts';
import type { PartsJournal } from '../parts/journal.ts';

export interface FlowResponse {
  readonly path: string;
  readonly text: string;
}

type JsonObject = Readonly<Record<string, unknown>>;
type ResponseWork = Extract<NodeWork, { readonly type: 'Response' }>;

export class FlowResponses {
  readonly #journal: PartsJournal;
  readonly #messages: RunMessages | undefined;
  readonly #pending: FlowResponse[] = [];
  /** True if a response was sent early. */
  hasSent = false;

  /** Reads the rows from earlier attempts; `nodeOf` finds the node by path. */
  constructor(journal: PartsJournal, messages: RunMessages | undefined, nodeOf: (path: string) => FlowNode) {
    this.#journal = journal;
    this.#messages = messages;
    for (const row of journal.rows) this.#readBack(row, nodeOf);
  }

  /** Responses that have not been sent, in the order in which they were reached. */
  get pending(): readonly FlowResponse[] {
    return this.#pending;
  }

  /** Adds a Response node's text, unless the node has sent it to a channel. */
  add(path: string, { channel }: ResponseWork, output: unknown): void {
    if (channel !== undefined) return;
    const { text } = output as { readonly text: string };
    if (text.trim() !== '') this.#pending.push({ path, text });
  }

  /** Sends the pending responses if the origin can receive them. Rejects with the journal's error. */
  async sendPending(): Promise<void> {
    if (this.#pending.length === 0 || this.#messages?.canSend !== true) return;
    for (const { path, text } of [...this.#pending]) {
      const emit = await this.#messages.rows(text, path);
      // Records that the text was sent, for later attempts.
      this.#journal.add({ kind: 'said', of: path });
      this.#journal.addEffects({ emit });
      this.#removePending(path);
    }
    // The next nodes may take long.
    await this.#journal.flush();
  }

  #removePending(path: unknown): void {
    const index = this.#pending.findIndex((each) => each.path === path);
    if (index !== -1) this.#pending.splice(index, 1);
    this.hasSent = true;
  }

  #readBack(row: JsonObject, nodeOf: (path: string) => FlowNode): void {
    if (row.kind === 'said') this.#removePending(row.of);
    // A node writes the row `left` when it has finished; `in` is its path.
    if (row.kind !== 'left' || typeof row.in !== 'string') return;
    const { work } = nodeOf(row.in);
    if (work.type === 'Response') this.add(row.in, work, row.output);
  }
}
