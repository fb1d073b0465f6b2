// Warns of names in a trigger's list of ids, such as a list of roles. The platform sends only ids, so a name
// would never match. This is only a warning, because a platform may change the format of its ids.

import type { Fields } from '../triggers/trigger-type.ts';

/** Format of an id. */
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
  // A list with an error is reported already.
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
