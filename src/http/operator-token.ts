// Opens the operator token for a listening gateway. The gateway already holds the lock of the state folder.

import type { Gateway } from '../../actors/gateway/gateway.ts';
import { openOperatorToken } from '../../actors/state/operator-token.ts';
import { StateFolderError } from '../../actors/state/state-folder-access.ts';

/** Returns the token; '' with an API key, or if the disk is full and operator requests are refused. Throws StateFolderError. */
export function operatorTokenOf({
  config,
  log,
  redactor,
}: Pick<Gateway, 'config' | 'log' | 'redactor'>): string {
  if (config.api_key !== '') return '';
  try {
    const { token, replaced } = openOperatorToken(config.state_dir);
    redactor.add(token);
    if (replaced !== undefined)
      log.warn(
        { reason: replaced },
        'replaced the file of the operator token; programs with the previous token are refused',
      );
    return token;
  } catch (error) {
    if (!(error instanceof StateFolderError && error.isFull)) throw error;
    const { message: reason } = error;
    log.warn(
      { reason },
      'there is no operator token, so operator requests are refused; free some space and restart, or set api_key',
    );
    return '';
  }
}
