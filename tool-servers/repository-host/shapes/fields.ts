// Field schemas for host responses. They convert objects to names and null to undefined, which saves tokens
// in results.

import { z } from 'zod';
import { characterStart } from '../text-page.ts';

/** Optional text; empty text becomes undefined. */
export const optionalText = z
  .string()
  .nullish()
  .transform((text) => text || undefined);

export const optionalNumber = z
  .number()
  .nullish()
  .transform((number) => number ?? undefined);

export const optionalFlag = z
  .boolean()
  .nullish()
  .transform((flag) => flag ?? undefined);

/** Id. http-api.ts returns ids beyond the safe integer range as text. */
export const idField = z.union([z.number(), z.string().regex(/^\d+$/).transform(Number)]);

/**
 * Returns the schema of a list with at most `maxEntries` entries. Without this limit, the error details for
 * invalid entries could fill the memory.
 */
export function listOf<Item extends z.ZodType>(item: Item, maxEntries = 1000) {
  return z
    .custom<unknown[]>((value) => Array.isArray(value) && value.length <= maxEntries)
    .pipe(z.array(item));
}

/** Login; undefined for deleted accounts. */
export const optionalLogin = z
  .object({ login: z.string() })
  .nullish()
  .transform((user) => user?.login);

export const optionalLogins = listOf(z.object({ login: z.string() }))
  .nullish()
  .transform((users) => nonEmpty(users?.map(({ login }) => login)));

export const optionalLabels = listOf(z.union([z.string(), z.object({ name: z.string().nullish() })]))
  .nullish()
  .transform((labels) =>
    nonEmpty(labels?.map((label) => (typeof label === 'string' ? label : (label.name ?? '')))),
  );

/** Milestone with number (for tools) and title (for people). */
export const milestoneShape = z.object({ number: z.number(), title: z.string() });

/** Returns the list, or undefined if it is empty. */
export function nonEmpty<Each>(list: readonly Each[] | undefined): Each[] | undefined {
  return list === undefined || list.length === 0 ? undefined : [...list];
}

/** Truncates long text to its start. */
export function excerpt(text: string | undefined, maxChars: number): string | undefined {
  return text === undefined || text.length <= maxChars
    ? text
    : `${text.slice(0, characterStart(text, maxChars))}…`;
}

/** Truncates long text to its last `maxChars` characters. */
export function ending(text: string | undefined, maxChars: number): string | undefined {
  if (text === undefined || text.length <= maxChars) return text;
  const start = text.length - maxChars;
  return text.slice(characterStart(text, start) === start ? start : start + 1);
}
