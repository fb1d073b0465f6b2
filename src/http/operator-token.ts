// Reads or creates the operator token. The caller already holds the lock of the state folder.

import type { GatewayRuntime } from '../../actors/gateway/gateway.ts';
import { StateFolderError } from '../../actors/state/folder-access.ts';
import { openOperatorToken } from '../../actors/state/operator-token.ts';

/** Returns the token; '' if an API key is set or the disk is full. Throws StateFolderError. */
export function operatorTokenOf({
  config,
  log,
  alarms,
  redactor,
}: Pick<GatewayRuntime, 'config' | 'log' | 'alarms' | 'redactor'>): string {
  if (config.api_key !== '') return '';
  try {
    const { token, replaced } = openOperatorToken(config.state_dir);
    redactor.add(token);
    if (replaced !== undefined)
      log.warn(
        { reason: replaced },
        'replaced the operator token file; programs with the previous token are refused',
      );
    return token;
  } catch (error) {
    if (!(error instanceof StateFolderError && error.isFull)) throw error;
    // The message of StateFolderError ends with a remedy, for example to free disk space.
    alarms.raise(
      'operator_token_missing',
      `operator requests are refused, because no token could be written: ${error.message}, and restart; or set api_key`,
    );
    return '';
  }
}
