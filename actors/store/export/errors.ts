// Errors of exports and imports. Their messages name the condition, never stored data.

import { GatewayError } from '../../base/errors/errors.ts';

/**
 * `store export` or `store import` was interrupted, or its store is in use, not empty, or missing. Nothing
 * was moved.
 *
 * @remedy Stop all gateways of the store. Export an existing store, and import into an empty one.
 */
export class TransferRefusedError extends GatewayError {
  readonly code = 'ERR_MOVE_REFUSED';
}

/**
 * The file is not a complete export, is of another version, or cannot be read or written; or a value in the
 * store is damaged.
 *
 * @remedy Follow the message: repeat the export to a writable path, import the complete file, or import it
 * with the version that wrote it.
 */
export class StoreFileError extends GatewayError {
  readonly code = 'ERR_STORE_FILE';
}
