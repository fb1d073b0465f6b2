// Lists in pages, the same for every kind: the entries, and which page comes next if there is one.

import { z } from 'zod';
import { nextPageOf } from '../next-page.ts';
import { readList } from './reading.ts';

/** The host gives no more of any search. */
export const MAX_SEARCH_RESULTS = 1000;

const position = {
  page: z.number().describe('The page this is.'),
  has_more: z.boolean().describe('Whether there is another page.'),
  next_page: z.number().optional().describe('What to give as `page` for it.'),
};

export function pageShape<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), ...position });
}

export function searchPageShape<Item extends z.ZodType>(item: Item) {
  return z.object({
    total_count: z.number().describe(`How many were found; the host gives the first ${MAX_SEARCH_RESULTS}.`),
    is_incomplete: z.boolean().optional().describe('The host ran out of time; a narrower query finds more.'),
    items: z.array(item),
    ...position,
  });
}

/** What the host answers to a search. */
export function readSearch<Item extends z.ZodType>(item: Item) {
  return z.object({
    total_count: z.number(),
    incomplete_results: z.boolean().nullish(),
    items: readList(item),
  });
}

/** Where a page stands, by its answer's `Link` header. */
export function positionOf(link: string | undefined, page: number) {
  const next = nextPageOf(link, page);
  return { page, has_more: next !== undefined, ...(next !== undefined && { next_page: next }) };
}
