// Keeps this process within the host's limits, before the host has to refuse: searches are counted over the last minute,
// writes leave a second between them, and a bucket of which the host says that nothing is left stays closed until it opens.
//
// 1. Never more than `most` requests of a paced bucket begin within its window.
// 2. After a refusal for too much at once, nothing begins until the pause is over, whichever call was refused.
// 3. Only what begins is counted.

import { Pace } from '../../libs/rest/pace.ts';
import { type Limit, usedUpMs } from '../../libs/rest/rate-limit.ts';
import { freeAt, type SpanLimit, withOneMore } from '../../libs/rest/span-limit.ts';
import type { Bucket } from './bucket.ts';

/** A minute here is a little longer than one at the host, for the time a request takes on its way. */
const MINUTE_MS = 60_000 + 1_000;
const SECOND_MS = 1_000;

export interface Closed {
  readonly waitMs: number;
  readonly why: 'pace' | Limit['kind'];
}

type Search = 'search' | 'code_search';
/** As the host counts: what writes is a part of the rest. */
type HostBucket = Exclude<Bucket, 'write'>;

export class RateMeter {
  /** For what the host refuses because it came too fast, whichever bucket it was of. */
  readonly #all = new Pace(0);
  /** Held while nothing is left. */
  readonly #buckets: Readonly<Record<HostBucket, Pace>> = {
    core: new Pace(0),
    search: new Pace(0),
    code_search: new Pace(0),
  };
  readonly #writes = new Pace(SECOND_MS);
  /** The rest of the API has a limit by the hour, which the host tells. */
  readonly #limits: Readonly<Record<Search, SpanLimit>>;
  /** When the latest searches began, oldest first. */
  readonly #begun: Record<Search, readonly number[]> = { search: [], code_search: [] };

  constructor({ hasToken }: { readonly hasToken: boolean }) {
    this.#limits = {
      search: { most: hasToken ? 30 : 10, ms: MINUTE_MS },
      code_search: { most: 10, ms: MINUTE_MS },
    };
  }

  /** Why and how long a request of `bucket` has to wait; undefined when it may begin. */
  closed(bucket: Bucket): Closed | undefined {
    const pauses = [
      { why: 'secondary', waitMs: this.#all.waitMs },
      { why: 'primary', waitMs: this.#buckets[atHost(bucket)].waitMs },
      { why: 'pace', waitMs: this.#paceMs(bucket) },
    ] as const;
    return pauses.find(({ waitMs }) => waitMs > 0);
  }

  /** The same, asked just before a request is sent: one that may begin is counted. */
  begin(bucket: Bucket): Closed | undefined {
    const closed = this.closed(bucket);
    if (closed !== undefined) return closed;
    if (bucket === 'write') this.#writes.takeTurn();
    else if (isSearch(bucket))
      this.#begun[bucket] = withOneMore(this.#begun[bucket], performance.now(), this.#limits[bucket]);
    return undefined;
  }

  /** Notes what the headers of a response say is left. */
  learn(bucket: Bucket, headers: Headers): void {
    const waitMs = usedUpMs(headers);
    if (waitMs !== undefined) this.#buckets[atHost(bucket)].hold(waitMs);
  }

  /** Notes a refusal. */
  refused(bucket: Bucket, { kind, waitMs }: Limit): void {
    const pace = kind === 'primary' ? this.#buckets[atHost(bucket)] : this.#all;
    pace.hold(waitMs);
  }

  #paceMs(bucket: Bucket): number {
    if (bucket === 'write') return this.#writes.waitMs;
    if (!isSearch(bucket)) return 0;
    return freeAt(this.#begun[bucket], this.#limits[bucket]) - performance.now();
  }
}

const isSearch = (bucket: Bucket): bucket is Search => bucket === 'search' || bucket === 'code_search';

/** The bucket in which the host counts it. */
function atHost(bucket: Bucket): HostBucket {
  return bucket === 'write' ? 'core' : bucket;
}
