// Error for a damaged record in a store file or database.

/** A stored value that no version of the gateway writes. */
export class DamagedRecordError extends Error {
  override get name(): string {
    return 'DamagedRecordError';
  }
}
