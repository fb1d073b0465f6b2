// Warns of different credentials for the same platform account, for example after an incomplete rotation. The
// triggers of an account share a rate limit and a connection, which uses the credential loaded last. The
// behaviour would depend on the order of files.

import type { TriggerWithReader } from '../triggers/trigger-type.ts';

/** Compares the credential `field` of enabled triggers with the same account. */
export function warnOfTwoCredentials<Config>(
  all: readonly TriggerWithReader<Config>[],
  field: keyof Config & string,
  accountOf: (config: Config) => string,
): void {
  /** First trigger of each account. */
  const first = new Map<string, TriggerWithReader<Config>['trigger']>();
  for (const { reader, trigger } of all) {
    if (!trigger.enabled) continue;
    const account = accountOf(trigger.config);
    const earlier = first.get(account) ?? trigger;
    first.set(account, earlier);
    if (earlier.config[field] === trigger.config[field]) continue;
    const path = `spec.config.${field}`;
    reader.report(
      reader.has(path) ? path : 'spec.config',
      `trigger ${earlier.name} uses another ${field} for the same account; use the same valid value in both`,
      'warning',
    );
  }
}
