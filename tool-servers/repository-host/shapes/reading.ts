// Pieces of the host's answers that many kinds share, read into what the tools give: short names instead of whole objects,
// and nothing where the host says null, so that an answer costs a model few tokens.

import { z } from 'zod';
import { keepPair } from '../text-page.ts';

/** A text the host may leave out. */
export const readText = z
  .string()
  .nullish()
  .transform((text) => text || undefined);

export const readNumber = z
  .number()
  .nullish()
  .transform((number) => number ?? undefined);

export const readFlag = z
  .boolean()
  .nullish()
  .transform((flag) => flag ?? undefined);

/** An id, which may be larger than numbers are exact. */
export const readId = z.union([z.number(), z.string().regex(/^\d+$/).transform(Number)]);

/** A list of at most so many entries: of more, each with a mistake of its own, the report would fill the memory. */
export function readList<Item extends z.ZodType>(item: Item, most = 1000) {
  return z.custom<unknown[]>((value) => Array.isArray(value) && value.length <= most).pipe(z.array(item));
}

/** An account, as its login; nobody where it was deleted. */
export const readLogin = z
  .object({ login: z.string() })
  .nullish()
  .transform((user) => user?.login);

export const readLogins = readList(z.object({ login: z.string() }))
  .nullish()
  .transform((users) => filled(users?.map(({ login }) => login)));

export const readLabels = readList(z.union([z.string(), z.object({ name: z.string().nullish() })]))
  .nullish()
  .transform((labels) =>
    filled(labels?.map((label) => (typeof label === 'string' ? label : (label.name ?? '')))),
  );

/** Its title is what people know it by, its number what tools take. */
export const milestoneShape = z.object({ number: z.number(), title: z.string() });

/** An array, or nothing where it is empty. */
export function filled<Each>(list: readonly Each[] | undefined): Each[] | undefined {
  return list === undefined || list.length === 0 ? undefined : [...list];
}

/** The beginning of a long text. */
export function excerpt(text: string | undefined, maxChars: number): string | undefined {
  return text === undefined || text.length <= maxChars ? text : `${text.slice(0, keepPair(text, maxChars))}…`;
}

/** The end of a long text. */
export function ending(text: string | undefined, maxChars: number): string | undefined {
  if (text === undefined || text.length <= maxChars) return text;
  const start = text.length - maxChars;
  return text.slice(keepPair(text, start) === start ? start : start + 1);
}
