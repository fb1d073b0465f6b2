// What the Responses of a flow say where it was asked for. The last ones, after which nothing is to be done that takes its
// time, are its answer; what comes before is said at once, each once.

import type { FlowNode, NodeWork } from '../../../config/resources/flows/flow.ts';
import type { Sayings } from '../handlers/handler-context.ts';
import type { PartsJournal } from '../parts/parts-journal.ts';

export interface FlowResponse {
  readonly path: string;
  readonly text: string;
}

type Row = Readonly<Record<string, unknown>>;
type ResponseWork = Extract<NodeWork, { readonly type: 'Response' }>;

export class FlowResponses {
  readonly #journal: PartsJournal;
  readonly #says: Sayings | undefined;
  readonly #unsaid: FlowResponse[] = [];
  /** True after a response was sent early. */
  wasSaid = false;

  /** Reads the rows from earlier attempts; `nodeOf` finds the node by path. */
  constructor(journal: PartsJournal, says: Sayings | undefined, nodeOf: (path: string) => FlowNode) {
    this.#journal = journal;
    this.#says = says;
    for (const row of journal.rows) this.#readBack(row, nodeOf);
  }

  /** In the order in which they were reached. */
  get unsaid(): readonly FlowResponse[] {
    return this.#unsaid;
  }

  /** Adds a response; a node with a channel sends the text itself. */
  add(path: string, { channel }: ResponseWork, output: unknown): void {
    if (channel !== undefined) return;
    const { text } = output as { readonly text: string };
    if (text.trim() !== '') this.#unsaid.push({ path, text });
  }

  /** Says what is unsaid, where somebody hears it. Rejects as the journal does. */
  async say(): Promise<void> {
    if (this.#unsaid.length === 0 || this.#says?.isHeard !== true) return;
    for (const { path, text } of [...this.#unsaid]) {
      const emit = await this.#says.rows(text, path);
      this.#journal.add({ kind: 'said', of: path });
      this.#journal.also({ emit });
      this.#forget(path);
    }
    // What comes next may take its time.
    await this.#journal.flush();
  }

  #forget(path: unknown): void {
    const place = this.#unsaid.findIndex((each) => each.path === path);
    if (place !== -1) this.#unsaid.splice(place, 1);
    this.wasSaid = true;
  }

  #readBack(row: Row, nodeOf: (path: string) => FlowNode): void {
    if (row.kind === 'said') this.#forget(row.of);
    if (row.kind !== 'left' || typeof row.in !== 'string') return;
    const { work } = nodeOf(row.in);
    if (work.type === 'Response') this.add(row.in, work, row.output);
  }
}
