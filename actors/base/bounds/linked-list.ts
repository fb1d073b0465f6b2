// Doubly linked list in insertion order, from which any member can be removed. The links are in the members,
// so the list allocates nothing. It keeps no reference to a removed member; the internal table of a Set may
// keep one until it is rebuilt. A member can be in a single list.

export interface ListMember<T> {
  /** Neighbours in the list, written by the list only; undefined at the ends, and for an unlisted member. */
  previous: T | undefined;
  next: T | undefined;
}

export class LinkedList<T extends ListMember<T>> {
  #first: T | undefined;
  #last: T | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Oldest member. */
  get first(): T | undefined {
    return this.#first;
  }

  /** Appends a member that is not listed yet. */
  add(member: T): void {
    member.previous = this.#last;
    if (this.#last === undefined) this.#first = member;
    else this.#last.next = member;
    this.#last = member;
    this.#size += 1;
  }

  /** Removes a member. Ignores an unlisted member. */
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

  /** Yields members, oldest first. The last yielded member may be removed during the iteration. */
  *[Symbol.iterator](): Generator<T> {
    for (let member = this.#first; member !== undefined; ) {
      const { next } = member;
      yield member;
      member = next;
    }
  }
}
