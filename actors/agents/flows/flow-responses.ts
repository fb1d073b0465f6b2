// What the Responses of a flow say where it was asked for. The last ones, after which nothing is to be done that takes its
// time, are its answer; what comes before is said at once, each once.

import type { FlowNode } from '../../../config/resources/flows/flow.ts';
import type { Sayings } from '../handlers/handler-context.ts';
import type { PartsJournal } from '../parts/parts-journal.ts';

export interface FlowResponse {
  readonly path: string;
  readonly text: string;
}

type Row = Readonly<Record<string, unknown>>;

export class FlowResponses {
  readonly #journal: PartsJournal;
  readonly #says: Sayings | undefined;
  readonly #nodeOf: (path: string) => FlowNode;
  readonly #unsaid: FlowResponse[] = [];
  /** Rows that were looked at. */
  #seen = 0;
  #saidCount = 0;

  constructor(journal: PartsJournal, says: Sayings | undefined, nodeOf: (path: string) => FlowNode) {
    this.#journal = journal;
    this.#says = says;
    this.#nodeOf = nodeOf;
  }

  /** In the order in which they were reached. */
  get unsaid(): readonly FlowResponse[] {
    this.#look();
    return this.#unsaid;
  }

  /** Something was said already. */
  get wasSaid(): boolean {
    this.#look();
    return this.#saidCount > 0;
  }

  /** Says what is unsaid, where somebody hears it. Rejects as the journal does. */
  async say(): Promise<void> {
    const unsaid = [...this.unsaid];
    if (unsaid.length === 0 || this.#says?.isHeard !== true) return;
    for (const { path, text } of unsaid) {
      const emit = await this.#says.rows(text, path);
      this.#journal.add({ kind: 'said', of: path });
      this.#journal.also({ emit });
    }
    this.#look();
    // What comes next may take its time.
    await this.#journal.flush();
  }

  #look(): void {
    const { rows } = this.#journal;
    for (; this.#seen < rows.length; this.#seen += 1) this.#take(rows[this.#seen] as Row);
  }

  #take(row: Row): void {
    if (row.kind === 'said') {
      const place = this.#unsaid.findIndex(({ path }) => path === row.of);
      if (place !== -1) this.#unsaid.splice(place, 1);
      this.#saidCount += 1;
      return;
    }
    if (row.kind !== 'left' || typeof row.in !== 'string') return;
    const { work } = this.#nodeOf(row.in);
    if (work.type !== 'Response' || work.channel !== undefined) return;
    const { text } = row.output as { readonly text: string };
    if (text.trim() !== '') this.#unsaid.push({ path: row.in, text });
  }
}
