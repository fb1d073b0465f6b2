// Schema of a binding, an entry in a trigger's `commands`: a command with its target (agent, fleet or flow),
// its parameters and its approval.

import * as Type from 'typebox';
import { text } from '../../text-schema.ts';
import { approvalFields } from '../approval-rules.ts';

/** Parameter of a command or of a flow. */
export const parameterSchema = Type.Object({
  name: Type.String({
    description: 'Name of the parameter.',
    pattern: '^[A-Za-z_][A-Za-z0-9_-]{0,63}$',
    patternErrorMessage: 'a name of A-Z a-z 0-9 _ -, beginning with a letter',
  }),
  required: Type.Boolean({ description: 'Prompt for a missing value.', default: false }),
  description: Type.Optional(Type.String({ description: 'Help text.' })),
  default: Type.Optional(Type.String({ description: 'Default value.' })),
});

export const bindingSchema = Type.Object({
  agent: Type.Optional(text('Agent for the command.')),
  fleet: Type.Optional(text('Fleet for the command.')),
  flow: Type.Optional(text('Flow for the command.')),
  description: Type.Optional(Type.String({ description: 'Help text.' })),
  requires_approval: Type.Boolean({
    description: 'Require approval before each run.',
    default: false,
  }),
  ...approvalFields,
  parameters: Type.Array(parameterSchema, {
    description: 'Parameters of the command.',
    default: [],
    maxItems: 32,
  }),
});

export const approvalSchema = Type.Object(approvalFields);

/** Parameter as written in the file, without invalid parts. */
export type WrittenParameter = Partial<Type.Static<typeof parameterSchema>>;

/** Binding as written in the file, without invalid parts; invalid list items are undefined. */
export type WrittenBinding = Omit<Partial<Type.Static<typeof bindingSchema>>, 'parameters' | 'approvers'> & {
  readonly approvers?: readonly (string | undefined)[];
  readonly parameters?: readonly (WrittenParameter | undefined)[];
};
