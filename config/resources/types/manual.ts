// What a trigger of type Manual may say in spec.config: runs that somebody starts by hand.

import * as Type from 'typebox';
import type { Filled } from '../filled.ts';
import type { TriggerType } from '../trigger-type.ts';

const manualConfigSchema = Type.Object(
  {
    require_confirmation: Type.Boolean({ description: 'Ask before each run.', default: false }),
    allowed_commands: Type.Array(Type.String({ minLength: 1 }), {
      description: 'Commands that may be run; none = all.',
      default: [],
      maxItems: 1000,
    }),
    timeout: Type.Optional(
      Type.Integer({ description: 'Seconds that a run may take.', minimum: 1, maximum: 2_147_483 }),
    ),
  },
  { description: 'Runs started by hand.' },
);

/** Filled; commands come without leading slashes. */
export type ManualConfig = Filled<Type.Static<typeof manualConfigSchema>>;

export const manualType: TriggerType<ManualConfig> = {
  config: manualConfigSchema,
  isBuilt: true,
  complete(config) {
    return { ...config, allowed_commands: config.allowed_commands.map((name) => name.replace(/^\//, '')) };
  },
};
