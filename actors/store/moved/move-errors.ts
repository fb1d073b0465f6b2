// Why nothing was moved. The messages name the condition, never what was to be moved.

import { GatewayError } from '../../base/errors/errors.ts';

/** The store is in use, has something in it already, or is not there. */
export class MoveRefusedError extends GatewayError {
  readonly code = 'ERR_MOVE_REFUSED';
}

/** The file is not what an export has written, or not all of it. */
export class StoreFileError extends GatewayError {
  readonly code = 'ERR_STORE_FILE';
}
