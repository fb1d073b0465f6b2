// Cluster-wide counters ("tallies"): each node publishes its counters with its membership, and the store has
// the counters of stopped processes. Each process is counted once: a member by its published values, a
// stopped process by the stored values. Conflicting store updates are retried. Storage is bounded: the last
// processes are stored separately, earlier processes as a sum.

import type { AgentCounts } from '../../agents/runs/agent-counters.ts';
import { within } from '../../base/time/within.ts';
import type { ClusterMembership, Member } from '../../store/membership.ts';
import type { Store } from '../../store/store.ts';
import type { TriggerCounts } from '../triggers/counters.ts';
import {
  noTallies,
  type PublishedTallies,
  publishTallies,
  readTallies,
  sumOf,
  sumOfTarget,
  sumOfTrigger,
  type Tallies,
} from './tallies.ts';

export interface ClusterTalliesOptions {
  readonly membership: Pick<ClusterMembership, 'watch' | 'publish' | 'publishNow'>;
  readonly store: Pick<Store, 'get' | 'put'>;
  /** Instance id of this process. */
  readonly instance: string;
  own(): Tallies;
  /** Returns a number that increases with each change of the counters. */
  revision(): number;
  redact(text: string): string;
}

/** A process's counters; the greater revision is newer. */
interface ProcessTallies {
  readonly revision: number;
  readonly tallies: PublishedTallies;
}

interface StoredTallies {
  /** Sum of processes that stopped long ago. */
  readonly sum: PublishedTallies;
  /** Last stopped processes, oldest first. */
  readonly processes: readonly (readonly [instance: string, counted: ProcessTallies])[];
}

/** Key space and key of the stored counters. */
const SPACE = 'tallies';
const KEY = 'ended';
/** Number of stopped processes that are stored separately, not in the sum. */
const MAX_PROCESSES = 8;
const MAX_TRIES = 8;
const END_MS = 1_000;
const NONE: StoredTallies = { sum: { triggers: {}, targets: {} }, processes: [] };

export class ClusterTallies {
  readonly #options: ClusterTalliesOptions;
  readonly #unwatch: () => void;
  #publishedRevision = -1;
  /** Counters that the other members publish, by instance id. */
  #liveProcesses: ReadonlyMap<string, ProcessTallies> = new Map();
  #stored: StoredTallies = NONE;
  /** Processes that are no longer members and may not be stored yet. */
  readonly #stoppedProcesses = new Map<string, ProcessTallies>();
  #storing: Promise<void> | undefined;
  /** Sum of all other processes' counters. */
  #others: Tallies = noTallies;

  constructor(options: ClusterTalliesOptions) {
    this.#options = options;
    this.#unwatch = options.membership.watch({ onMembers: (members) => this.#onMembers(members) });
    this.#store();
  }

