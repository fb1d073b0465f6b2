// The filters that chats have in common: where it was said, by whom, and in what words.

import * as Type from 'typebox';

export const channels = Type.Array(Type.String({ minLength: 1 }), {
  description: 'Channels to listen to, by names (a leading # is fine) or ids; none = all.',
  default: [],
  maxItems: 1000,
});

export const users = Type.Array(Type.String({ minLength: 1 }), {
  description: 'Ids of users to respond to; none, or *, = everybody.',
  default: [],
  maxItems: 1000,
});

export const bots = Type.Enum(['ignore', 'allow'], {
  description: 'Whether messages of other bots are answered.',
  default: 'ignore',
});

export const patterns = Type.Array(Type.String({ minLength: 1 }), {
  description:
    'Regular expressions (RE2 syntax, with flags such as (?i)) of which one must match; none = any text.',
  default: [],
  maxItems: 100,
});
