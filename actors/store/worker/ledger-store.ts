// A Store over a ledger behind a channel. The calls are the same, but those that would take long inside one transaction
// are made as many short ones.

import { appendedOf } from '../appended.ts';
import type { ApprovalFilter, DecidedApproval, NewDecision, StoredApproval } from '../approval.ts';
import type { Delivery, DeliveryCounts, DeliveryFilter, DeliveryPage, Undelivered } from '../delivery.ts';
import type { NewEvent } from '../event.ts';
import type { Arguments, Operation, Result } from '../ledger.ts';
import { gatherDeliveries, gatherRuns } from '../list-parts.ts';
import type { Run, RunFilter, RunPage, Step } from '../run.ts';
import type {
  Appended,
  AppendOptions,
  Committed,
  Lease,
  Owner,
  PutOptions,
  Store,
  Turn,
  TurnRef,
  TurnResult,
  Versioned,
} from '../store.ts';
import { isMoved } from './message-transfer.ts';

/** A channel to a ledger. */
export interface LedgerChannel {
  /** Rejects with a GatewayError. */
  call<O extends Operation>(operation: O, args: Arguments<O>): Promise<Result<O>>;
  /** Adds a listener, which is called when there may be something to claim. */
  listen(onWake: () => void): void;
  close(): Promise<void>;
}

export class LedgerStore implements Store {
  readonly #channel: LedgerChannel;
  readonly #wakers = new Set<() => void>();

  constructor(channel: LedgerChannel) {
    this.#channel = channel;
    channel.listen(() => {
      for (const onWake of [...this.#wakers]) onWake();
    });
  }

  async append(events: readonly NewEvent[], options: AppendOptions = {}): Promise<readonly Appended[]> {
    // What is moved would have to come back with its turn; the next claim brings it anyway.
    const claimMs = events.some(isMoved) ? undefined : options.claimMs;
    const entered = await this.#channel.call('append', [events, claimMs]);
    return entered.map((entry, index) => appendedOf(events[index] as NewEvent, entry));
  }

  claim(max: number, leaseMs: number, keyPrefix = ''): Promise<readonly Turn[]> {
    return this.#channel.call('claim', [max, leaseMs, keyPrefix]);
  }

  renew(turns: readonly TurnRef[], leaseMs: number): Promise<readonly TurnRef[]> {
    // Whole turns may be given, which have bodies.
    const refs = turns.map(({ key, fence }) => ({ key, fence }));
    return this.#channel.call('renew', [refs, leaseMs]);
  }

  commit(results: readonly TurnResult[]): Promise<readonly Committed[]> {
    return this.#channel.call('commit', [results]);
  }

  lease(name: string, node: string, address: string, ttlMs: number): Promise<Lease | undefined> {
    return this.#channel.call('lease', [name, node, address, ttlMs]);
  }

  owner(name: string): Promise<Owner | undefined> {
    return this.#channel.call('owner', [name]);
  }

  tick(name: string, at: number, event: NewEvent): Promise<boolean> {
    return this.#channel.call('tick', [name, at, event]);
  }

  lastTick(name: string): Promise<number | undefined> {
    return this.#channel.call('lastTick', [name]);
  }

  forgetTicks(name: string, after?: number): Promise<void> {
    return this.#channel.call('forgetTicks', [name, after]);
  }

  put(space: string, key: string, value: string, options: PutOptions = {}): Promise<boolean> {
    return this.#channel.call('put', [space, key, value, options]);
  }

  get(space: string, key: string): Promise<Versioned | undefined> {
    return this.#channel.call('get', [space, key]);
  }

  delete(space: string, key: string): Promise<void> {
    return this.#channel.call('delete', [space, key]);
  }

  keys(space: string): Promise<readonly string[]> {
    return this.#channel.call('keys', [space]);
  }

  async deliveries(filter: DeliveryFilter): Promise<readonly Delivery[]> {
    return (await gatherDeliveries(filter, this.#part, Number.POSITIVE_INFINITY)).deliveries;
  }

  deliveryPage(filter: DeliveryFilter): Promise<DeliveryPage> {
    return gatherDeliveries(filter, this.#part);
  }

  delivery(
    id: string,
  ): Promise<(Delivery & { readonly meta: string; readonly body: Uint8Array }) | undefined> {
    return this.#channel.call('delivery', [id]);
  }

  requeue(id: string, options?: { readonly keepsJournal?: boolean }): Promise<boolean> {
    return this.#channel.call('requeue', [id, options]);
  }

  steps(id: string, after?: number): Promise<readonly Step[]> {
    return this.#channel.call('steps', [id, after]);
  }

  runs(filter: RunFilter): Promise<RunPage> {
    return gatherRuns(filter, (part) => this.#channel.call('runs', [part]));
  }

  run(id: string): Promise<Run | undefined> {
    return this.#channel.call('run', [id]);
  }

  approvals(filter: ApprovalFilter): Promise<readonly StoredApproval[]> {
    return this.#channel.call('approvals', [filter]);
  }

  approval(id: string): Promise<StoredApproval | undefined> {
    return this.#channel.call('approval', [id]);
  }

  decide(id: string, decision: NewDecision): Promise<DecidedApproval | undefined> {
    return this.#channel.call('decide', [id, decision]);
  }

  withReceipt(keyPrefix: string, receipt: string): Promise<string | undefined> {
    return this.#channel.call('withReceipt', [keyPrefix, receipt]);
  }

  undeliver(keyPrefix: string, messages: readonly Undelivered[]): Promise<readonly (string | undefined)[]> {
    return this.#channel.call('undeliver', [keyPrefix, messages]);
  }

  discard(id: string, note: string, effects?: Pick<TurnResult, 'emit' | 'cancelTimers'>): Promise<boolean> {
    return this.#channel.call('discard', [id, note, effects]);
  }

  release(heldBy: string, max?: number): Promise<number> {
    return this.#channel.call('release', [heldBy, max]);
  }

  holders(): Promise<readonly string[]> {
    return this.#channel.call('holders', []);
  }

  counts(): Promise<DeliveryCounts> {
    return this.#channel.call('counts', []);
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
      const part: Result<'sweepPart'> = await this.#channel.call('sweepPart', [afterSeq]);
      removed += part.removed;
      afterSeq = part.afterSeq;
    }
    return removed;
  }

  close(): Promise<void> {
    return this.#channel.close();
  }

  readonly #part = (filter: DeliveryFilter) => this.#channel.call('deliveryPage', [filter]);
}