  /** Returns the cluster-wide count. */
  sumOfTrigger(name: string, own: TriggerCounts): TriggerCounts {
    return sumOfTrigger(this.#others.triggers.get(name), own);
  }

  /** Returns the cluster-wide count. */
  sumOfTarget(target: string, own: AgentCounts): AgentCounts {
    return sumOfTarget(this.#others.targets.get(target), own);
  }

  /**
   * Stores the final counters of this process; must be called last. Never rejects, and takes up to one
   * second.
   */
  async end(): Promise<void> {
    this.#publish();
    await within(END_MS, this.#storeOwn());
    this.#unwatch();
  }

  async #storeOwn(): Promise<void> {
    await this.#storing;
    this.#stoppedProcesses.set(this.#options.instance, stoppedProcess(this.#own()));
    this.#store();
    await this.#storing;
  }

  #own(): ProcessTallies {
    const { own, revision, redact } = this.#options;
    return { revision: revision(), tallies: publishTallies(own(), redact) };
  }

  #publish(): void {
    const { membership, revision } = this.#options;
    if (revision() === this.#publishedRevision) return;
    this.#publishedRevision = revision();
    membership.publish('tallies', this.#own());
  }

  #onMembers(members: readonly Member[]): void {
    this.#publish();
    const live = new Map<string, ProcessTallies>();
    for (const { about } of members) {
      const { instance, tallies } = about;
      if (typeof instance !== 'string' || instance === this.#options.instance) continue;
      live.set(instance, readProcess(tallies));
    }
    for (const [instance, entry] of this.#liveProcesses)
      if (!live.has(instance)) this.#stoppedProcesses.set(instance, stoppedProcess(entry));
    this.#liveProcesses = live;
    // Reads even if unchanged: the store contains processes that stopped before this one started.
    this.#store();
    this.#recompute();
  }

  #recompute(): void {
    const byInstance = new Map(this.#stored.processes);
    for (const [instance, newer] of this.#stoppedProcesses)
      if (isNewer(newer, byInstance.get(instance))) byInstance.set(instance, newer);
    for (const [instance, entry] of this.#liveProcesses) byInstance.set(instance, entry);
    byInstance.delete(this.#options.instance);
    const all = [...byInstance.values()].map(({ tallies }) => tallies);
    this.#others = sumOf([this.#stored.sum, ...all].map(readTallies));
  }

  /** Starts to write the stopped processes. A failed write is repeated with the next member list. */
  #store(): void {
    this.#storing ??= this.#write()
      .catch(() => {})
      .finally(() => {
        this.#storing = undefined;
      });
  }

  async #write(): Promise<void> {
    const { store } = this.#options;
    for (let attempt = 0; attempt < MAX_TRIES; attempt += 1) {
      const row = await store.get(SPACE, KEY);
      const stored = row === undefined ? NONE : (JSON.parse(row.value) as StoredTallies);
      const stoppedEntries = new Map(this.#stoppedProcesses);
      const next = withStopped(stored, stoppedEntries, (instance) => this.#liveProcesses.has(instance));
      const isWritten =
        next === stored ||
        (await store.put(
          SPACE,
          KEY,
          JSON.stringify(next),
          row === undefined ? { ifAbsent: true } : { ifVersion: row.version },
        ));
      if (!isWritten) continue;
      this.#stored = next;
      for (const [instance, entry] of stoppedEntries)
        if (this.#stoppedProcesses.get(instance) === entry) this.#stoppedProcesses.delete(instance);
      this.#recompute();
      return;
    }
  }
}

/** Adds stopped processes. Returns `previous` itself if no value is new. */
function withStopped(
  previous: StoredTallies,
  stoppedEntries: ReadonlyMap<string, ProcessTallies>,
  isLive: (instance: string) => boolean,
): StoredTallies {
  const stored = new Map(previous.processes);
  const fresh = [...stoppedEntries].filter(([instance, entry]) => isNewer(entry, stored.get(instance)));
  if (fresh.length === 0) return previous;
  const remaining = previous.processes.filter(([instance]) => !fresh.some(([each]) => each === instance));
  const processes = [...remaining, ...fresh];
  // A process that is a member again is counted by its published values, so it is not added to the sum.
  const old = processes
    .filter(([instance]) => !isLive(instance))
    .slice(0, Math.max(0, processes.length - MAX_PROCESSES));
  const sums = [previous.sum, ...old.map(([, { tallies }]) => tallies)].map(readTallies);
  return {
    sum: old.length === 0 ? previous.sum : publishTallies(sumOf(sums), (text) => text),
    processes: processes.filter((each) => !old.includes(each)),
  };
}

function isNewer(one: ProcessTallies, other: ProcessTallies | undefined): boolean {
  return other === undefined || one.revision > other.revision;
}

/** Returns a stopped process's counters, with no running attempts. */
function stoppedProcess({ revision, tallies }: ProcessTallies): ProcessTallies {
  const { triggers, targets } = readTallies(tallies);
  const stoppedEntries = new Map([...targets].map(([name, counts]) => [name, { ...counts, running: 0 }]));
  return { revision, tallies: publishTallies({ triggers, targets: stoppedEntries }, (text) => text) };
}

function readProcess(value: unknown): ProcessTallies {
  const { revision, tallies } = (value ?? {}) as Partial<ProcessTallies>;
  return {
    revision: typeof revision === 'number' ? revision : 0,
    tallies: typeof tallies === 'object' && tallies !== null ? tallies : NONE.sum,
  };
}
