// Combines the parts of a list. A part scans a limited number of records, because a long scan would delay
// appends.

import type { ApprovalFilter, StoredApproval } from './approval.ts';
import type { Delivery, DeliveryFilter, DeliveryPage } from './delivery.ts';
import type { Run, RunFilter, RunPage } from './run.ts';

/** Maximum length of a list or part. */
export const LIST_LIMIT = 1_000;
/** Number of records scanned per part. */
export const SCAN_LIMIT = 10_000;
/** Maximum number of parts per page: 200,000 records, which take some tenths of a second. */
const MAX_PAGE_PARTS = 20;

/** Size of the bodies on a page of approvals, in bytes; the last record may exceed it. */
export const APPROVAL_BYTES = 1_048_576;

/** Reads parts of the list until the page is full, no records remain, or `maxParts` is reached. */
export async function gatherDeliveries(
  filter: DeliveryFilter,
  readPart: (filter: DeliveryFilter) => Promise<DeliveryPage>,
  maxParts = MAX_PAGE_PARTS,
): Promise<DeliveryPage> {
  const deliveries: Delivery[] = [];
  const limit = Math.max(0, Math.min(LIST_LIMIT, Math.floor(filter.limit)));
  let beforeSeq: number | undefined = filter.beforeSeq ?? Number.MAX_SAFE_INTEGER;
  for (let count = 0; count < maxParts && deliveries.length < limit && beforeSeq !== undefined; count += 1) {
    const result: DeliveryPage = await readPart({ ...filter, beforeSeq, limit: limit - deliveries.length });
    deliveries.push(...result.deliveries);
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
  for (let count = 0; count < MAX_PAGE_PARTS && runs.length < limit && beforeSeq !== undefined; count += 1) {
    const result: RunPage = await readPart({ ...filter, beforeSeq, limit: limit - runs.length });
    runs.push(...result.runs);
    beforeSeq = result.beforeSeq;
  }
  return { runs, beforeSeq };
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
