// Reads the options for event handling that all triggers share: retries, timeout, notifications.

import { joinPath } from '../../reader/field-path.ts';
import { fillDefaults } from '../../reader/fill-defaults.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { optionsSchema, type WrittenTrigger } from './trigger-schema.ts';
import type { TriggerType } from './trigger-type.ts';

/** Returns the validated options with defaults, which depend on the type. */
export function readOptions(
  reader: SchemaReader,
  {
    enabled,
    retry: written,
    timeout_seconds,
    on_failure,
    mentions,
    welcome,
  }: NonNullable<WrittenTrigger['spec']>,
  { isChat = false, mentions: defaultMentions, welcome: welcomeOfType }: TriggerType,
) {
  // A type that does not support `welcome` or `mentions` has no value for it. The value for `welcome` is used
  // only for this check: the default message is chosen when a bot joins a conversation.
  if (welcomeOfType === undefined && reader.has('spec.welcome'))
    reader.reportKey(
      'spec.welcome',
      'has no effect for this type: its platform does not report new conversations; remove it',
    );
  if (defaultMentions === undefined && reader.has('spec.mentions'))
    reader.reportKey(
      'spec.mentions',
      'has no effect for this type: its answers cannot notify users; remove it',
    );
  const options = fillDefaults(optionsSchema, {
    enabled,
    retry: written,
    timeout_seconds,
    on_failure: on_failure ?? (isChat ? 'reply' : 'silent'),
    mentions: mentions ?? defaultMentions ?? 'none',
    welcome,
  });
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
