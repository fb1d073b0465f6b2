// A Store over a ledger that is reached by a line: the calls are the same, but those that would take long inside one
// transaction are made of many short ones here.

import type { Arguments, Entered, Operation, Result } from './ledger.ts';
import { isMoved } from './posting.ts';
import type {
  Appended,
  AppendOptions,
  Committed,
  Delivery,
  DeliveryCounts,
  DeliveryFilter,
  DeliveryPage,
  Lease,
  NewEvent,
  Owner,
  PutOptions,
  Store,
  Turn,
  TurnRef,
  TurnResult,
  Versioned,
} from './store.ts';

/** The way to a ledger. */
export interface Line {
  /** Rejects with a GatewayError. */
  call<O extends Operation>(operation: O, args: Arguments<O>): Promise<Result<O>>;
  /** Who is told that there may be something to claim; one at a time. */
  listen(onWake: () => void): void;
  close(): Promise<void>;
}

/** The most that `deliveries` gives, and `deliveryPage`. */
const DELIVERIES_LIMIT = 1_000;
/** Pages of the ledger in one of the store: 200,000 records, which takes some tenths of a second. */
const PAGES_AT_ONCE = 20;

export class LedgerStore implements Store {
  readonly #line: Line;
  readonly #wakers = new Set<() => void>();

  constructor(line: Line) {
    this.#line = line;
    line.listen(() => {
      for (const onWake of [...this.#wakers]) onWake();
    });
  }

  async append(events: readonly NewEvent[], options: AppendOptions = {}): Promise<readonly Appended[]> {
    // What is moved would have to come back with its turn; the next claim brings it anyway.
    const claimMs = events.some(isMoved) ? undefined : options.claimMs;
    const entered = await this.#line.call('append', [events, claimMs]);
    return entered.map((entry, index) => appendedOf(events[index] as NewEvent, entry));
  }

  claim(max: number, leaseMs: number, keyPrefix = ''): Promise<readonly Turn[]> {
    return this.#line.call('claim', [max, leaseMs, keyPrefix]);
  }

  renew(turns: readonly TurnRef[], leaseMs: number): Promise<readonly TurnRef[]> {
    // Whole turns may be given, which have bodies.
    const refs = turns.map(({ key, fence }) => ({ key, fence }));
    return this.#line.call('renew', [refs, leaseMs]);
  }

  commit(results: readonly TurnResult[]): Promise<readonly Committed[]> {
    return this.#line.call('commit', [results]);
  }

  lease(name: string, node: string, address: string, ttlMs: number): Promise<Lease | undefined> {
    return this.#line.call('lease', [name, node, address, ttlMs]);
  }

  owner(name: string): Promise<Owner | undefined> {
    return this.#line.call('owner', [name]);
  }

  tick(name: string, at: number, event: NewEvent): Promise<boolean> {
    return this.#line.call('tick', [name, at, event]);
  }

  lastTick(name: string): Promise<number | undefined> {
    return this.#line.call('lastTick', [name]);
  }

  forgetTicks(name: string, after?: number): Promise<void> {
    return this.#line.call('forgetTicks', [name, after]);
  }

  put(space: string, key: string, value: string, options: PutOptions = {}): Promise<boolean> {
    return this.#line.call('put', [space, key, value, options]);
  }

  get(space: string, key: string): Promise<Versioned | undefined> {
    return this.#line.call('get', [space, key]);
  }

  delete(space: string, key: string): Promise<void> {
    return this.#line.call('delete', [space, key]);
  }

  keys(space: string): Promise<readonly string[]> {
    return this.#line.call('keys', [space]);
  }

  async deliveries(filter: DeliveryFilter): Promise<readonly Delivery[]> {
    return (await this.#pages(filter, Number.POSITIVE_INFINITY)).deliveries;
  }

  deliveryPage(filter: DeliveryFilter): Promise<DeliveryPage> {
    return this.#pages(filter, PAGES_AT_ONCE);
  }

  delivery(
    id: string,
  ): Promise<(Delivery & { readonly meta: string; readonly body: Uint8Array }) | undefined> {
    return this.#line.call('delivery', [id]);
  }

  requeue(id: string): Promise<boolean> {
    return this.#line.call('requeue', [id]);
  }

  discard(id: string, note: string): Promise<boolean> {
    return this.#line.call('discard', [id, note]);
  }

  release(heldBy: string, max?: number): Promise<number> {
    return this.#line.call('release', [heldBy, max]);
  }

  holders(): Promise<readonly string[]> {
    return this.#line.call('holders', []);
  }

  counts(): Promise<DeliveryCounts> {
    return this.#line.call('counts', []);
  }

  wake(onWake: () => void): () => void {
    // A listener of its own, so that the same function may be given twice.
    const waker = () => onWake();
    this.#wakers.add(waker);
    return () => this.#wakers.delete(waker);
  }

  async sweep(): Promise<number> {
    let removed = 0;
    let afterSeq: number | undefined = 0;
    while (afterSeq !== undefined) {
      const part: Result<'sweepPart'> = await this.#line.call('sweepPart', [afterSeq]);
      removed += part.removed;
      afterSeq = part.afterSeq;
    }
    return removed;
  }

  close(): Promise<void> {
    return this.#line.close();
  }

  /** Asks the ledger for so many pages at most, until there is enough or nothing more. */
  async #pages(filter: DeliveryFilter, max: number): Promise<DeliveryPage> {
    const deliveries: Delivery[] = [];
    const limit = Math.max(0, Math.min(DELIVERIES_LIMIT, Math.floor(filter.limit)));
    let beforeSeq: number | undefined = filter.beforeSeq ?? Number.MAX_SAFE_INTEGER;
    for (let count = 0; count < max && deliveries.length < limit && beforeSeq !== undefined; count += 1) {
      const rest = { ...filter, beforeSeq, limit: limit - deliveries.length };
      const page: Result<'deliveryPage'> = await this.#line.call('deliveryPage', [rest]);
      deliveries.push(...page.deliveries);
      beforeSeq = page.beforeSeq;
    }
    return { deliveries, beforeSeq };
  }
}

function appendedOf(event: NewEvent, { outcome, state, claimed }: Entered): Appended {
  const { id, key, meta, body, trace, parsed } = event;
  if (claimed === undefined) return { id, outcome, state };
  const { fence, seq, at, snapshot } = claimed;
  const stored = { id, key, meta, body, trace, parsed, seq, at, attempt: 1, crashes: 0 };
  const turn = { key, fence, event: stored, snapshot };
  return { id, outcome, state, turn };
}
