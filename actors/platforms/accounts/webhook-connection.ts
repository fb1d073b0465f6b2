// The connection of an account whose events come to a webhook: nothing is connected, so it lasts until it is closed. What the platform
// is told of the account, and of who uses it, is told as of any other connection.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { OpenConnection } from '../connections/connector.ts';

export function webhookConnection<T extends Trigger>(
  onUsers: NonNullable<OpenConnection<T>['onUsers']>,
): OpenConnection<T> {
  let end = (): void => {};
  const closed = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { closed, close: async () => end(), onUsers };
}
