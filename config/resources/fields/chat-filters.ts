// Schemas of the filters that chat triggers share in `spec.config`: channels, users, bots and text patterns.

import * as Type from 'typebox';

export const channels = Type.Array(Type.String({ minLength: 1 }), {
  description: 'Channels to listen to, by name (with or without #) or id; empty = all.',
  default: [],
  maxItems: 1000,
});

export const users = Type.Array(Type.String({ minLength: 1 }), {
  description: 'Ids of users to respond to; empty or * = all.',
  default: [],
  maxItems: 1000,
});

export const bots = Type.Enum(['ignore', 'allow'], {
  description: 'Handling of messages from other bots.',
  default: 'ignore',
});

export const patterns = Type.Array(Type.String({ minLength: 1 }), {
  description:
    'Regular expressions (RE2 syntax, with flags such as (?i)) for the text; at least one must match. Empty = any text.',
  default: [],
  maxItems: 100,
});
