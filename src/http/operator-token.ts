// The operator token of a gateway that listens: taken from the state folder, whose lock the gateway holds by then.

import type { Gateway } from '../../actors/gateway/gateway.ts';
import { openOperatorToken } from '../../actors/state/operator-token.ts';
import { StateFolderError } from '../../actors/state/state-folder-access.ts';

/**
 * Returns the token; '' where an API key proves the operator, and where the disk has no room for the file: then nothing
 * proves it. Throws StateFolderError.
 */
export function operatorTokenOf({ config, log, redactor }: Gateway): string {
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
