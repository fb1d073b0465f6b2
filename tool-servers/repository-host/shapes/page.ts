// Paged lists: the entries, and the number of the next page.

import { z } from 'zod';
import { nextPageOf } from '../next-page.ts';
import { listOf } from './fields.ts';

/** Maximum number of results that the host returns per search. */
export const MAX_SEARCH_RESULTS = 1000;

const position = {
  page: z.number().describe('Number of this page.'),
  has_more: z.boolean().describe('True if there is another page.'),
  next_page: z.number().optional().describe('Value of `page` for the next page.'),
};

export function pageShape<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), ...position });
}

export function searchPageShape<Item extends z.ZodType>(item: Item) {
  return z.object({
    total_count: z.number().describe(`Number of matches; the host returns the first ${MAX_SEARCH_RESULTS}.`),
    is_incomplete: z
      .boolean()
      .optional()
      .describe('True if the search timed out at the host; a narrower query finds more.'),
    items: z.array(item),
    ...position,
  });
}

/** Search response of the host. */
export function searchResponseOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    total_count: z.number(),
    incomplete_results: z.boolean().nullish(),
    items: listOf(item),
  });
}

/** Returns the page position from the `Link` header. */
export function positionOf(link: string | undefined, page: number) {
  const next = nextPageOf(link, page);
  return { page, has_more: next !== undefined, ...(next !== undefined && { next_page: next }) };
}
