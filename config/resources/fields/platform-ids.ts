// Warns of names in lists that platforms compare by id only: a name would silently exclude every user. This
// is only a warning, since a platform may change its id format.

import type { Fields } from '../triggers/trigger-type.ts';

export interface IdForm {
  readonly pattern: RegExp;
  /** Description such as `a role, which is a number`. */
  readonly description: string;
}

/** Warns of the first item that is not an id, and therefore probably a name. */
export function warnOfNames(
  fields: Fields,
  key: string,
  items: readonly string[],
  { pattern, description }: IdForm,
): void {
  if (fields.isFaulty(key)) return;
  const index = items.findIndex((item) => !pattern.test(item));
  if (index === -1) return;
  fields.reportItem(
    key,
    index,
    `${JSON.stringify(items[index])} is not the id of ${description}; names are not supported`,
    'warning',
  );
}
