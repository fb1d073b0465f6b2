// An account of a platform has one credential here: all its triggers send at one pace and share one connection, which is made
// with the credential of the trigger that was loaded last. With two of them, of a rotation that was forgotten in one file, say, what
// a trigger does depends on the order of files.

import type { ReadOfType } from '../triggers/trigger-type.ts';

/** Warns of triggers that are on and have another `field` than an earlier one of the same account. */
export function warnOfTwoCredentials<Config>(
  all: readonly ReadOfType<Config>[],
  field: keyof Config & string,
  accountOf: (config: Config) => string,
): void {
  const first = new Map<string, ReadOfType<Config>['trigger']>();
  for (const { reader, trigger } of all) {
    if (!trigger.enabled) continue;
    const account = accountOf(trigger.config);
    const earlier = first.get(account) ?? trigger;
    first.set(account, earlier);
    if (earlier.config[field] === trigger.config[field]) continue;
    const path = `spec.config.${field}`;
    reader.report(
      reader.has(path) ? path : 'spec.config',
      `trigger ${earlier.name} is for the same account with another ${field}; an account has one, so give both the one that is valid`,
      'warning',
    );
  }
}
