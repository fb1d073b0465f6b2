// The tallies of all nodes of a cluster together, as whoever is asked knows them: each node tells its own with its membership, and what one
// that has ended had counted is kept in the store.
//
// CTY1  a process counts once: by what it tells while it is a member, else by what was kept of it; one that was given up and comes back
//       by what it tells again.
// CTY2  what was kept of several nodes at the same moment is all there: a row that another has changed meanwhile is read again.
// CTY3  what is kept is bounded: of the last processes apart, of those before them the sum.

import type { AgentCounts } from '../../agents/runs/agent-counters.ts';
import type { ClusterMembership, Member } from '../../store/membership.ts';
import type { Store } from '../../store/store.ts';
import type { TriggerCounts } from '../triggers/trigger-counters.ts';
import {
  noTallies,
  readTallies,
  sumOf,
  sumOfTarget,
  sumOfTrigger,
  type Tallies,
  type ToldTallies,
  toldTallies,
} from './tallies.ts';

export interface ClusterTalliesOptions {
  readonly membership: Pick<ClusterMembership, 'watch' | 'tell' | 'tellNow'>;
  readonly store: Pick<Store, 'get' | 'put'>;
  /** Of this process. */
  readonly instance: string;
  own(): Tallies;
  /** Grows with each change of them. */
  revision(): number;
  redact(text: string): string;
}

/** Of one process; what has the greater revision is newer. */
interface OfProcess {
  readonly revision: number;
  readonly tallies: ToldTallies;
}

interface Kept {
  /** Of processes that ended long ago. */
  readonly sum: ToldTallies;
  /** The last that have ended, the oldest first. */
  readonly processes: readonly (readonly [instance: string, counted: OfProcess])[];
}

const SPACE = 'tallies';
const KEY = 'ended';
const MAX_PROCESSES = 8;
const MAX_TRIES = 8;
const END_MS = 1_000;
const NONE: Kept = { sum: { triggers: {}, targets: {} }, processes: [] };

export class ClusterTallies {
  readonly #options: ClusterTalliesOptions;
  readonly #unwatch: () => void;
  #told = -1;
  #live: ReadonlyMap<string, OfProcess> = new Map();
  #kept: Kept = NONE;
  /** Of processes that are not members any more; the store may not have it yet. */
  readonly #ended = new Map<string, OfProcess>();
  #keeping: Promise<void> | undefined;
  #others: Tallies = noTallies;

  constructor(options: ClusterTalliesOptions) {
    this.#options = options;
    this.#unwatch = options.membership.watch({ onMembers: (members) => this.#onMembers(members) });
    this.#keep();
  }

  /** Returns the count of all processes. */
  sumOfTrigger(name: string, own: TriggerCounts): TriggerCounts {
    return sumOfTrigger(this.#others.triggers.get(name), own);
  }

  /** Returns the count of all processes. */
  sumOfTarget(whom: string, own: AgentCounts): AgentCounts {
    return sumOfTarget(this.#others.targets.get(whom), own);
  }

  /** What this process has counted is kept; to be called when it counts no more. Does not reject, and takes a second at most. */
  async end(): Promise<void> {
    this.#tell();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, END_MS);
    });
    await Promise.race([this.#keepOwn(), late]);
    clearTimeout(timer);
    this.#unwatch();
  }

  async #keepOwn(): Promise<void> {
    await this.#keeping;
    this.#ended.set(this.#options.instance, endedProcess(this.#own()));
    this.#keep();
    await this.#keeping;
  }

  #own(): OfProcess {
    const { own, revision, redact } = this.#options;
    return { revision: revision(), tallies: toldTallies(own(), redact) };
  }

  #tell(): void {
    const { membership, revision } = this.#options;
    if (revision() === this.#told) return;
    this.#told = revision();
    membership.tell('tallies', this.#own());
  }

  #onMembers(members: readonly Member[]): void {
    this.#tell();
    const live = new Map<string, OfProcess>();
    for (const { about } of members) {
      const { instance, tallies } = about;
      if (typeof instance !== 'string' || instance === this.#options.instance) continue;
      live.set(instance, readProcess(tallies));
    }
    for (const [instance, counted] of this.#live)
      if (!live.has(instance)) this.#ended.set(instance, endedProcess(counted));
    this.#live = live;
    // Read even where there is nothing to write: another node may have seen the end of one that was over before this one began.
    this.#keep();
    this.#add();
  }

  #add(): void {
    const counted = new Map(this.#kept.processes);
    for (const [instance, newer] of this.#ended)
      if (isNewer(newer, counted.get(instance))) counted.set(instance, newer);
    for (const [instance, told] of this.#live) counted.set(instance, told);
    counted.delete(this.#options.instance);
    const all = [...counted.values()].map(({ tallies }) => tallies);
    this.#others = sumOf([this.#kept.sum, ...all].map(readTallies));
  }

  /** What has failed is tried again with the next reading of the members. */
  #keep(): void {
    this.#keeping ??= this.#write()
      .catch(() => {})
      .finally(() => {
        this.#keeping = undefined;
      });
  }

  async #write(): Promise<void> {
    const { store } = this.#options;
    for (let attempt = 0; attempt < MAX_TRIES; attempt += 1) {
      const row = await store.get(SPACE, KEY);
      const known = row === undefined ? NONE : (JSON.parse(row.value) as Kept);
      const ended = new Map(this.#ended);
      const next = withEnded(known, ended, (instance) => this.#live.has(instance));
      const isWritten =
        next === known ||
        (await store.put(
          SPACE,
          KEY,
          JSON.stringify(next),
          row === undefined ? { ifAbsent: true } : { ifVersion: row.version },
        ));
      if (!isWritten) continue;
      this.#kept = next;
      for (const [instance, counted] of ended)
        if (this.#ended.get(instance) === counted) this.#ended.delete(instance);
      this.#add();
      return;
    }
  }
}

/** The same where there is nothing new. */
function withEnded(
  kept: Kept,
  ended: ReadonlyMap<string, OfProcess>,
  isLive: (instance: string) => boolean,
): Kept {
  const known = new Map(kept.processes);
  const fresh = [...ended].filter(([instance, counted]) => isNewer(counted, known.get(instance)));
  if (fresh.length === 0) return kept;
  const left = kept.processes.filter(([instance]) => !fresh.some(([each]) => each === instance));
  const processes = [...left, ...fresh];
  // One that has come back counts by what it tells, and not in the sum.
  const old = processes
    .filter(([instance]) => !isLive(instance))
    .slice(0, Math.max(0, processes.length - MAX_PROCESSES));
  const sums = [kept.sum, ...old.map(([, { tallies }]) => tallies)].map(readTallies);
  return {
    sum: old.length === 0 ? kept.sum : toldTallies(sumOf(sums), (text) => text),
    processes: processes.filter((each) => !old.includes(each)),
  };
}

function isNewer(one: OfProcess, other: OfProcess | undefined): boolean {
  return other === undefined || one.revision > other.revision;
}

/** Nothing runs in it any more. */
function endedProcess({ revision, tallies }: OfProcess): OfProcess {
  const { triggers, targets } = readTallies(tallies);
  const ended = new Map([...targets].map(([name, counts]) => [name, { ...counts, running: 0 }]));
  return { revision, tallies: toldTallies({ triggers, targets: ended }, (text) => text) };
}

function readProcess(told: unknown): OfProcess {
  const { revision, tallies } = (told ?? {}) as Partial<OfProcess>;
  return {
    revision: typeof revision === 'number' ? revision : 0,
    tallies: typeof tallies === 'object' && tallies !== null ? tallies : NONE.sum,
  };
}
