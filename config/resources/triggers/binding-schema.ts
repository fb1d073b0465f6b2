// What may stand under a command of a trigger: who answers, and with which parameters.

import * as Type from 'typebox';
import { text } from '../../text-schema.ts';
import { approvalFields } from '../approval-rules.ts';

export const parameterSchema = Type.Object({
  name: Type.String({
    description: 'Name of the parameter.',
    pattern: '^[A-Za-z_][A-Za-z0-9_-]{0,63}$',
    patternErrorMessage: 'a name of A-Z a-z 0-9 _ -, beginning with a letter',
  }),
  required: Type.Boolean({ description: 'Ask for it when it is missing.', default: false }),
  description: Type.Optional(Type.String({ description: 'Help text.' })),
  default: Type.Optional(Type.String({ description: 'Value when it is missing.' })),
});

export const bindingSchema = Type.Object({
  agent: Type.Optional(text('Agent that answers.')),
  fleet: Type.Optional(text('Fleet of agents that answers.')),
  flow: Type.Optional(text('Flow that is run.')),
  description: Type.Optional(Type.String({ description: 'Help text.' })),
  requires_approval: Type.Boolean({
    description: 'Somebody must approve each run before it begins.',
    default: false,
  }),
  ...approvalFields,
  parameters: Type.Array(parameterSchema, {
    description: 'Values that the command takes.',
    default: [],
    maxItems: 32,
  }),
});

export const approvalSchema = Type.Object(approvalFields);

/** As `SchemaReader` gives it: what is bad has been left out, an item of a list by undefined in its place. */
export type WrittenParameter = Partial<Type.Static<typeof parameterSchema>>;

export type WrittenBinding = Omit<Partial<Type.Static<typeof bindingSchema>>, 'parameters' | 'approvers'> & {
  readonly approvers?: readonly (string | undefined)[];
  readonly parameters?: readonly (WrittenParameter | undefined)[];
};
