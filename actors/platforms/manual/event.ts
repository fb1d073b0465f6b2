// Creates an event from a manual run, and reads the stored event. The API has already authorised the caller.

import type { ManualTrigger } from '../../../config/resources/triggers/trigger.ts';
import { ConflictError } from '../../base/errors/errors.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import type { ManualInput, ManualOrigin } from './input.ts';

interface ManualBody {
  readonly command: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly text: string;
  readonly user: string | undefined;
}

interface ManualMeta {
  readonly trigger: string;
  readonly principal: string;
}

/**
 * Creates the event for the run. Throws a ConflictError if the command is not allowed or the confirmation is
 * missing.
 */
export function manualEvent(
  trigger: ManualTrigger,
  run: ManualInput,
  { id, trace, session, principal }: ManualOrigin,
): NewEvent {
  const { name, config } = trigger;
  const command = run.command.trim().replace(/^\//, '');
  const [word = ''] = command.split(/\s/, 1);
  if (config.allowed_commands.length > 0 && !config.allowed_commands.includes(word))
    throw new ConflictError(
      `${name} does not run ${word === '' ? 'without a command' : JSON.stringify(word.slice(0, 64))}; ` +
        `allowed_commands are ${config.allowed_commands.join(', ')}`,
    );
  if (config.require_confirmation && !run.isConfirmed)
    throw new ConflictError(
      `${name} requires confirmation (require_confirmation), but the run is not confirmed`,
    );
  const body: ManualBody = { command, parameters: run.input, text: run.text, user: run.user };
  const meta: ManualMeta = { trigger: name, principal: principalText(principal) };
  return {
    id: `manual:${id}`,
    key: `conversation/manual/${name}${session === undefined ? '' : `/${session}`}`,
    meta: JSON.stringify(meta),
    body: Buffer.from(JSON.stringify(body)),
    trace,
  };
}

/** Parses a stored event. Throws if the payload does not match. */
export function readManualEvent(event: StoredEvent): InboundEvent {
  const { trigger } = JSON.parse(event.meta) as ManualMeta;
  const payload = JSON.parse(Buffer.from(event.body).toString('utf8')) as ManualBody;
  const { command, parameters, text, user } = payload;
  // The command precedes the text, as a person would type it.
  const fullText = [command, text].filter((each) => each !== '').join('\n');
  return {
    platform: 'manual',
    triggers: [trigger],
    names: [],
    // A flow may run without a text.
    text: fullText === '' && !trigger.startsWith('flow/') ? undefined : fullText,
    commandRest: command === '' ? undefined : command.replace(/^\S+\s*/, ''),
    channel: undefined,
    user,
    context: {},
    payload,
    parameters,
  };
}
