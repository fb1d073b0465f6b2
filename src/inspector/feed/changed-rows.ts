// The numbers of many things, once a second while somebody watches: those that have changed since the last time.

export interface RowsOptions<Thing, Row> {
  idOf(thing: Thing): string;
  /** What the thing looks like, in short; a row is made only when that is another. */
  markOf(thing: Thing): string;
  rowOf(thing: Thing): Row;
}

export class ChangedRows<Thing, Row> {
  readonly #options: RowsOptions<Thing, Row>;
  #marks = new Map<string, string>();

  constructor(options: RowsOptions<Thing, Row>) {
    this.#options = options;
  }

  /** Rows of things that are new or not as they were; and the ids of those that have gone. */
  take(things: readonly Thing[]): { readonly changed: Row[]; readonly gone: string[] } {
    const { idOf, markOf, rowOf } = this.#options;
    const marks = new Map<string, string>();
    const changed: Row[] = [];
    for (const thing of things) {
      const id = idOf(thing);
      const mark = markOf(thing);
      marks.set(id, mark);
      if (this.#marks.get(id) !== mark) changed.push(rowOf(thing));
    }
    const gone = [...this.#marks.keys()].filter((id) => !marks.has(id));
    this.#marks = marks;
    return { changed, gone };
  }

  /** The next take gives every row: somebody has seen numbers between two takes, and they may have gone back since. */
  forget(): void {
    for (const id of this.#marks.keys()) this.#marks.set(id, '');
  }
}
