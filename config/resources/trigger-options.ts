// What all triggers may say of how their events are handled: `enabled`, `retry`, `timeout_seconds`.

import { joinPath } from '../field-path.ts';
import { fillDefaults } from '../fill-defaults.ts';
import type { SchemaReader } from '../schema-reader.ts';
import { optionsSchema, type WrittenTrigger } from './trigger-schema.ts';

/** Filled and checked. */
export function readOptions(
  reader: SchemaReader,
  { enabled, retry: written, timeout_seconds }: NonNullable<WrittenTrigger['spec']>,
) {
  const options = fillDefaults(optionsSchema, { enabled, retry: written, timeout_seconds });
  const { retry } = options;
  const { min_backoff_seconds: min, max_backoff_seconds: max } = retry;
  if (min > max) {
    const key = reader.has('spec.retry.min_backoff_seconds') ? 'min_backoff_seconds' : 'max_backoff_seconds';
    reader.report(
      joinPath('spec.retry', key),
      `min_backoff_seconds (${min}) must not exceed max_backoff_seconds (${max})`,
    );
  }
  return options;
}
