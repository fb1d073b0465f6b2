// Renders the form (modal) for a button press whose id is a command that lacks a required parameter.
// Submitting the form sends that command. The form must be the first response to the press.
//
// A press that opens a form is not stored; the submission is a new interaction and passes the filters again.
// If the platform would refuse the form, the reply to the press is the command's usage.

import type { Parameter } from '../../../config/resources/triggers/binding.ts';
import type { CommunityChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import { commandParameters } from '../../../machines/command-parameters.ts';
import { shorten } from '../../events/outbox/shorten.ts';
import { memberOf } from '../payloads/payload-member.ts';
import { findMatch } from './access-filter.ts';
import { contentIn } from './event.ts';
import { COMPONENT } from './interaction.ts';

const MAX_FIELDS = 5;
const MAX_TITLE = 45;
const MAX_LABEL = 45;
const MAX_PLACEHOLDER = 100;
const MAX_VALUE = 4000;
/** Component types and styles of the platform. */
const ROW = 1;
const TEXT_INPUT = 4;
const SHORT = 1;
const PARAGRAPH = 2;

export interface Form {
  readonly custom_id: string;
  readonly title: string;
  readonly components: readonly object[];
}

/** Returns the form, if the interaction opens one. */
export function formFor(triggers: readonly CommunityChatTrigger[], payload: unknown): Form | undefined {
  if (memberOf(payload, 'type') !== COMPONENT) return undefined;
  const content = contentIn(payload);
  const binding = findMatch(triggers, content)?.binding;
  if (binding === undefined) return undefined;
  const { command, parameters, description = '' } = binding;
  const input = commandParameters(parameters, content.commandRest ?? '', content.parameters, command);
  if (!input.isMissing) return undefined;
  const { missing, values } = input;
  const fieldParameters = parameters.filter(
    ({ name }) => missing.includes(name) || values[name] !== undefined,
  );
  const isTooLong = ({ name }: Parameter) => (values[name] ?? '').length > MAX_VALUE;
  if (fieldParameters.length > MAX_FIELDS || fieldParameters.some(isTooLong)) return undefined;
  return {
    custom_id: command,
    title: shorten(description.trim() || `/${command}`, MAX_TITLE),
    components: fieldParameters.map((each) => ({
      type: ROW,
      components: [fieldOf(each, values[each.name], each === parameters.at(-1))],
    })),
  };
}

/**
 * Renders a field. The last one has several lines, because the last parameter of a command takes the
 * remaining text.
 */
function fieldOf(
  { name, required, description = '' }: Parameter,
  value: string | undefined,
  isLast: boolean,
): object {
  const placeholder = shorten(description, MAX_PLACEHOLDER);
  return {
    type: TEXT_INPUT,
    custom_id: name,
    label: shorten(name, MAX_LABEL),
    style: isLast ? PARAGRAPH : SHORT,
    required,
    max_length: MAX_VALUE,
    ...(placeholder !== '' && { placeholder }),
    ...(value !== undefined && value !== '' && { value }),
  };
}
