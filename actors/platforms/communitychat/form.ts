// The form that a press opens where it stands for a command that lacks a required parameter: what is filled in comes back as that
// command. It has to be the first answer to the press, so it is decided before anything is kept.
//
// CCF1  nothing is kept of a press that opens a form: whoever closes it has said nothing, and what is filled in is an interaction of
//      its own, for which filters are asked again.
// CCF2  where the platform would refuse the form there is none, and the press is answered with help like any other.

import type { Parameter } from '../../../config/resources/triggers/binding.ts';
import type { CommunityChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import { commandParameters } from '../../../machines/command-parameters.ts';
import { shortened } from '../../events/outbox/shortened-text.ts';
import { memberOf } from '../payloads/payload-member.ts';
import { saidIn } from './event.ts';
import { COMPONENT } from './interaction.ts';
import { matchNow } from './who-may.ts';

const FIELDS = 5;
const TITLE = 45;
const LABEL = 45;
const PLACEHOLDER = 100;
const VALUE = 4000;
/** Numbers of the platform. */
const ROW = 1;
const TEXT_INPUT = 4;
const SHORT = 1;
const PARAGRAPH = 2;

export interface Form {
  readonly custom_id: string;
  readonly title: string;
  readonly components: readonly object[];
}

/** Undefined where the interaction opens none. */
export function formFor(triggers: readonly CommunityChatTrigger[], payload: unknown): Form | undefined {
  if (memberOf(payload, 'type') !== COMPONENT) return undefined;
  const said = saidIn(payload);
  const binding = matchNow(triggers, said)?.binding;
  if (binding === undefined) return undefined;
  const { command, parameters, description = '' } = binding;
  const given = commandParameters(parameters, said.commandRest ?? '', said.parameters, command);
  if (!given.isMissing) return undefined;
  const { missing, values } = given;
  const asked = parameters.filter(({ name }) => missing.includes(name) || values[name] !== undefined);
  const isTooLong = ({ name }: Parameter) => (values[name] ?? '').length > VALUE;
  if (asked.length > FIELDS || asked.some(isTooLong)) return undefined;
  return {
    custom_id: command,
    title: shortened(description.trim() || `/${command}`, TITLE),
    components: asked.map((each) => ({
      type: ROW,
      components: [fieldOf(each, values[each.name], each === parameters.at(-1))],
    })),
  };
}

/** The last parameter of a command takes the rest of what is said. */
function fieldOf(
  { name, required, description = '' }: Parameter,
  value: string | undefined,
  isLast: boolean,
): object {
  const placeholder = shortened(description, PLACEHOLDER);
  return {
    type: TEXT_INPUT,
    custom_id: name,
    label: shortened(name, LABEL),
    style: isLast ? PARAGRAPH : SHORT,
    required,
    max_length: VALUE,
    ...(placeholder !== '' && { placeholder }),
    ...(value !== undefined && value !== '' && { value }),
  };
}
