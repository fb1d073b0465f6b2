// Combines the parts of a list. A part scans a limited number of records, because a long scan would delay
// appends, and has a limited number of them, so that a page ends soon after its limit in bytes.

import type { ApprovalFilter, StoredApproval } from './approval.ts';
import type { Delivery, DeliveryFilter, DeliveryPage } from './delivery.ts';
import type { Run, RunFilter, RunPage } from './run.ts';

/** Maximum length of a list or part. */
export const LIST_LIMIT = 1_000;
/** Number of records scanned per part. */
export const SCAN_LIMIT = 10_000;
/** Maximum number of parts per page: 200,000 records, which take some tenths of a second. */
const MAX_PAGE_PARTS = 20;
/** Maximum number of records per part of a page. */
const PART_RECORDS = 100;
/** Size of the texts after which a page of deliveries or runs ends, in bytes. */
const PAGE_BYTES = 1_048_576;

/** Size of the bodies on a page of approvals, in bytes; the last record may exceed it. */
export const APPROVAL_BYTES = 1_048_576;

/** Returns all deliveries up to the limit of the filter. */
export async function gatherDeliveries(
  filter: DeliveryFilter,
  readPart: (filter: DeliveryFilter) => Promise<DeliveryPage>,
): Promise<readonly Delivery[]> {
  const deliveries: Delivery[] = [];
  const limit = Math.max(0, Math.min(LIST_LIMIT, Math.floor(filter.limit)));
  let beforeSeq: number | undefined = filter.beforeSeq ?? Number.MAX_SAFE_INTEGER;
  while (deliveries.length < limit && beforeSeq !== undefined) {
    const result: DeliveryPage = await readPart({ ...filter, beforeSeq, limit: limit - deliveries.length });
    deliveries.push(...result.deliveries);
    beforeSeq = result.beforeSeq;
  }
  return deliveries;
}

/** Reads parts of the list until the page is full, or no records remain. */
export async function gatherDeliveryPage(
  filter: DeliveryFilter,
  readPart: (filter: DeliveryFilter) => Promise<DeliveryPage>,
): Promise<DeliveryPage> {
  const deliveries: Delivery[] = [];
  const limit = Math.max(0, Math.min(LIST_LIMIT, Math.floor(filter.limit)));
  let beforeSeq: number | undefined = filter.beforeSeq ?? Number.MAX_SAFE_INTEGER;
  const page = new PageSize(limit);
  while (page.hasSpace && beforeSeq !== undefined) {
    const result: DeliveryPage = await readPart({ ...filter, beforeSeq, limit: page.partLimit });
    deliveries.push(...result.deliveries);
    page.add(result.deliveries);
    beforeSeq = result.beforeSeq;
  }
  return { deliveries, beforeSeq };
}

export async function gatherRuns(
  filter: RunFilter,
  readPart: (filter: RunFilter) => Promise<RunPage>,
): Promise<RunPage> {
  const runs: Run[] = [];
  const limit = boundedLimit(filter);
  let beforeSeq: number | undefined = filter.beforeSeq ?? Number.MAX_SAFE_INTEGER;
  const page = new PageSize(limit);
  while (page.hasSpace && beforeSeq !== undefined) {
    const result: RunPage = await readPart({ ...filter, beforeSeq, limit: page.partLimit });
    runs.push(...result.runs);
    page.add(result.runs.map(({ delivery }) => delivery));
    beforeSeq = result.beforeSeq;
  }
  return { runs, beforeSeq };
}

/** Counts the records, bytes and parts of a page. */
class PageSize {
  #recordsLeft: number;
  #bytesLeft = PAGE_BYTES;
  #partsLeft = MAX_PAGE_PARTS;

  constructor(records: number) {
    this.#recordsLeft = records;
  }

  get hasSpace(): boolean {
    return this.#recordsLeft > 0 && this.#bytesLeft > 0 && this.#partsLeft > 0;
  }

  get partLimit(): number {
    return Math.min(PART_RECORDS, this.#recordsLeft);
  }

  /** Adds a part. */
  add(deliveries: readonly Delivery[]): void {
    this.#recordsLeft -= deliveries.length;
    this.#partsLeft -= 1;
    for (const { id, key, note = '', failures } of deliveries) {
      const texts = [id, key, note, ...failures.map((failure) => failure.note)];
      for (const text of texts) this.#bytesLeft -= Buffer.byteLength(text);
    }
  }
}

/** Returns the requested limit of a page or part, between 1 and LIST_LIMIT. */
export function boundedLimit({ limit }: { readonly limit: number }): number {
  return Math.max(1, Math.min(LIST_LIMIT, Math.floor(limit)));
}

/** Returns the first approvals up to the limits of a page. */
export function approvalPage(
  approvals: readonly StoredApproval[],
  filter: Pick<ApprovalFilter, 'limit'>,
): readonly StoredApproval[] {
  let bytes = 0;
  const end = approvals.findIndex(({ body }) => {
    const isFull = bytes >= APPROVAL_BYTES;
    bytes += Buffer.byteLength(body);
    return isFull;
  });
  return approvals.slice(0, Math.min(boundedLimit(filter), end === -1 ? approvals.length : end));
}

/** Returns the position of the next page of approvals; undefined for the last page. */
export function nextApprovals(
  page: readonly StoredApproval[],
  filter: Pick<ApprovalFilter, 'limit'>,
): ApprovalFilter['before'] {
  const bytes = page.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
  const isLast = page.length < boundedLimit(filter) && bytes < APPROVAL_BYTES;
  const last = page.at(-1);
  return last === undefined || isLast ? undefined : { askedAt: last.askedAt, id: last.id };
}

/** Returns up to `limit` approvals, which may be on several pages. Rejects as the store does. */
export async function gatherApprovals(
  filter: ApprovalFilter,
  readPage: (filter: ApprovalFilter) => Promise<readonly StoredApproval[]>,
): Promise<readonly StoredApproval[]> {
  const approvals: StoredApproval[] = [];
  let next: ApprovalFilter | undefined = filter;
  while (next !== undefined) {
    const page = await readPage(next);
    approvals.push(...page);
    const before = nextApprovals(page, next);
    const limit = filter.limit - approvals.length;
    next = before === undefined || limit <= 0 ? undefined : { ...filter, before, limit };
  }
  return approvals;
}
