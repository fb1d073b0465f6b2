// Connection of an account that receives its events by webhook. It has no socket and stays open until it is
// closed. Its only purpose is `onUsers`: the platform is updated when triggers join or leave the account.

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
