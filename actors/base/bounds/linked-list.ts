// A doubly linked list in order of insertion, from which each member can be removed at any time. The links are in the
// members themselves: nothing is allocated, and nothing is left behind that would keep a removed member alive, as the
// old tables of a Set do (see actors/mcp/servers/calls/in-flight.ts).
//
// LL1  a member is in at most one list at a time.

export interface Linked<T> {
  /** Neighbours in the list; undefined at its ends, and outside. Only the list writes them. */
  previous: T | undefined;
  next: T | undefined;
}

export class LinkedList<T extends Linked<T>> {
  #first: T | undefined;
  #last: T | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The oldest. */
  get first(): T | undefined {
    return this.#first;
  }

  /** The member must not be in a list. */
  add(member: T): void {
    member.previous = this.#last;
    if (this.#last === undefined) this.#first = member;
    else this.#last.next = member;
    this.#last = member;
    this.#size += 1;
  }

  /** Does nothing for one that is in no list. */
  delete(member: T): void {
    const { previous, next } = member;
    if (previous === undefined && this.#first !== member) return;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    member.previous = undefined;
    member.next = undefined;
    this.#size -= 1;
  }

  /** Oldest first. The member that was given last may leave meanwhile. */
  *[Symbol.iterator](): Generator<T> {
    for (let member = this.#first; member !== undefined; ) {
      const { next } = member;
      yield member;
      member = next;
    }
  }
}
