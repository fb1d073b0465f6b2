// Lists that a platform compares by ids alone: whoever writes a name there shuts everybody out, and nothing says why. A warning,
// since a platform may change the form of its ids before we do.

import type { Fields } from '../triggers/trigger-type.ts';

export interface IdForm {
  readonly pattern: RegExp;
  /** `a role, which is a number`. */
  readonly what: string;
}

/** Warns of the first item that cannot be an id. */
export function warnOfNames(
  fields: Fields,
  key: string,
  items: readonly string[],
  { pattern, what }: IdForm,
): void {
  if (fields.isFaulty(key)) return;
  const index = items.findIndex((item) => !pattern.test(item));
  if (index === -1) return;
  fields.reportItem(
    key,
    index,
    `${JSON.stringify(items[index])} has not the form of the id of ${what}; names are not known here`,
    'warning',
  );
}
