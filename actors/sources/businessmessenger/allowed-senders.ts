// Whom a trigger of the business messenger answers: everybody, or those on its lists. Others hear nothing at all.

import type { BusinessMessengerTrigger } from '../../../config/resources/trigger.ts';

interface Lists {
  readonly numbers: ReadonlySet<string>;
  readonly users: ReadonlySet<string>;
}

const lists = new WeakMap<BusinessMessengerTrigger, Lists>();

/** With either list set whoever is on none of them is out. */
export function isAllowed(
  trigger: BusinessMessengerTrigger,
  number: string | undefined,
  userId: string | undefined,
): boolean {
  const { numbers, users } = listsOf(trigger);
  if (numbers.size === 0 && users.size === 0) return true;
  return (number !== undefined && numbers.has(number)) || (userId !== undefined && users.has(userId));
}

function listsOf(trigger: BusinessMessengerTrigger): Lists {
  let found = lists.get(trigger);
  if (found === undefined) {
    const { allowed_numbers, allowed_users } = trigger.config;
    found = { numbers: new Set(allowed_numbers), users: new Set(allowed_users) };
    lists.set(trigger, found);
  }
  return found;
}
