// What a record of the store is found to be when it is read and no version of this program wrote it so.

/** Something in the file is not as any version wrote it. */
export class DamagedRecordError extends Error {
  override get name(): string {
    return 'DamagedRecordError';
  }
}
