// A run of a trigger by hand: what may be run, and the event it becomes. Who may ask at all the API has found out before.

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
 * The event of one run. Throws ConflictError for a command that is not allowed, and for a run that needs to be confirmed and
 * is not.
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
      `${name} asks for confirmation (require_confirmation), and the run is not confirmed`,
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

/** Throws for an event that is none of these. */
export function readManualEvent(event: StoredEvent): InboundEvent {
  const { trigger } = JSON.parse(event.meta) as ManualMeta;
  const payload = JSON.parse(Buffer.from(event.body).toString('utf8')) as ManualBody;
  const { command, parameters, text, user } = payload;
  // The command stands where a person would write it, with its parameters behind it.
  const words = [command, text].filter((each) => each !== '').join('\n');
  return {
    platform: 'manual',
    triggers: [trigger],
    names: [],
    // A flow may be asked without a word, and then there is none.
    text: words === '' && !trigger.startsWith('flow/') ? undefined : words,
    commandRest: command === '' ? undefined : command.replace(/^\S+\s*/, ''),
    channel: undefined,
    user,
    context: {},
    payload,
    parameters,
  };
}
