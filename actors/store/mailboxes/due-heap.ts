// Binary heap ordered by due time, earliest first. Members store their index, which allows removal from the
// middle. The heap does not reference removed members.
// The `dueAt` of members must not change inside the heap.

export interface Timed {
  /** Epoch milliseconds. */
  readonly dueAt: number;
  /** Index in the heap; -1 outside. Only the heap writes it. */
  heapIndex: number;
}

export class DueHeap<T extends Timed> {
  readonly #members: T[] = [];

  /** Returns the member with the earliest time. */
  get first(): T | undefined {
    return this.#members[0];
  }

  /** Adds a member that is in no heap. */
  add(member: T): void {
    this.#members.push(member);
    this.#rise(member, this.#members.length - 1);
  }

  /** Has no effect if the member is in no heap. */
  delete(member: T): void {
    const index = member.heapIndex;
    if (index < 0) return;
    member.heapIndex = -1;
    const last = this.#members.pop();
    if (last === undefined || last === member) return;
    const parent = this.#members[(index - 1) >> 1];
    if (index > 0 && parent !== undefined && last.dueAt < parent.dueAt) this.#rise(last, index);
    else this.#sink(last, index);
  }

  #rise(member: T, from: number): void {
    let index = from;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = this.#members[above] as T;
      if (parent.dueAt <= member.dueAt) break;
      this.#set(parent, index);
      index = above;
    }
    this.#set(member, index);
  }

  #sink(member: T, from: number): void {
    const { length } = this.#members;
    let index = from;
    for (let below = 2 * index + 1; below < length; below = 2 * index + 1) {
      let child = this.#members[below] as T;
      const other = this.#members[below + 1];
      if (other !== undefined && other.dueAt < child.dueAt) {
        child = other;
        below += 1;
      }
      if (member.dueAt <= child.dueAt) break;
      this.#set(child, index);
      index = below;
    }
    this.#set(member, index);
  }

  #set(member: T, index: number): void {
    this.#members[index] = member;
    member.heapIndex = index;
  }
}
