// Lists of the store are read in parts, each of a bounded number of records, so that no list holds up the events that come. Here is how
// parts become what was asked for, in either engine.

import type { Delivery, DeliveryFilter, DeliveryPage } from './delivery.ts';
import type { Run, RunFilter, RunPage } from './run.ts';

/** The most that one list, or one part, gives. */
export const LIST_LIMIT = 1_000;
/** Records looked at for one part. */
export const LOOKED_AT = 10_000;
/** Of one page: 200,000 records are looked at, which takes some tenths of a second. */
const PARTS_OF_PAGE = 20;

/** Asks for so many parts at most, until there is enough or nothing more. */
export async function gatherDeliveries(
  filter: DeliveryFilter,
  part: (filter: DeliveryFilter) => Promise<DeliveryPage>,
  maxParts = PARTS_OF_PAGE,
): Promise<DeliveryPage> {
  const deliveries: Delivery[] = [];
  const limit = Math.max(0, Math.min(LIST_LIMIT, Math.floor(filter.limit)));
  let beforeSeq: number | undefined = filter.beforeSeq ?? Number.MAX_SAFE_INTEGER;
  for (let count = 0; count < maxParts && deliveries.length < limit && beforeSeq !== undefined; count += 1) {
    const page: DeliveryPage = await part({ ...filter, beforeSeq, limit: limit - deliveries.length });
    deliveries.push(...page.deliveries);
    beforeSeq = page.beforeSeq;
  }
  return { deliveries, beforeSeq };
}

export async function gatherRuns(
  filter: RunFilter,
  part: (filter: RunFilter) => Promise<RunPage>,
): Promise<RunPage> {
  const runs: Run[] = [];
  const limit = limitOfPart(filter);
  let beforeSeq: number | undefined = filter.beforeSeq ?? Number.MAX_SAFE_INTEGER;
  for (let count = 0; count < PARTS_OF_PAGE && runs.length < limit && beforeSeq !== undefined; count += 1) {
    const page: RunPage = await part({ ...filter, beforeSeq, limit: limit - runs.length });
    runs.push(...page.runs);
    beforeSeq = page.beforeSeq;
  }
  return { runs, beforeSeq };
}

export function limitOfPart({ limit }: { readonly limit: number }): number {
  return Math.max(1, Math.min(LIST_LIMIT, Math.floor(limit)));
}
